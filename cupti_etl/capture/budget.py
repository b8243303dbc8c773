"""``--budget``: records for parts of the time, so that the program loses no more than a share."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cupti_etl.capture.correlations import repeated
from cupti_etl.capture.price import Price, PriceMeter
from cupti_etl.capture.trial import DELAY_NS, Lasting, Trial
from cupti_etl.capture.wakeup import Wakeup
from cupti_etl.capture.windows import Counted
from cupti_etl.config import BudgetOptions
from cupti_etl.progress import say
from cupti_etl.schema.loss import Loss
from cupti_etl.units import percent

if TYPE_CHECKING:
    import pyarrow as pa

# What recording is taken to cost until it was measured: what launch-bound programs were seen to
# lose with all that is recorded by default.
ASSUMED = 0.25
# Below that nothing is measured in windows of this length.
_LEAST = 0.002
# The longest part of the time that is recorded: without a rest there is nothing to compare with.
_MOST = 0.5
# Kernels without times, or with a correlation that is another's, after which nothing more is
# recorded: so many, and of all such a part.
_FEW_WRONG, _MOST_WRONG = 10, 0.001
# Launches in windows that may lack a row without a word about it: in each window, which ends for
# each thread at another call, and of all.
_FEW_MISSING, _MOST_MISSING = 4, 0.02
# The part of the length of windows and of times without recording that is not left to chance.  The
# rest is such that they end at any time as likely as at any other, so that windows see what the
# program does on average (Wolff, "Poisson arrivals see time averages", 1982).  A program whose
# steps keep time with windows would show the same part of its steps again and again, and one that
# is slower in windows comes to keep time with them even if they differ by some tenths.
_CERTAIN = 0.1
# The part of the budget that may be lost for good; windows have what is left.
_LASTING_PART = 0.5


class Budget:
    """Opens and closes windows; the program is recorded in these alone.

    Before the first one a trial tells what the program loses for good once it has been recorded;
    there are windows only if it can afford that.  The time until the next window is such that what
    all windows have cost stays within what is left of the share of the time since the first process
    came.  What they cost is measured (see ``price``), plus one standard error; until it is known,
    it is taken to be a quarter of their time.

    Args:
        options: how much the program may lose, and how long a window is.
        pause: tells the traced processes whether to pause.
        launches: tells them what to do with launches, and how many they have counted.
        counted: windows that they have closed since the last call, each with its process.
        quiet: whether nothing is said before the end.
        monotonic_ns: the clock that windows are ordered by.
        seed: of the lengths of the times without recording.

    Attributes:
        lasting: what the trial told; None before it is over.
        windows: how many have been opened.
    """

    def __init__(
        self,
        options: BudgetOptions,
        pause: Callable[[bool], None],
        launches: Wakeup,
        counted: Callable[[], list[tuple[int, Counted]]],
        *,
        quiet: bool = False,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        seed: int | None = None,
    ) -> None:
        self._options = options
        self._pause = pause
        self._launches = launches
        self._counted = counted
        self._quiet = quiet
        self._now = monotonic_ns
        self._random = random.Random(seed)
        self._meter = PriceMeter()
        self._trial: Trial | None = None
        self.lasting: Lasting | None = None
        self._lost_ns = 0.0  # by the trial
        self._begun: int | None = None
        self._next_ns = 0
        self._is_open = False
        self._opened_ns = 0
        self._recorded_ns = 0
        self.windows = 0
        self._rows = self._launched_rows = self._wrong = 0
        self._recorded_launches = 0  # known at the end
        pause(True)

    def begin(self) -> None:
        """The first process is there: now the trial begins."""
        if self._begun is None:
            self._begun = self._now()
            self._trial = Trial(
                _LASTING_PART * self._options.share,
                self._options.window_ns,
                self._launches,
                self._now,
                self._random,
            )

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Learn from rows that arrive."""
        if table == "kernel":
            self._wrong += batch["start_ns"].null_count
            self._wrong += sum(repeated(table, batch).values())
            self._rows += batch.num_rows
            self._launched_rows += batch["graph_node_id"].null_count

    @property
    def _is_over(self) -> bool:
        """Whether so many rows are wrong that nothing more is to be recorded.

        That is what CUPTI was seen to do before it ended a program whose records were switched
        where it does not stand it; single ones have been seen without that.
        """
        return self._wrong > max(_FEW_WRONG, _MOST_WRONG * self._rows)

    def pause_ms(self, most: int) -> int:
        """In how many ms it is to look again, at most so many.

        Whoever looks at other times, such as when the program has something to take, opens windows
        when the program does one thing rather than another.
        """
        due_ns = self._trial.next_ns if self._trial is not None else self._next_ns
        left = -(-(due_ns - self._now()) // 1_000_000)
        return min(max(left, 1), most) if self._begun is not None and left > 0 else most

    def look(self) -> None:
        """Go on with the trial, or open or close a window, if it is time to."""
        now = self._now()
        for process_id, window in self._counted():
            self._meter.add(process_id, window)
        if self._begun is None:
            return
        if self._trial is not None:
            self._trial.look()
            if self._trial.found is not None:
                self._judge(self._trial, now)
        elif not self.windows or (now < self._next_ns and not self._is_over):
            return
        elif not self._is_open:
            if not self._is_over:
                self._open(now)
        else:
            self._is_open = False
            self._recorded_ns += now - self._opened_ns
            self._pause(True)
            self._next_ns = now + self._rest_ns(now)

    # ---- what is lost for good

    def _judge(self, trial: Trial, now: int) -> None:
        """The trial is over: the first window opens, or there are none."""
        assert trial.found is not None
        self._trial, self.lasting = None, trial.found
        share = max(trial.found.share, 0.0)
        self._lost_ns = trial.delayed_ns * share / (1 + share)
        if trial.is_affordable:
            self._open(now)
        elif not self._quiet:
            # At once, as a program can run for weeks.
            say(f"cupti-etl: --budget: nothing is recorded{self._why_not()}")

    # ---- windows

    def _open(self, now: int) -> None:
        self._is_open = True
        self._opened_ns = now
        self._next_ns = now + self._about(self._options.window_ns)
        self.windows += 1
        self._pause(False)

    def _rest_ns(self, now: int) -> int:
        """How long nothing is recorded from now on."""
        assert self._begun is not None
        assert self.lasting is not None
        window, share = self._options.window_ns, self._options.share - self.lasting.most
        price = self.price()
        upper = max(ASSUMED if price is None else price.share + price.error, _LEAST)
        # Of the time of a window, what the program would not have needed.
        lost = upper / (1 + upper)
        spent = self._lost_ns + (self._recorded_ns + window) * lost
        until = self._begun + spent / share - window
        # What was saved is not spent at once: at most twice what goes on average.
        part = min(_MOST, 2 * share / lost)
        rest = max(until - now, window * (1 - part) / part)
        return self._about(rest)

    def _about(self, ns: float) -> int:
        """A length of time, by chance; so long on average."""
        return int(ns * (_CERTAIN + (1 - _CERTAIN) * self._random.expovariate(1)))

    def price(self) -> Price | None:
        """What recording costs while it goes on; None if that is not known."""
        return self._meter.price()

    def end(self) -> dict[str, float | None]:
        """The processes have ended; returns columns of ``capture`` that are known now."""
        self._recorded_launches = self._launches.recorded()
        lasting = self.lasting
        return {"lasting_pct": None if lasting is None else 100 * lasting.most}

    def losses(self) -> list[Loss]:
        """Launches in windows of which CUPTI made no record; none before the end.

        How many is in ``detail`` alone: those at the ends of windows can be on either side.
        """
        launches = self._recorded_launches
        missing = launches - self._launched_rows
        if missing <= max(_FEW_MISSING * self.windows, _MOST_MISSING * launches):
            return []
        detail = (
            f"CUPTI made no records of {missing:,} of {launches:,} launches in windows of --budget,"
            " as it was seen to do where several threads launch, or they were captured into graphs"
        )
        return [Loss(None, "cupti_dropped", "kernel", detail=detail)]

    # ---- in words

    def summary(self) -> str:
        """How much was recorded and what that cost, in a sentence."""
        if not self.windows:
            return f"--budget: nothing was recorded{self._why_not()}"
        assert self._begun is not None
        assert self.lasting is not None
        now = self._now()
        recorded = self._recorded_ns + (now - self._opened_ns if self._is_open else 0)
        part = recorded / max(now - self._begun, 1)
        what = f"--budget: {percent(part)} of the time was recorded, in {self.windows:,} windows"
        if self._is_over:
            what += ", and then no more, as CUPTI gave kernels no times or wrong correlations"
        lasting = f"; from the first one on, at most {percent(self.lasting.most)} more for launches"
        price = self.price()
        if price is None:
            return f"{what}; what that costs could not be measured, and was taken to be" + (
                f" {percent(ASSUMED)} of their time{lasting}"
            )
        lost = part * max(price.share, 0) / (1 + max(price.share, 0))
        longer = f"{percent(price.share)} longer" if price.share > 0 else "no longer"
        return (
            f"{what}, in which it took {longer} (± {percent(2 * price.error)}): {percent(lost)} of"
            f" the run{lasting}"
        )

    def _why_not(self) -> str:
        if self._begun is None:
            return ""
        if self.lasting is None:
            return ", as the program ended before it was known what that would cost"
        told = self.lasting
        how = f"{percent(told.share)} longer (± {percent(2 * told.error)})"
        if told.is_bound or told.share > told.bound:
            how = f"up to {percent(min(told.share, told.bound))} longer"
        return (
            f": from the first window to the end of the program, each launch is about"
            f" {DELAY_NS / 1e3:.1f} us longer, of {told.launches_s:,.0f} a second, by which the"
            f" program would take {how}; allow it more, or record a part of it with --delay and"
            " --duration"
        )
