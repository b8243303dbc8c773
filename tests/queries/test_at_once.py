"""Several questions to one trace at once: their answers in order, their errors, and Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from support.trace import MakeTrace

from cupti_etl import Trace
from cupti_etl.analysis.at_once import at_once
from cupti_etl.errors import EtlError, UsageError

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

    def begin(_: int) -> None:
        assert begun.acquire(timeout=LONG_S)
        assert begun.acquire(timeout=LONG_S)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        at_once([(opened, ask)] * 2, begin)
    assert len(ended) == 2
    assert all("INTERRUPT" in each.upper() for each in ended)


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
