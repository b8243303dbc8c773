"""Clock triples: read together, about once a second."""

from __future__ import annotations

import time

import pytest

from cupti_etl.capture.clock import Clock, read_clocks


def test_readings_belong_together() -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    row = read_clocks()
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert before <= row["monotonic_ns"] <= after
    # Boot time counts what monotonic time does, and suspend.
    assert row["boottime_ns"] >= row["monotonic_ns"] - 1_000_000
    assert abs(row["realtime_ns"] - time.time_ns()) < 5_000_000_000


def test_the_tightest_of_several_readings_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of three is not interrupted."""
    readings = iter([0, 1, 2, 900, 1000, 1001, 1002, 1010, 2000, 2001, 2002, 2600])
    monkeypatch.setattr(time, "clock_gettime_ns", lambda _: next(readings))
    assert read_clocks() == {"realtime_ns": 1001, "monotonic_ns": 1005, "boottime_ns": 1002}


def test_one_triple_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0
    monkeypatch.setattr(time, "clock_gettime_ns", lambda _: now)
    clock, given = Clock(), []
    for now in range(10**9, 6 * 10**9, 10**8):  # noqa: B007 - the clock above reads it
        given.append(clock.due())
    assert [row["realtime_ns"] // 10**9 for row in given if row] == [1, 2, 3, 4, 5]
