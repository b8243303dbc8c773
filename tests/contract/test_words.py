"""One word a thing: names that the project has given up stay out of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest

from cupti_etl.cli import cli
from cupti_etl.queries.catalog import library

ROOT = Path(__file__).parents[2]
# What took their places: listener, wakeup, takeover probe, resume, units, signals, run, prefetch,
# detect, storage, operator, disambiguate, progress, metadata.
GIVEN_UP = {
    *("ahead", "bell", "canary", "door", "importing", "interrupted", "maker", "orphan"),
    *("quantity", "recognise", "sink", "sweep"),
}
PAIRS = {"live_line", "nsys_own", "told_apart"}
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_C_NAME = re.compile(r"^(?:static |const |inline |struct |enum )*[a-z_0-9]+[ *]+(\w+)\(", re.M)


def old_words(name: str) -> set[str]:
    parts = [part.lower() for part in _PARTS.findall(name)]
    single = {part for part in parts if part.removesuffix("s") in GIVEN_UP or part in GIVEN_UP}
    return single | (PAIRS & {f"{a}_{b}" for a, b in pairwise(parts)})


def names_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


PYTHON = sorted((ROOT / "cupti_etl").rglob("*.py")) + sorted((ROOT / "tools").rglob("*.py"))
NATIVE = sorted(
    path for kind in "ch" for path in (ROOT / "native").rglob(f"*.{kind}") if path.is_file()
)


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_classes_and_functions(path: Path) -> None:
    names = [
        path.stem,
        *path.relative_to(ROOT).parent.parts,
        *names_of(ast.parse(path.read_text())),
    ]
    assert [name for name in names if old_words(name)] == []


@pytest.mark.parametrize("path", NATIVE, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_in_c(path: Path) -> None:
    names = [path.stem, path.parent.name, *_C_NAME.findall(path.read_text())]
    assert [name for name in names if old_words(name)] == []


def test_queries_commands_and_options() -> None:
    context = click.Context(cli)
    names = [query.name for query in library()]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        names += [name, *(option for each in command.params for option in each.opts)]
    assert [name for name in names if old_words(name)] == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ParquetSink", {"sink"}),
        ("etl_bell_ring", {"bell"}),
        ("_interrupted", {"interrupted"}),
        ("sweeps", {"sweeps"}),
        ("told_apart", {"told_apart"}),
        ("doorway", set()),
        ("read_ahead", {"ahead"}),
    ],
)
def test_an_old_word_is_seen(name: str, found: set[str]) -> None:
    assert old_words(name) == found
