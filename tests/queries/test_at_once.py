"""Several questions to one trace at once: their answers in order, their errors, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.trace import MakeTrace, add_part, write_manifest, write_trace

import cupti_etl
from cupti_etl import Trace
from cupti_etl.analysis.at_once import at_once
from cupti_etl.errors import EtlError, UsageError
from cupti_etl.queries import materialize

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
    monkeypatch.setattr(materialize, "WORTH_BYTES", 0)  # of small traces nothing is told

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


@pytest.mark.slow
def test_index_computes_of_parts_that_came_since_the_trace_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialize, "WORTH_BYTES", 0)
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
