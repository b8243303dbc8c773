"""Nothing in the user's home is needed, and nothing is left there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.queries.trace_duckdb import write_trace_duckdb

KERNEL = """
    process_id device_id stream_id start_ns end_ns name correlation_id
    1          0         7         10       20     a    1
    1          0         7         30       40     a    2
"""
CALL = """
    process_id thread_id start_ns end_ns domain  name             correlation_id
    1          100       5        8      runtime cudaLaunchKernel 1
    1          100       21       28     runtime cudaLaunchKernel 2
"""
# What a full home made of a good capture: an error at its end.
RELINK = [sys.executable, "-m", "cupti_etl", "relink"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return write_trace(tmp_path / "run", kernel=KERNEL, api_call=CALL)


@pytest.fixture
def home(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def check_answers(run: Path) -> None:
    """Of a view, and of what is computed once."""
    with cupti_etl.open(run) as trace:
        assert [row["calls"] for row in trace.query("kernel_summary")] == [2]
        assert [row["gap_ns"] for row in trace.query("_gap_cause")] == [10]


@pytest.mark.parametrize("home", ["", "no/where", "/dev/null"])
def test_a_home_that_is_none(run: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", home)
    check_answers(run)
    write_trace_duckdb(run)
    assert [path.name for path in Path.cwd().iterdir()] == ["run"]


def test_nobody(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom no list of users knows, as in some containers."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    check_answers(run)


def test_nothing_is_left_there(home: Path, run: Path) -> None:
    check_answers(run)
    write_trace_duckdb(run)
    assert list(home.rglob("*")) == []


def relink(run: Path, home: Path, mount: str) -> subprocess.CompletedProcess[str]:
    words = ["unshare", "-m", "sh", "-c", f'{mount} && "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    return subprocess.run([*words, *RELINK, run], capture_output=True, text=True)


@pytest.mark.slow
def test_a_home_that_is_full(home: Path, run: Path) -> None:
    done = relink(run, home, f"mount -t tmpfs -o size=64k none {home}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (run / "trace.duckdb").stat().st_size > 0


@pytest.mark.slow
def test_a_home_that_cannot_be_written(home: Path, run: Path) -> None:
    done = relink(run, home, f"mount --bind {home} {home} && mount -o remount,ro,bind {home}")
    assert (done.returncode, done.stderr) == (0, "")
