"""A kind's module holds a docstring, imports and one assignment: data, nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cupti_etl.queries.catalog import library
from cupti_etl.schema.kinds import GPU_WORK, KINDS

FOLDER = Path(__file__).parents[2] / "cupti_etl" / "schema" / "kinds"
FILES = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")


def is_data(source: str) -> bool:
    body = ast.parse(source).body
    docstring, *rest = body
    if not (isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)):
        return False
    while rest and isinstance(rest[0], ast.ImportFrom):
        rest.pop(0)
    if len(rest) != 1 or not isinstance(rest[0], ast.Assign):
        return False
    forbidden = (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.IfExp, ast.BinOp, ast.Subscript)
    return not any(isinstance(node, forbidden) for node in ast.walk(rest[0]))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_module_is_data(path: Path) -> None:
    assert is_data(path.read_text())


@pytest.mark.parametrize(
    "planted",
    [
        "KIND = 1",
        '"""Doc."""\nimport os\nKIND = Kind()',
        '"""Doc."""\nKIND = Kind()\nprint(KIND)',
        '"""Doc."""\nKIND = Kind(columns=tuple(C(n) for n in "abc"))',
    ],
)
def test_a_module_that_computes_is_seen(planted: str) -> None:
    assert not is_data(planted)


def test_work_of_gpus_is_what_gpu_activity_is_made_of() -> None:
    tables = {kind.table for kind in KINDS}
    assert set(GPU_WORK) == tables.intersection(library()["gpu_activity"].needs)
    assert not {kind.table for kind in KINDS if kind.is_static}.intersection(GPU_WORK)
