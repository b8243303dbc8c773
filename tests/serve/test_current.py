"""A trace that is opened for answers, and who has it at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.serve.current import Current


@pytest.fixture
def opened(tmp_path: Path) -> list[Trace]:
    write_trace(tmp_path / "run", kernel="start_ns end_ns name\n0 10 a")
    return []


@pytest.fixture
def current(tmp_path: Path, opened: list[Trace]) -> Current:
    def open_trace() -> Trace:
        opened.append(cupti_etl.open(tmp_path / "run"))
        return opened[-1]

    return Current(open_trace, lambda: None)


def is_closed(trace: Trace) -> bool:
    try:
        list(trace.query("kernel_summary"))
    except cupti_etl.EtlError:
        return True
    return False


def test_it_stays_open_between_questions(current: Current, opened: list[Trace]) -> None:
    for _ in range(2):
        with current.lease() as trace:
            assert trace is opened[0]
    current.close()
    assert [is_closed(trace) for trace in opened] == [True]


def test_who_asks_at_the_end_has_it_alone(current: Current, opened: list[Trace]) -> None:
    with current.lease() as before:
        current.close()
        assert not is_closed(before)
        with current.lease() as after:
            assert not is_closed(after)
    assert [is_closed(trace) for trace in opened] == [True, True]
