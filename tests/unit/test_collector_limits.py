"""When a capture is paused and resumed, by a clock that the tests set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cupti_etl.capture import limits
from cupti_etl.capture.limits import Limits
from cupti_etl.config import CaptureOptions

START = 10**12
MS = 10**6


class Clock:
    """The time, how much there is, and what the traced processes were told when."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.now = START - 5000 * MS  # what comes before the program takes its time
        self.rows = self.size = 0
        self.told: list[tuple[int, bool]] = []
        monkeypatch.setattr(limits.time, "monotonic_ns", lambda: self.now)
        self.limits = Limits(
            CaptureOptions(Path("trace"), **options),
            lambda pauses: self.told.append((self.now - START, pauses)),
            lambda: self.rows,
            lambda: self.size,
        )
        self.told_before, self.told = self.told, []
        self.now = START
        self.limits.begin()

    def look_until(self, end: int) -> None:
        """Look each 10 ms."""
        while self.now < START + end:
            self.now += 10 * MS
            self.limits.look()


def test_delay_and_duration_are_kept_to_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, delay_ns=500 * MS, duration_ns=400 * MS)
    assert [pauses for _, pauses in clock.told_before] == [True]
    clock.look_until(2000 * MS)
    assert clock.told == [(500 * MS, False), (900 * MS, True)]
    assert clock.limits.stopped_by == "duration"


@pytest.mark.parametrize(
    ("limit", "option", "grows"),
    [("max_rows", "max_rows", "rows"), ("max_size", "max_bytes", "size")],
)
def test_sizes_are_kept_to_50_ms(
    monkeypatch: pytest.MonkeyPatch, limit: str, option: str, grows: str
) -> None:
    clock = Clock(monkeypatch, **{option: 1000})
    setattr(clock, grows, 999)
    clock.look_until(300 * MS)
    assert (clock.told, clock.limits.stopped_by) == ([], None)
    setattr(clock, grows, 1000)
    clock.look_until(400 * MS)
    ((when, pauses),) = clock.told
    assert (pauses, when <= 350 * MS) == (True, True)
    assert clock.limits.stopped_by == limit
