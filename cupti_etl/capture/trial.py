"""What recording would cost a program for good, told before anything is recorded.

Once CUPTI has recorded, it makes each launch longer to the end of the program, whatever is switched
off afterwards; so does the callback in which it is switched.  A program whose GPU has work waiting
does not notice that; one that is bound by launches does.  So, for parts of the time, each launch is
delayed by as much (``ETL_TRIAL_DELAY_NS``), and launches are counted with and without the delay.
An experiment on the running program tells what it is bound by as nothing else does: Curtsinger and
Berger, "Coz: finding code that counts with causal profiling", SOSP 2015.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Generator
from dataclasses import dataclass

from cupti_etl.capture.price import jackknife_error
from cupti_etl.capture.wakeup import Wakeup
from cupti_etl.native.headers import constant

_OFF, _COUNT, _DELAY, _REFUSED = (
    constant(f"ETL_TRIAL_{name}") for name in ("OFF", "COUNT", "DELAY", "REFUSED")
)
DELAY_NS = constant("ETL_TRIAL_DELAY_NS")
# Launches are counted for a while in each period, until the program launches steadily: both as
# multiples of the shortest part.
_COUNTED, _PERIOD = 2, 10
_FEWEST_PERIODS, _MOST_PERIODS = 10, 60
# So few, in the later half of these, that it may be loading its data: then it is waited for.
_FEWEST_STEADY = 1000
# By how much more it may launch in the later half of these, or it is still getting under way.
_STEADY = 1.5
# Pairs of parts, one of them with the delay, from which something is told; and how many there are
# before parts become twice as long, so that they hold whole steps of the program.
_FEWEST_PAIRS, _PAIRS = 8, 12
_DOUBLINGS = 9
# Launches without which a part of all time has no pace.
_FEWEST_LAUNCHES = 100
# Standard errors by which what is told may be wrong.
_SURE = 3.0

# Sleeps until a time, in ns, and returns what a part of the experiment told.
_Steps = Generator[int, None, "Lasting"]


@dataclass(frozen=True)
class Lasting:
    """How much longer the program takes once it has been recorded, or would.

    Attributes:
        share: a tenth is 0.1.
        error: one standard error of it.
        launches_s: launches a second, of all processes.
        is_bound: it is at most so much, as if the program waited for each of its launches.
    """

    share: float
    error: float
    launches_s: float
    is_bound: bool = False

    @property
    def bound(self) -> float:
        """The share if the program waited for each of its launches."""
        return _bound(self.launches_s)

    @property
    def most(self) -> float:
        """What it is at most."""
        if self.is_bound:
            return self.share
        return min(max(self.share, 0.0) + _SURE * self.error, self.bound)


@dataclass(frozen=True)
class _Part:
    """Launches that were counted, and in how many ns."""

    launches: int
    ns: int


class Trial:
    """The experiment, which whoever has it looks at now and then.

    Args:
        most: the share that is affordable.
        part_ns: how long the shortest parts of the time are that are compared.
        launches: tells all traced processes what to do with launches, and how many they counted.
        now: the clock, in ns.
        chance: decides what comes first.

    Attributes:
        found: what it told; None as long as it is not over.
        delayed_ns: for how long launches were delayed.
        next_ns: when it is to be looked at.
    """

    def __init__(
        self,
        most: float,
        part_ns: int,
        launches: Wakeup,
        now: Callable[[], int],
        chance: random.Random,
    ) -> None:
        self.found: Lasting | None = None
        self.delayed_ns = 0
        self._most = most
        self._part_ns = part_ns
        self._order = launches.order_trial
        self._counted = launches.launches
        self._now = now
        self._chance = chance
        self._steps = self._experiment()
        self.next_ns = next(self._steps)

    @property
    def is_affordable(self) -> bool:
        """Whether it was told that the program does not lose more than it may."""
        return self.found is not None and self.found.most <= self._most

    def look(self) -> None:
        """Go on with it, if it is time to."""
        if self.found is not None or self._now() < self.next_ns:
            return
        try:
            self.next_ns = next(self._steps)
        except StopIteration as done:
            self.found = done.value

    def _experiment(self) -> _Steps:
        found = yield from self._by_number()
        if found.most > self._most:
            found = yield from self._by_delay(found)
        self._order(_OFF if found.most <= self._most else _REFUSED)
        return found

    def _part(self, trial: int, ns: int) -> Generator[int, None, _Part]:
        self._order(trial)
        launches, begin = self._counted(), self._now()
        yield begin + ns
        part = _Part(self._counted() - launches, self._now() - begin)
        if trial == _DELAY:
            self.delayed_ns += part.ns
        return part

    def _by_number(self) -> _Steps:
        """At most: as if the program waited for each of its launches."""
        parts: list[_Part] = []
        half = _FEWEST_PERIODS // 2
        while True:
            parts.append((yield from self._part(_COUNT, _COUNTED * self._part_ns)))
            before, after = _pace(parts[-2 * half : -half]), _pace(parts[-half:])
            counted = sum(part.launches for part in parts[-half:])
            is_steady = counted >= _FEWEST_STEADY and after <= _STEADY * before
            if len(parts) >= _MOST_PERIODS or (len(parts) >= _FEWEST_PERIODS and is_steady):
                paces = [_pace([part]) for part in parts[-half:]]
                error = statistics.stdev(paces) / len(paces) ** 0.5
                return Lasting(_bound(after + 2 * error), 0.0, after, is_bound=True)
            self._order(_OFF)
            yield self._now() + (_PERIOD - _COUNTED) * self._part_ns

    def _by_delay(self, found: Lasting) -> _Steps:
        """By how much the delay makes it longer; what was found before if there are no launches."""
        length = self._part_ns
        for _ in range(_DOUBLINGS + 1):
            pairs: list[tuple[_Part, _Part]] = []
            for _ in range(_PAIRS):
                pairs.append((yield from self._pair(length)))
                known = _compared(pairs, found.launches_s)
                if known is None:
                    continue
                found = known
                is_too_much = known.share - _SURE * known.error > self._most
                if known.most <= self._most or is_too_much:
                    return found
            length *= 2
        return found

    def _pair(self, length: int) -> Generator[int, None, tuple[_Part, _Part]]:
        """A part without the delay, and one with it, in either order."""
        if self._chance.random() < 0.5:
            without = yield from self._part(_COUNT, length)
            delayed = yield from self._part(_DELAY, length)
        else:
            delayed = yield from self._part(_DELAY, length)
            without = yield from self._part(_COUNT, length)
        return without, delayed


def _bound(launches_s: float) -> float:
    """The share that a program loses which waits for each of so many launches a second."""
    return launches_s * DELAY_NS / 1e9


def _pace(parts: list[_Part]) -> float:
    """Launches a second."""
    return 1e9 * sum(part.launches for part in parts) / max(sum(part.ns for part in parts), 1)


def _compared(pairs: list[tuple[_Part, _Part]], launches_s: float) -> Lasting | None:
    """How much longer a launch took with the delay, by the jackknife; None if that is not known."""
    if len(pairs) < _FEWEST_PAIRS:
        return None

    def longer(some: list[tuple[_Part, _Part]]) -> float | None:
        without, delayed = (_pace([pair[i] for pair in some]) for i in (0, 1))
        return without / delayed - 1 if without and delayed else None

    whole = longer(pairs)
    others = [longer(pairs[:number] + pairs[number + 1 :]) for number in range(len(pairs))]
    known = [share for share in others if share is not None]
    fewest = min(sum(pair[i].launches for pair in pairs) for i in (0, 1))
    if whole is None or len(known) < len(pairs) or fewest < _FEWEST_LAUNCHES:
        return None
    return Lasting(whole, jackknife_error(known), launches_s)
