"""Threads that ask a trace while a capture adds parts: none lacks or keeps what is old."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from support.trace import MakeTrace, add_part, assert_rows

from cupti_etl import Trace
from cupti_etl.errors import TraceError
from cupti_etl.queries import connection, small_tables, table_views
from cupti_etl.queries.making import Making
from cupti_etl.queries.materialize import Materialized
from cupti_etl.queries.query import Query
from cupti_etl.queries.result import Result
from cupti_etl.queries.views import Views

LONG_S = 60
COLUMNS = "process_id device_id stream_id correlation_id start_ns end_ns name\n"
KERNELS = COLUMNS + "1 0 7 1 10 20 a\n1 0 7 2 30 40 b"
LATER = COLUMNS + "1 0 7 3 80 90 c"
CALLS = """
    process_id thread_id correlation_id start_ns end_ns name
    1          1         1              5        8      cudaLaunchKernel
    1          1         2              15       18     cudaLaunchKernel
    1          1         3              50       58     cudaLaunchKernel
"""
STARTS = "SELECT start_ns FROM kernel ORDER BY start_ns"
BUSY = "SELECT start_ns, end_ns FROM _busy_interval WHERE work = 'any' ORDER BY start_ns"


def grow(opened: Trace) -> None:
    """A part comes, and somebody else asks: what was made of the others is taken away."""
    add_part(opened.path, "kernel", LATER)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(opened.has_rows, "kernel").result(LONG_S)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is so without a pause."""
    monkeypatch.setattr(connection, "_PAUSE_S", 0)


@pytest.mark.parametrize(
    "read", [Result.arrow, lambda result: result.reader().read_all()], ids=["arrow", "reader"]
)
def test_a_statement_whose_views_were_taken_away_since_it_was_bound(
    trace: MakeTrace, read: Callable[[Result], Any]
) -> None:
    opened = trace(kernel=KERNELS)
    bound = opened.sql(BUSY)
    grow(opened)
    assert_rows(
        read(bound).to_pylist(),
        """
        start_ns end_ns
        10       20
        30       40
        80       90
        """,
    )


def test_a_statement_whose_views_are_taken_away_while_it_is_bound(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = trace(kernel=KERNELS)
    made: list[str] = []
    make = Views._make_beside

    def making(self: Views, con: duckdb.DuckDBPyConnection, name: str, turn: int) -> None:
        make(self, con, name, turn)
        made.append(name)
        if len(made) == 1:
            grow(opened)

    monkeypatch.setattr(Views, "_make_beside", making)
    monkeypatch.setattr(connection, "_ATTEMPTS", 1)  # that is no second attempt
    assert_rows(opened.sql(BUSY), "start_ns end_ns\n 10 20\n 30 40\n 80 90")
    assert made[:1] == ["_busy_interval"]


@pytest.mark.parametrize("is_back_at_once", [True, False])
def test_a_table_that_could_not_be_renewed_is_renewed_later(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch, is_back_at_once: bool
) -> None:
    opened = trace(kernel=KERNELS)
    assert_rows(opened.sql(STARTS), "start_ns\n 10\n 30")
    add_part(opened.path, "kernel", LATER)
    home, aside = opened.path / "kernel", opened.path / ".kernel"
    look, looks = table_views.plausible_tables, []

    def looked(*args: Any) -> Iterator[Any]:
        for each in look(*args):
            if not looks:
                home.rename(aside)  # a capture exchanges the folder
            looks.append(each)
            yield each

    def pause(_: float) -> None:
        if is_back_at_once and aside.exists():
            aside.rename(home)

    monkeypatch.setattr(table_views, "plausible_tables", looked)
    monkeypatch.setattr(connection, "time", SimpleNamespace(sleep=pause))
    if not is_back_at_once:
        with pytest.raises(TraceError, match="vanished"):
            opened.sql(STARTS)
        aside.rename(home)
    assert_rows(opened.sql(STARTS), "start_ns\n 10\n 30\n 80")
    assert looks
    add_part(opened.path, "kernel", COLUMNS + "1 0 7 4 180 190 d")
    assert_rows(opened.sql(STARTS), "start_ns\n 10\n 30\n 80\n 180")


def test_who_asks_while_another_reads_a_new_part_sees_it(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = trace(kernel=KERNELS)
    assert_rows(opened.sql(STARTS), "start_ns\n 10\n 30")
    add_part(opened.path, "kernel", LATER)
    begun, over = threading.Event(), threading.Event()
    quoted, alone = small_tables.identifier, Making.alone

    def copying(name: str) -> str:
        begun.set()
        assert over.wait(LONG_S)
        return quoted(name)

    def waiting(self: Making, con: duckdb.DuckDBPyConnection) -> Any:
        if begun.is_set():
            over.set()
        return alone(self, con)

    monkeypatch.setattr(small_tables, "identifier", copying)
    monkeypatch.setattr(Making, "alone", waiting)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: opened.sql(STARTS).count())
        assert begun.wait(LONG_S)
        second = pool.submit(lambda: opened.sql(STARTS).count())
        second.add_done_callback(lambda _: over.set())
        assert (first.result(LONG_S), second.result(LONG_S)) == (3, 3)


def test_what_was_made_of_rows_in_memory_is_of_the_parts_that_those_are_of(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = trace(kernel=KERNELS)
    assert_rows(opened.sql(STARTS), "start_ns\n 10\n 30")
    make, added = Materialized.make, []

    def growing(self: Materialized, con: duckdb.DuckDBPyConnection, query: Query) -> Any:
        if not added:
            added.append(add_part(opened.path, "kernel", LATER))
        return make(self, con, query)

    monkeypatch.setattr(Materialized, "make", growing)
    assert_rows(opened.sql(BUSY), "start_ns end_ns\n 10 20\n 30 40")
    assert_rows(opened.sql(BUSY), "start_ns end_ns\n 10 20\n 30 40\n 80 90")


def test_a_part_of_a_trace_that_grew(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS, api_call=CALLS)
    with opened.scope(from_="1ns") as part:
        assert_rows(part.query("idle_summary"), "cause idle_ns\n queued 10")
        add_part(opened.path, "kernel", LATER)
        assert_rows(
            part.query("gap_attribution", min_ns=1),
            """
            start_ns gap_ns cause
            40       40     queued
            20       10     queued
            """,
        )
        assert_rows(
            part.query("idle_summary"),
            """
            cause     idle_ns
            queued    32
            host      10
            launching 8
            """,
        )
        assert_rows(
            part.query("launch_bound"),
            """
            launching_ns between_calls_ns idle_ns
            8            10               50
            """,
        )
