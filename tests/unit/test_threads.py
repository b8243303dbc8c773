"""How many threads of DuckDB answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.queries import opening

KERNEL = "start_ns end_ns name\n 0 10 a"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    return str(write_trace(tmp_path / "run", kernel=KERNEL))


def threads(*traces: str, confined: bool = True, **settings: str) -> int:
    with cupti_etl.open(*traces, confined=confined, settings=settings) as trace:
        (row,) = trace.sql("SELECT current_setting('threads') AS threads")
    return int(row["threads"])


def test_a_small_trace_is_asked_by_one(run: str) -> None:
    assert threads(run) == 1


def test_as_many_as_are_set(run: str) -> None:
    assert threads(run, threads="3") == 3


def test_a_large_one_by_few(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_ONE_THREAD_BYTES", 0)
    assert threads(run) == 8
    assert threads(run, memory_limit="100 MB") == 2
    assert threads(run, memory_limit="1MB") == 1
    assert threads(run, memory_limit="50%") == 8


def test_a_huge_one_by_more_and_by_no_more_than_duckdb_starts(
    run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(file.stat().st_size for file in Path(run).glob("*/*.parquet"))
    monkeypatch.setattr(opening, "_ONE_THREAD_BYTES", 0)
    monkeypatch.setattr(opening, "_THREAD_BYTES", size // 20)
    assert threads(run) == 20
    # Statements that somebody wrote may read whatever they name.
    usual = threads(run, confined=False)
    monkeypatch.setattr(opening, "_THREAD_BYTES", size // 80)
    assert threads(run) == usual
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert threads(run) == usual


def test_several_are_as_large_as_all_together(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = str(write_trace(Path(run).with_name("other"), kernel=KERNEL))
    size = sum(file.stat().st_size for file in Path(run).glob("*/*.parquet"))
    monkeypatch.setattr(opening, "_ONE_THREAD_BYTES", size + 1)
    assert threads(run) == 1
    assert threads(run, other) == 8
