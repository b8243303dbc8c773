"""How many threads answer a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace import write_trace

from cupti_etl.commands import _scope
from cupti_etl.queries.choose import Scope

KERNEL = "start_ns end_ns name\n 0 10 a"


@pytest.fixture
def run(tmp_path: Path) -> str:
    return str(write_trace(tmp_path / "run", kernel=KERNEL))


def threads(*traces: str, confined: bool = True, **settings: str) -> int:
    with _scope.open_part(traces, Scope(), confined=confined, settings=settings) as trace:
        (row,) = trace.sql("SELECT current_setting('threads') AS threads")
    return int(row["threads"])


def test_a_small_trace_is_asked_by_one(run: str) -> None:
    assert threads(run) == 1


def test_as_many_as_are_set(run: str) -> None:
    assert threads(run, threads="3") == 3


def test_a_large_one_by_as_many_as_duckdb_starts(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_scope, "_SMALL_BYTES", 0)
    usual = threads(run)
    monkeypatch.undo()
    # Statements that somebody wrote may read whatever they name.
    assert threads(run, confined=False) == usual


def test_several_are_as_large_as_all_together(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = str(write_trace(Path(run).with_name("other"), kernel=KERNEL))
    size = sum(file.stat().st_size for file in Path(run).glob("*/*.parquet"))
    monkeypatch.setattr(_scope, "_SMALL_BYTES", size + 1)
    assert _scope._is_small([run])
    assert not _scope._is_small([run, other])
