"""Nothing in the user's home is needed: questions are answered, and traces written, without it."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.queries import cache, kept
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
    monkeypatch.setattr(kept, "WORTH_BYTES", 0)
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
    """Of both kinds of files in the cache: the library's, and those of a trace."""
    with cupti_etl.open(run) as trace:
        assert [row["calls"] for row in trace.query("kernel_summary")] == [2]
        assert [row["gap_ns"] for row in trace.query("gap_cause")] == [10]


@pytest.mark.parametrize("home", ["", "no/where", "/dev/null"])
def test_a_home_that_is_none(run: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", home)
    check_answers(run)
    write_trace_duckdb(run)
    assert [path.name for path in Path.cwd().iterdir()] == ["run"]


def test_nobody(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom no list of users knows, as in some containers."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert cache.folder() is None
    check_answers(run)


@pytest.mark.parametrize("limit", [0, 65536, 540672])
def test_a_file_that_finds_no_room(
    home: Path, run: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Wherever DuckDB is when it happens."""
    monkeypatch.setattr(cache, "_LEAST_FREE_BYTES", 0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        check_answers(run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(home.rglob(".making-*")) == []


def test_no_file_is_begun_where_there_is_little_room(
    home: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_LEAST_FREE_BYTES", 1 << 62)
    check_answers(run)
    assert [path for path in home.rglob("*") if path.is_file()] == []


def relink(run: Path, home: Path, mount: str) -> subprocess.CompletedProcess[str]:
    words = ["unshare", "-m", "sh", "-c", f'{mount} && "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    return subprocess.run([*words, *RELINK, run], capture_output=True, text=True)


def test_a_home_that_is_full(home: Path, run: Path) -> None:
    done = relink(run, home, f"mount -t tmpfs -o size=64k none {home}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (run / "trace.duckdb").stat().st_size > 0


def test_a_home_that_cannot_be_written(home: Path, run: Path) -> None:
    """Also where it was once: what is there is read."""
    check_answers(run)
    assert any(path.name.startswith("library-") for path in home.rglob("*.duckdb"))
    done = relink(run, home, f"mount --bind {home} {home} && mount -o remount,ro,bind {home}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("at", [5000, 400_000])
def test_a_file_that_is_damaged_anywhere(home: Path, run: Path, at: int) -> None:
    check_answers(run)
    for file in home.rglob("*.duckdb"):
        content = bytearray(file.read_bytes())
        content[at : at + 4096] = b"\xff" * len(content[at:][:4096])
        file.write_bytes(content)
    check_answers(run)


def test_a_home_that_may_not_be_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As that of another user is, after sudo -u."""

    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    assert not cache.is_there(tmp_path / "library.duckdb")
