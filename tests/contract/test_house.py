"""Rules of the house that are not about imports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cupti_etl
from cupti_etl.config import CUDA_INJECTION, ENVIRONMENT, NVTX_INJECTION, USER_ENVIRONMENT

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for folder in ("cupti_etl", "native", "tests", "scripts", "migrations")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".c", ".h", ".sql", ".sh")
]
LENGTH = 400
# Longer for a reason; the list may only get shorter.
LONG: set[str] = set()


def too_long(paths: list[Path]) -> list[str]:
    return [
        str(path.relative_to(ROOT))
        for path in paths
        if "generated" not in path.parts
        and path.name != "_abi.py"
        and path.read_text().count("\n") > LENGTH
        and str(path.relative_to(ROOT)) not in LONG
    ]


def test_files_are_short() -> None:
    assert len(SOURCES) > 100
    # A migration is history, and as long as the tables it makes.
    assert too_long([path for path in SOURCES if "versions" not in path.parts]) == []


def test_a_long_file_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "long.py").write_text("x = 1\n" * (LENGTH + 1))
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert too_long([tmp_path / "long.py"]) == ["long.py"]


def test_public_names() -> None:
    assert cupti_etl.__all__ == sorted(cupti_etl.__all__)
    for name in cupti_etl.__all__:
        assert getattr(cupti_etl, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = cupti_etl.nothing


def loaded_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_package_is_light() -> None:
    heavy = {"duckdb", "pyarrow", "sqlalchemy", "alembic", "cffi", "_cffi_backend", "rich", "click"}
    assert loaded_after("import cupti_etl") & heavy == set()


def test_the_way_of_a_capture_is_light() -> None:
    code = (
        "import cupti_etl.cli, cupti_etl.commands.capture, cupti_etl.pipeline\n"
        "import cupti_etl.capture.collector, cupti_etl.capture.launcher, cupti_etl.sinks.parquet"
    )
    assert loaded_after(code) & {"duckdb", "sqlalchemy", "alembic"} == set()
    assert "duckdb" in loaded_after("import cupti_etl.sinks.duckdb, duckdb")


def unknown_variables(text: str) -> set[str]:
    known = {name for name, _ in ENVIRONMENT.values()} | USER_ENVIRONMENT.keys()
    return (
        set(re.findall(r"\bCUPTI_ETL_[A-Z_]+\b", text)) - known - {CUDA_INJECTION, NVTX_INJECTION}
    )


def test_there_is_one_list_of_environment_variables() -> None:
    files = [path for path in SOURCES if "tests" not in path.parts]
    files += [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert {p.name: found for p in files if (found := unknown_variables(p.read_text()))} == {}
    assert unknown_variables("CUPTI_ETL_FORGOTTEN=1") == {"CUPTI_ETL_FORGOTTEN"}
