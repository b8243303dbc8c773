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


def test_a_step_shows_as_a_change_of_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, step = 0, -3600 * 10**9
    true = {time.CLOCK_MONOTONIC: 0, time.CLOCK_BOOTTIME: 0, time.CLOCK_REALTIME: 10**18}

    def reading(which: int) -> int:
        is_late = which == time.CLOCK_REALTIME and seconds >= 3
        return true[which] + seconds * 10**9 + (step if is_late else 0)

    monkeypatch.setattr(time, "clock_gettime_ns", reading)
    clock, differences = Clock(), []
    for seconds in range(1, 6):  # noqa: B007 - the clock above reads it
        row = clock.due()
        assert row is not None
        differences.append(row["realtime_ns"] - row["monotonic_ns"])
    assert differences == [10**18, 10**18, *[10**18 + step] * 3]
