"""``--budget``: records for parts of the time, so that the program loses no more than a share."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cupti_etl.capture.price import Price, PriceMeter
from cupti_etl.config import BudgetOptions
from cupti_etl.units import percent

if TYPE_CHECKING:
    import pyarrow as pa

# What recording is taken to cost until it was measured: what launch-bound programs were seen to
# lose with all that is recorded by default.
ASSUMED = 0.25
# Below that nothing is measured in windows of this length.
_LEAST = 0.002
# The longest part of the time that is recorded: without a rest there is nothing to compare with.
_MOST = 0.8
# Kernels without times after which nothing more is recorded: so many, and of all such a part.
_FEW_UNTIMED, _MOST_UNTIMED = 10, 0.001
# By how much times without recording differ in length, at most: a program whose steps keep time
# with the windows would otherwise show the same part of its steps again and again.
_JITTER = 0.3


class Budget:
    """Opens and closes windows; the program is recorded in these alone.

    The time until the next window is such that what all windows have cost stays within the share
    of the time since the first one.  What they cost is measured (see ``price``), plus one standard
    error; until it is known, it is taken to be a quarter of their time.

    Args:
        options: how much the program may lose, and how long a window is.
        pause: tells the traced processes whether to pause.
        monotonic_ns: the clock that windows are measured by.
        realtime_ns: the clock of records.
        seed: of the lengths of the times without recording.
    """

    def __init__(
        self,
        options: BudgetOptions,
        pause: Callable[[bool], None],
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        realtime_ns: Callable[[], int] = time.time_ns,
        seed: int | None = None,
    ) -> None:
        self._options = options
        self._pause = pause
        self._now = monotonic_ns
        self._realtime = realtime_ns
        self._random = random.Random(seed)
        self._meter = PriceMeter()
        self._begun: int | None = None
        self._next_ns = 0
        self._is_open = False
        self._opened_ns = 0
        self._recorded_ns = 0
        self.windows = 0
        self._kernels = self._untimed = 0
        pause(True)

    def begin(self) -> None:
        """The first process is there: now the first window opens."""
        if self._begun is None:
            self._begun = self._now()
            self._open(self._begun)

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Learn from rows that arrive."""
        if table != "kernel":
            return
        self._untimed += batch["start_ns"].null_count
        self._kernels += batch.num_rows
        self._meter.add(batch)

    @property
    def _is_over(self) -> bool:
        """Whether so many kernels have no times that nothing more is to be recorded.

        That is what CUPTI was seen to do before it ended a program whose records were switched
        where it does not stand it; single ones have been seen without that.
        """
        return self._untimed > max(_FEW_UNTIMED, _MOST_UNTIMED * self._kernels)

    def look(self) -> None:
        """Open or close a window, if it is time to."""
        now = self._now()
        if self._begun is None or (now < self._next_ns and not self._is_over):
            return
        if not self._is_open:
            if not self._is_over:
                self._open(now)
            return
        self._is_open = False
        self._recorded_ns += now - self._opened_ns
        self._pause(True)
        self._next_ns = now + self._rest_ns(now)

    def _open(self, now: int) -> None:
        self._is_open = True
        self._opened_ns = now
        self._next_ns = now + self._options.window_ns
        self.windows += 1
        self._meter.opened(self._realtime())
        self._pause(False)

    def _rest_ns(self, now: int) -> int:
        """How long nothing is recorded from now on."""
        assert self._begun is not None
        window, share = self._options.window_ns, self._options.share
        price = self.price()
        upper = max(ASSUMED if price is None else price.share + price.error, _LEAST)
        # Of the time of a window, what the program would not have needed.
        lost = upper / (1 + upper)
        until = self._begun + (self._recorded_ns + window) * lost / share - window
        # What was saved is not spent at once: at most twice what goes on average.
        part = min(_MOST, 2 * share / lost)
        rest = max(until - now, window * (1 - part) / part)
        return int(rest * self._random.uniform(1 - _JITTER, 1 + _JITTER))

    def price(self) -> Price | None:
        """What recording costs while it goes on; None if that is not known."""
        return self._meter.price()

    def summary(self) -> str:
        """How much was recorded and what that cost, in a sentence."""
        if self._begun is None:
            return "--budget: nothing was recorded"
        now = self._now()
        recorded = self._recorded_ns + (now - self._opened_ns if self._is_open else 0)
        part = recorded / max(now - self._begun, 1)
        what = f"--budget: {percent(part)} of the time was recorded, in {self.windows:,} windows"
        if self._is_over:
            what += ", and then no more, as CUPTI gave kernels no times"
        price = self.price()
        if price is None:
            return f"{what}; what that costs could not be measured, and was taken to be" + (
                f" {percent(ASSUMED)} of their time"
            )
        lost = part * max(price.share, 0) / (1 + max(price.share, 0))
        return (
            f"{what}, in which it took {percent(price.share)} longer"
            f" (± {percent(2 * price.error)}): {percent(lost)} of the run"
        )
