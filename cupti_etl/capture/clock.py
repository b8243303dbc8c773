"""The host's clocks, read together."""

from __future__ import annotations

import time


class Clock:
    """Gives a triple of clock readings about once a second.

    All timestamps of a trace are CLOCK_REALTIME, which can step; against the triples a
    step is visible and can be repaired.
    """

    PERIOD_NS = 1_000_000_000

    def __init__(self) -> None:
        self._next = 0

    def due(self) -> dict[str, int] | None:
        """A row of the table ``clock``, or None until the second is over."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if now < self._next:
            return None
        self._next = now + self.PERIOD_NS
        return read_clocks()


def read_clocks() -> dict[str, int]:
    """One row of the table ``clock``.

    The monotonic clock is read on both sides of the real one, and the reading with the
    smallest distance of a few is kept: the values belong together within microseconds.
    """
    best: tuple[int, dict[str, int]] | None = None
    for _ in range(3):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        real = time.clock_gettime_ns(time.CLOCK_REALTIME)
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        row = {"realtime_ns": real, "monotonic_ns": (before + after) // 2, "boottime_ns": boot}
        if best is None or after - before < best[0]:
            best = (after - before, row)
    assert best is not None
    return best[1]
