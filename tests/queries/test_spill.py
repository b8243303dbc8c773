"""What finds no room in memory: where it is put, and that nothing of it stays."""

from __future__ import annotations

import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.queries import spill

KERNEL = "start_ns end_ns name\n 0 10 a"
SETTINGS = {"memory_limit": "60MB", "threads": "1"}
# More than that many bytes have to be sorted.
SORTED = "SELECT n, row_number() OVER (ORDER BY hash(n)) AS place FROM range(4000000) AS all_of(n)"
WHERE = "SELECT current_setting('temp_directory') AS folder"


def folder_of(trace: cupti_etl.Trace) -> Path:
    return Path(next(iter(trace.sql(WHERE)))["folder"])


def test_it_is_put_into_a_folder_of_the_system_that_nobody_else_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    path = write_trace(tmp_path / "run", kernel=KERNEL)
    with cupti_etl.open(path, settings=SETTINGS) as one, cupti_etl.open(path) as other:
        folder = folder_of(one)
        assert folder.parent.parent == Path(tempfile.gettempdir())
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        assert not folder.exists(), "it is made when it is needed"
        assert folder_of(other) != folder
        assert one.sql(f"SELECT max(place) AS n FROM ({SORTED})").arrow()["n"].to_pylist() == [
            4000000
        ]
        assert folder.exists(), "nothing had to be put there"
    assert not [*here.iterdir()]


def test_nothing_of_it_stays_when_the_program_ends(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    path = write_trace(tmp_path / "run", kernel=KERNEL)
    program = f"""
import os, cupti_etl
opened = cupti_etl.open({str(path)!r}, settings={SETTINGS!r})
opened.sql({f"CREATE TABLE kept AS {SORTED}"!r})
print(len(os.listdir({str(temporary)!r})))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"TMPDIR": str(temporary)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert not [*temporary.iterdir()]


def test_a_trace_opens_where_no_folder_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    spill._home.cache_clear()
    try:
        with cupti_etl.open(write_trace(tmp_path / "run", kernel=KERNEL)) as opened:
            assert opened.query("kernel_summary").count() == 1
    finally:
        spill._home.cache_clear()
