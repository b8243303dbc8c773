"""The collector library in a Python process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cupti_etl
from cupti_etl.errors import NativeError
from cupti_etl.native import loader as native

PACKAGE = Path(cupti_etl.__file__).parent

CLOSED_FIRST = """
from cupti_etl.native.loader import load
ffi, lib = load()
decoder = ffi.gc(lib.etl_decoder_new(), lib.etl_decoder_free)
ffi.dlclose(lib)
del decoder
"""


def test_what_it_made_can_be_freed_when_it_is_closed() -> None:
    """As the interpreter's end may do it, in whatever order."""
    subprocess.run([sys.executable, "-c", CLOSED_FIRST], check=True)


def replay(package: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    recording = PACKAGE / "demo" / "h200.etlrec"
    return subprocess.run(
        [sys.executable, "-m", "cupti_etl", "replay", recording, "-o", folder / "run"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("schema/kinds/kernel.py", 'C("grid_y", i32,', 'C("grid_y", i64,'),
        ("schema/kinds/kernel.py", 'C("grid_x", i32,', 'C("x_grid", i32,'),
        ("schema/types.py", 'Type("i32", "int32", "INTEGER"', 'Type("i32", "int64", "BIGINT"'),
        ("native/_abi.py", 'COMPILED = "', 'COMPILED = "0'),
    ],
    ids=["a column's type", "a column's name", "a type's width", "a struct"],
)
def test_a_library_of_another_build_is_refused(
    tmp_path: Path, file: str, before: str, after: str
) -> None:
    """A change that the library was not compiled again for: it writes what it knew before."""
    package = tmp_path / "cupti_etl"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (package / file).read_text()
    assert before in text
    (package / file).write_text(text.replace(before, after))
    done = replay(package, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "is of another build" in done.stderr
    assert "make native" in done.stderr
    assert "reinstall" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_same_package_elsewhere_is_not_refused(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "cupti_etl", ignore=shutil.ignore_patterns("__pycache__"))
    assert replay(tmp_path / "cupti_etl", tmp_path).returncode == 0


def test_a_library_that_cannot_say_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libcupti_etl.so"
    (tmp_path / "old.c").write_text("int etl_table_count(void) { return 0; }")
    subprocess.run(["cc", "-shared", "-o", library, tmp_path / "old.c"], check=True)
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    with pytest.raises(NativeError, match="another build") as raised:
        native.load.__wrapped__()
    assert "make native" in raised.value.hint
