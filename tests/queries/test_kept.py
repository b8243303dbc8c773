"""What is kept for a trace in the user's cache: taken when it is right, and never missed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.trace import add_part, write_trace

import cupti_etl
from cupti_etl.queries import kept
from cupti_etl.queries.catalog import library
from cupti_etl.queries.operators import native

KERNEL = """
    process_id device_id context_id stream_id start_ns end_ns name correlation_id
    1          0         1          7         10       20     a    1
    1          0         1          7         30       40     b    2
"""
CALL = """
    process_id thread_id start_ns end_ns domain  name             correlation_id
    1          100       5        8      runtime cudaLaunchKernel 1
    1          100       21       28     runtime cudaLaunchKernel 2
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, as the library is kept there, too."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where it is kept; that of small traces, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(kept, "WORTH_BYTES", 0)
    traces = home / "cupti-etl" / "traces"
    yield traces
    shutil.rmtree(traces, ignore_errors=True)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", kernel=KERNEL, api_call=CALL)


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sweeps that were made."""
    made = []
    init = native.Sweep.__init__

    def note(self: native.Sweep, name: str) -> None:
        made.append(name)
        init(self, name)

    monkeypatch.setattr(native.Sweep, "__init__", note)
    return made


def gaps(path: Path) -> list[tuple[Any, ...]]:
    with cupti_etl.open(path) as trace:
        rows = trace.sql("SELECT gap_ns, cause FROM gap_cause ORDER BY start_ns")
        return [tuple(row.values()) for row in rows]


def files(cache: Path) -> set[str]:
    return {file.name.split("-")[0] for file in cache.glob("*/*")}


def test_what_was_made_is_taken_when_it_is_opened_again(
    cache: Path, run: Path, sweeps: list[str]
) -> None:
    assert gaps(run) == [(10, "launching")]
    # What gpu_activity takes for communication is made for a trace once, too.
    rules = {"kernel_rule", "collective_argument"}
    assert files(cache) == {"edge", "host", "blocking_copy"} | rules
    assert sweeps == ["edge", "host"]
    assert gaps(run) == [(10, "launching")]
    assert sweeps == ["edge", "host"]


def test_every_stored_query_is_the_same_again(run: Path, sweeps: list[str]) -> None:
    def answers() -> dict[str, list[str]]:
        with cupti_etl.open(run) as trace:
            return {
                query.name: sorted(map(repr, trace.query(query.name)))
                for query in library()
                if query.stored
            }

    first = answers()
    made = len(sweeps)
    assert answers() == first
    assert len(sweeps) == made > 5
    assert sum(map(bool, first.values())) > 5


def test_of_another_state_it_is_made_anew(cache: Path, run: Path) -> None:
    assert gaps(run) == [(10, "launching")]
    before = set(cache.glob("*/*"))
    add_part(run, "kernel", KERNEL.replace("30       40", "80       90"))
    assert gaps(run) == [(10, "launching"), (40, "queued")]
    after = set(cache.glob("*/*"))
    assert len(after) == len(before)  # of each state but the last nothing is left
    assert not after & before


def test_while_a_trace_is_open(run: Path) -> None:
    with cupti_etl.open(run) as trace:
        assert trace.sql("FROM gap_edge").count() == 1
        for at in (60, 80, 100):
            add_part(run, "kernel", KERNEL.replace("30       40", f"{at}       {at + 5}"))
            gaps(run)  # somebody else keeps it, and here it is found
            found = trace.sql("SELECT end_ns FROM gap_edge ORDER BY end_ns DESC LIMIT 1")
            assert found.arrow()["end_ns"].to_pylist() == [at]


def test_of_another_version_it_is_made_anew(
    run: Path, sweeps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps(run)
    monkeypatch.setattr(kept, "_code", lambda: (("changed.py", 1, 1),))
    gaps(run)
    assert sweeps == ["edge", "host"] * 2


def test_traces_with_the_same_parts_are_two(cache: Path, run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(run, other)
    gaps(run)
    gaps(other)
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_a_damaged_file_is_passed_over(cache: Path, run: Path, content: bytes | None) -> None:
    first = gaps(run)
    for file in cache.glob("*/*"):
        file.write_bytes(file.read_bytes()[:9000] if content is None else content)
    assert gaps(run) == first


def test_what_somebody_left_who_was_killed_is_removed(cache: Path, run: Path) -> None:
    left = cache / "0123" / ".making-x" / "edge-4567.duckdb"
    left.parent.mkdir(parents=True)
    left.touch()
    gaps(run)
    assert left.exists()  # it may be in the making
    os.utime(left, (0, 0))
    add_part(run, "kernel", KERNEL)
    gaps(run)
    assert not left.exists()


def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")


def _no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 0)


def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WORTH_BYTES", 1 << 20)


@pytest.mark.parametrize("lack", [_nowhere, _no_room, _small])
def test_nothing_is_kept(
    cache: Path,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    lack: Callable[[pytest.MonkeyPatch], None],
) -> None:
    lack(monkeypatch)
    assert gaps(run) == gaps(run) == [(10, "launching")]
    assert not list(cache.glob("*/*"))


def test_of_a_self_contained_file(run: Path, tmp_path: Path, sweeps: list[str]) -> None:
    file = tmp_path / "run.duckdb"
    words = [sys.executable, "-m", "cupti_etl", "export", run, "--to", "duckdb", file]
    subprocess.run(words, check=True, timeout=120)
    assert gaps(file) == gaps(file) == [(10, "launching")]
    assert sweeps == ["edge", "host"]
