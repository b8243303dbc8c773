"""Rules of the house that are not about imports."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import cupti_etl
from cupti_etl.config import CUDA_INJECTION, ENVIRONMENT, NVTX_INJECTION, USER_ENVIRONMENT

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for folder in ("cupti_etl", "native", "tests", "scripts", "migrations", "benchmarks", "tools")
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


def unnamed(text: str) -> list[str]:
    """The rooms, and the folders of tests, that a text does not name."""
    rooms = {f"{path.parent.name}/" for path in ROOT.glob("cupti_etl/*/*.py")}
    rooms |= {f"{path.parent.name}/" for path in ROOT.glob("native/*/*.[ch]")}
    rooms |= {f"`tests/{path.parent.name}`" for path in ROOT.glob("tests/*/*.py")}
    return sorted(room for room in rooms if room not in text)


def test_files_of_tests_have_names_of_their_own() -> None:
    """Else pytest takes one for the other where it collects both."""
    names = Counter(path.name for path in ROOT.glob("tests/**/test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []


def test_contributing_names_all_rooms() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert unnamed(text) == []
    assert unnamed(text.replace("inprocess/", "").replace("`tests/e2e`", "")) == [
        "`tests/e2e`", "inprocess/",
    ]  # fmt: skip


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
    heavy = {"duckdb", "pyarrow", "sqlalchemy", "alembic", "cffi", "_cffi_backend", "click"}
    assert loaded_after("import cupti_etl") & heavy == set()


def test_the_way_of_a_capture_is_light() -> None:
    code = (
        "import cupti_etl.cli, cupti_etl.commands.capture, cupti_etl.storage.driver\n"
        "import cupti_etl.capture.collector, cupti_etl.capture.launcher\n"
        "import cupti_etl.storage.parquet\n"
        "import cupti_etl.storage.destination, cupti_etl.storage.stream, cupti_etl.storage.name"
    )
    assert loaded_after(code) & {"duckdb", "sqlalchemy", "alembic"} == set()
    assert "duckdb" in loaded_after("import cupti_etl.queries.trace_duckdb, duckdb")


def committed() -> dict[str, str]:
    """The repository's texts by name, but for this list of what must not be in them."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a repository")
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [
        n
        for n in done.stdout.splitlines()
        if not n.endswith((".gz", ".etlrec", ".parquet", ".png"))
    ]
    names = [n for n in names if not n.startswith("tests/fuzz/corpus/")]  # bytes, not texts
    paths = {name: ROOT / name for name in names if name != "tests/contract/test_house.py"}
    texts = {name: path.read_text() for name, path in paths.items() if path.exists()}
    assert len(texts) > 200
    return texts


def unknown_variables(text: str) -> set[str]:
    known = {name for name, _ in ENVIRONMENT.values()} | USER_ENVIRONMENT.keys()
    return (
        set(re.findall(r"\bCUPTI_ETL_[A-Z_]+\b", text)) - known - {CUDA_INJECTION, NVTX_INJECTION}
    )


def test_there_is_one_list_of_environment_variables() -> None:
    texts = committed()
    assert {name: bad for name, text in texts.items() if (bad := unknown_variables(text))} == {}
    assert unknown_variables("CUPTI_ETL_FORGOTTEN=1") == {"CUPTI_ETL_FORGOTTEN"}
    # Nothing in the list that nobody reads or sets.
    code = "".join(text for name, text in texts.items() if name.endswith(".c"))
    for key, (name, _) in ENVIRONMENT.items():
        assert f"ETL_ENV_{key}" in code, f"{name} is read by nobody"
    for name in USER_ENVIRONMENT:
        assert name in (ROOT / "hatch_build.py").read_text()


# Where a text was written, by whom, and what for is none of its reader's business.
NOT_HERE = re.compile(
    r"/wo[r]k/|\b(issue|session)s? #?\d"
    r"|\b(TODO|FIXME|XXX)\b|\bsub-?agent",
    re.IGNORECASE,
)


def out_of_place(text: str) -> list[str]:
    words = (match[0] for match in NOT_HERE.finditer(text))
    # `todo` in lower case is a field of a finding.
    return [word for word in words if word != "todo"]


def test_texts_speak_of_the_program_only() -> None:
    texts = committed()
    assert {name: bad for name, text in texts.items() if (bad := out_of_place(text))} == {}
    # Put together here, so that this file does not hold what it forbids.
    folder = "/".join(("", "work", ""))
    planted = f"see issue 2, {folder}main, TODO"
    assert out_of_place(planted) == ["issue 2", folder, "TODO"]
