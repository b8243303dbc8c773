"""Several questions to one trace at once: their answers in order, their errors, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from support.trace import MakeTrace, add_part, assert_rows, write_manifest, write_trace

import cupti_etl
from cupti_etl import Trace
from cupti_etl.analysis import findings
from cupti_etl.analysis.at_once import at_once
from cupti_etl.errors import EtlError, UsageError
from cupti_etl.queries import keeping, materialize
from cupti_etl.queries.making import MOST_THREADS
from cupti_etl.queries.query import Query

LONG_S = 60
HOURS = "SELECT count(*) FROM range(9999999) a, range(9999999) b WHERE a.range * b.range % 7 = 1"


@pytest.fixture
def opened(trace: MakeTrace) -> Iterator[Trace]:
    with trace(kernel="process_id device_id start_ns end_ns name\n1 0 1 2 k") as found:
        yield found


def test_answers_come_in_the_order_of_the_questions(opened: Trace) -> None:
    def ask(number: int) -> list[int]:
        def asking(session: Trace) -> int:
            (row,) = session.sql("SELECT count(*) + $n AS n FROM kernel", n=number)
            return int(row["n"])

        return at_once([(opened, asking)] * 9)

    assert ask(0) == [1] * 9
    assert ask(5) == [6] * 9


def test_they_are_asked_at_once(opened: Trace) -> None:
    opened.sql("SET memory_limit = '9GB'")  # there may be less on a machine than two need
    both = threading.Barrier(2, timeout=LONG_S)

    def ask(session: Trace) -> int:
        place = both.wait()  # breaks if one is asked after the other
        return place if session.has_rows("kernel") else -1

    assert sorted(at_once([(opened, ask)] * 2)) == [0, 1]


def test_the_first_error_is_that_of_all(opened: Trace) -> None:
    def fail(session: Trace) -> None:
        session.sql("FROM nothing_like_it")

    with pytest.raises(UsageError, match="nothing_like_it"):
        at_once([(opened, lambda session: None), (opened, fail), (opened, fail)])
    # What others ask goes on.
    assert opened.has_rows("kernel")


def test_control_c_stops_them(opened: Trace) -> None:
    begun = threading.Semaphore(0)
    ended: list[str] = []

    def ask(session: Trace) -> None:
        begun.release()
        try:
            session.sql(HOURS).arrow()
        except EtlError as error:
            ended.append(error.message)

    def begin(place: int) -> None:
        if place == 0:
            assert begun.acquire(timeout=LONG_S)
            assert begun.acquire(timeout=LONG_S)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        at_once([(opened, ask)] * 2, begin)
    assert len(ended) == 2
    assert all("INTERRUPT" in each.upper() for each in ended)


def test_control_c_while_something_is_made(opened: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialize, "LARGE_BYTES", 0)  # of small traces nothing is told

    def told(name: str) -> None:
        if name:
            os.kill(os.getpid(), signal.SIGINT)

    opened.tell(told)
    with pytest.raises(KeyboardInterrupt):
        opened.prepare("busy_breakdown")
    opened.tell(lambda name: None)
    assert opened.query("busy_breakdown").count() > 0


def test_interrupting_a_session_stops_those_that_it_has(opened: Trace) -> None:
    session = opened.session()
    begun, stop = threading.Event(), threading.Event()

    def ask(inner: Trace) -> str:
        begun.set()
        try:
            inner.sql(HOURS).arrow()
        except EtlError as error:
            return error.message
        return ""

    def interrupt() -> None:
        assert begun.wait(LONG_S)
        while not stop.wait(0.05):
            session.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        (said,) = at_once([(session, ask)])
    finally:
        stop.set()
        thread.join()
    assert "INTERRUPT" in said.upper()
    session.close()


def test_the_session_of_a_part_has_one_of_the_whole(opened: Trace) -> None:
    with opened.scope(from_="1ns") as part, part.session() as session:
        assert (session.has_rows("kernel"), session.whole.has_rows("kernel")) == (False, True)
        assert session.whole is not opened
    with pytest.raises(UsageError, match="the trace is closed"):
        session.whole.has_rows("kernel")
    assert opened.has_rows("kernel")


def test_what_was_prepared_has_not_to_be_made_for_the_question(opened: Trace) -> None:
    opened.prepare("kernel_summary", "step_summary")
    # Nothing has to be made for them any more.
    opened._connection.views._make = None  # type: ignore[assignment,method-assign]
    assert opened.query("kernel_summary").count() == 1
    assert opened.query("step_summary").count() == 0
    with pytest.raises(UsageError, match="no query 'kernel_summery'"):
        opened.prepare("kernel_summery")


def test_several_traces_are_asked_at_once(trace: MakeTrace) -> None:
    columns = "process_id device_id start_ns end_ns name\n"
    with trace(kernel=columns + "1 0 1 2 k") as one, trace(kernel=columns + "1 0 1 5 l") as two:
        asks = [
            (each, lambda session: session.query("kernel_summary").count()) for each in (one, two)
        ]
        assert at_once(asks) == [1, 1]
        names = at_once(
            [
                (each, lambda session: [r["name"] for r in session.sql("FROM kernel")])
                for each in (two, one)
            ]
        )
    assert names == [["l"], ["k"]]


class Pool(ThreadPoolExecutor):
    """Says how many threads each had, and when the last of its questions is done or given up."""

    sizes: ClassVar[list[int]]
    last: ClassVar[Future[Any]]

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.sizes.append(size)

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        type(self).last = super().submit(*args, **kwargs)
        return self.last


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> type[Pool]:
    """What ``at_once`` asks with."""
    Pool.sizes = []
    monkeypatch.setattr("cupti_etl.analysis.at_once.ThreadPoolExecutor", Pool)
    return Pool


def limited(tmp_path: Path, memory: str) -> Trace:
    path = write_trace(tmp_path / memory, kernel="process_id device_id start_ns end_ns\n1 0 1 2")
    return cupti_etl.open(path, settings={"memory_limit": memory})


@pytest.mark.parametrize(
    ("memory", "most"),
    [(["90GB"], MOST_THREADS), (["5GB"], 2), (["3GB"], 1), (["90GB", "5GB"], 2)],
)
def test_no_more_are_asked_at_once_than_there_is_memory_for(
    tmp_path: Path, pool: type[Pool], memory: list[str], most: int
) -> None:
    with ExitStack() as stack:
        traces = [stack.enter_context(limited(tmp_path, each)) for each in memory]
        together = threading.Barrier(most, timeout=LONG_S)

        def ask(session: Trace) -> bool:
            together.wait()
            return session.has_rows("kernel")

        assert at_once([(each, ask) for each in traces] * 4) == [True] * 4 * len(traces)
    assert pool.sizes == [most]


def test_after_an_error_none_is_begun(tmp_path: Path, pool: type[Pool]) -> None:
    begun: list[int] = []
    all_there = threading.Event()

    def ask(number: int, _: Trace) -> None:
        assert all_there.wait(LONG_S)
        begun.append(number)
        if number == 1:
            raise UsageError("the second is wrong")
        if number == 0:
            wait([pool.last], LONG_S)

    with limited(tmp_path, "5GB") as opened, pytest.raises(UsageError, match="the second is wrong"):
        at_once([(opened, partial(ask, number)) for number in range(9)], lambda _: all_there.set())
    assert sorted(begun) == [0, 1]


def test_findings_are_looked_for_until_one_cannot_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def fail(_: Trace, query: Query, known: dict[str, bool]) -> str:
        begun.append(query.name)
        raise UsageError(f"{query.name} cannot be told")

    monkeypatch.setattr(findings, "why_empty", fail)
    failed: dict[str, str] = {}
    with limited(tmp_path, "3GB") as opened:
        with pytest.raises(UsageError, match="busy_breakdown cannot be told"):
            findings.find(opened)
        assert begun == ["busy_breakdown"]
        # Who wants to know which fail gets the others.
        assert findings.find(opened, failed) == []
    assert len(begun) > 9
    assert failed


def test_a_session_of_one_in_a_transaction_is_in_none(opened: Trace) -> None:
    session = opened.session()
    session.sql("BEGIN")
    inner = session.session()
    assert inner.query("kernel_summary").count() == 1
    # In a transaction it would see what there was at first.
    add_part(opened.path, "kernel", "process_id device_id start_ns end_ns name\n1 0 4 6 l")
    assert_rows(inner.query("kernel_summary"), "name total_ns\n l 2\n k 1")
    session.sql("COMMIT")


@pytest.mark.parametrize("is_part", [False, True])
def test_a_trace_is_closed_while_another_thread_reads(opened: Trace, is_part: bool) -> None:
    begun, over = threading.Event(), threading.Event()
    schema = pa.schema([("n", pa.int64())])

    def rows() -> Iterator[pa.RecordBatch]:
        begun.set()
        assert over.wait(LONG_S)
        yield pa.record_batch([[1]], schema)

    asked = opened.scope(from_="1ns") if is_part else opened
    session = asked.session()
    session._connection.con.register("slow", pa.RecordBatchReader.from_batches(schema, rows()))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: session.sql("FROM slow").arrow().to_pylist())
        try:
            assert begun.wait(LONG_S)
            asked.close()
            with pytest.raises(UsageError, match="the trace is closed"):
                asked.has_rows("kernel")
            opened.close()
        finally:
            over.set()
        # It gets its rows, or fails, as DuckDB has it.
        assert reading in wait([reading], LONG_S).done


@pytest.mark.slow
def test_index_computes_of_parts_that_came_since_the_trace_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "KEPT_BYTES", 0)
    columns = "process_id device_id stream_id start_ns end_ns name\n"
    ended = "capture_id start_ns end_ns\n1 0 100"
    path = write_trace(
        tmp_path / "run", kernel=columns + "1 0 7 10 20 a\n1 0 7 30 40 b", capture=ended
    )
    write_manifest(path)
    with cupti_etl.open(path) as trace:
        assert trace.index().refused == ""
        add_part(path, "kernel", columns + "1 0 7 80 90 c")
        write_manifest(path)
        assert trace.index().refused == ""
        assert {row["start_ns"] for row in trace.query("_busy_interval")} == {10, 30, 80}
    with cupti_etl.open(path) as trace:
        assert {row["start_ns"] for row in trace.query("_busy_interval")} == {10, 30, 80}
