"""What recording costs a program that runs, told from how fast it launches.

Launches are counted, recorded or not, and how many there were is noted whenever a window is opened
or closed.  So it is known how fast the program launches in windows and in the times between.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from cupti_etl.capture.windows import Counted

# Windows of a process that are looked at: older ones may be of another phase of the program.
_MOST_WINDOWS = 1000
# Windows with times around them without which there is no price, and launches in either.
_FEWEST_PAIRS, _FEWEST_LAUNCHES = 5, 50
# What is compared are parts of all that, in each of which windows are compared with the times
# around them: they are as few as that, so that each holds many steps of the program.
_MOST_PARTS = 20
# Where so many times as long as usual passed without a launch, the program did something else or
# nothing; usual is what is not exceeded in this part of all windows and times between.
_UNUSUAL, _USUAL = 4.0, 0.9


@dataclass(frozen=True)
class Price:
    """What recording costs while it goes on.

    Attributes:
        share: how much longer the program takes while it is recorded: 0.1 is a tenth.
        error: one standard error of it.
        pairs: windows, each with the times before and after it, from which it is known.
    """

    share: float
    error: float
    pairs: int


class _Span(NamedTuple):
    """Launches, and in how many ns."""

    launches: int
    ns: int


class _Pair(NamedTuple):
    """A window of a process, and the times before and after it."""

    start_ns: int
    process_id: int
    window: _Span
    around: tuple[_Span, _Span]


class PriceMeter:
    """Learns from windows when they are over."""

    def __init__(self) -> None:
        # Of each process its last two windows, and what was made of all; None of what says nothing.
        self._last: dict[int, tuple[Counted, ...]] = {}
        self._pairs: dict[int, deque[_Pair | None]] = {}
        self._price: Price | None = None
        self._came = self._known = 0  # windows; and when the price was computed

    def add(self, process_id: int, window: Counted) -> None:
        """A window of a process is over."""
        seen = (*self._last.get(process_id, ()), window)
        self._last[process_id] = seen[-2:]
        if len(seen) == 3:
            pairs = self._pairs.setdefault(process_id, deque(maxlen=_MOST_WINDOWS - 2))
            pairs.append(_pair(process_id, *seen))
        self._came += 1

    def price(self) -> Price | None:
        """What is known so far; None if that is too little."""
        # A few windows more tell little, and computing takes some milliseconds.
        if self._came > 1.02 * self._known:
            self._price, self._known = self._compute(), self._came
        return self._price

    def _compute(self) -> Price | None:
        of_each = [_usual([pair for pair in some if pair]) for some in self._pairs.values()]
        # What processes do at the same time is in the same part.
        pairs = sorted((pair for some in of_each for pair in some), key=lambda pair: pair.start_ns)
        count = max(map(len, of_each), default=0)
        if count < _FEWEST_PAIRS:
            return None
        parts, size = min(count, _MOST_PARTS), len(pairs)
        cuts = [size * number // parts for number in range(parts + 1)]
        taken = [_weighed(pairs[begin:end]) for begin, end in pairwise(cuts)]
        recorded, unrecorded = (sum(each) for each in zip(*taken, strict=True))
        fewest = min(
            sum(pair.window.launches for pair in pairs),
            sum(span.launches for pair in pairs for span in pair.around),
        )
        if fewest < _FEWEST_LAUNCHES or any(b >= unrecorded for _, b in taken):
            return None
        # The jackknife: the ratio without each of the parts in turn.
        without = [(recorded - a) / (unrecorded - b) for a, b in taken]
        return Price(recorded / unrecorded - 1, jackknife_error(without), size)


def jackknife_error(without: list[float]) -> float:
    """One standard error of what was told from all, by what is without each of them in turn."""
    mean, count = statistics.fmean(without), len(without)
    return math.sqrt((count - 1) / count * sum((each - mean) ** 2 for each in without))


def _pair(process_id: int, before: Counted, window: Counted, after: Counted) -> _Pair | None:
    """The second of three windows of one process; None if it cannot be compared."""
    if after.number - before.number > 2:
        return None
    spans = _between(window, window), _between(before, window), _between(window, after)
    # The clock can be set, and a segment can say anything.
    if min(span.ns for span in spans) > 0 and min(span.launches for span in spans) >= 0:
        return _Pair(window.start_ns, process_id, spans[0], spans[1:])
    return None


def _between(one: Counted, other: Counted) -> _Span:
    """From the end of a window to the begin of the next; or the window, if it is the same."""
    if one is other:
        return _Span(one.launches_off - one.launches_on, one.end_ns - one.start_ns)
    return _Span(other.launches_on - one.launches_off, other.start_ns - one.end_ns)


def _sum(spans: Iterable[_Span]) -> _Span:
    launches = total_ns = 0
    for some, ns in spans:
        launches += some
        total_ns += ns
    return _Span(launches, total_ns)


def _weighed(pairs: list[_Pair]) -> tuple[float, float]:
    """How long a launch took in windows, and around them, both weighed by what that is known from.

    That is for each process apart, as Mantel and Haenszel sum up ratios of rates (Rothman,
    Greenland, Lash, "Modern epidemiology", 2008, chapter 15): unlike a mean of the ratios, it is
    right where there are few launches, or none, in some windows.
    """
    recorded = unrecorded = 0.0
    for process in {pair.process_id for pair in pairs}:
        own = [pair for pair in pairs if pair.process_id == process]
        inside = _sum(pair.window for pair in own)
        outside = _sum(span for pair in own for span in pair.around)
        recorded += inside.ns * outside.launches / (inside.ns + outside.ns)
        unrecorded += outside.ns * inside.launches / (inside.ns + outside.ns)
    return recorded, unrecorded


def _usual(pairs: list[_Pair]) -> list[_Pair]:
    """Without those of one process in which the program stood still."""
    inside = _sum(pair.window for pair in pairs)
    outside = _sum(span for pair in pairs for span in pair.around)
    if not inside.launches or not outside.launches:
        return []

    def idle(pair: _Pair) -> list[float]:
        """Of the window and the times around it, what their launches do not take on average."""
        launches, ns = pair.window
        return [
            ns - launches * inside.ns / inside.launches,
            *(ns - launches * outside.ns / outside.launches for launches, ns in pair.around),
        ]

    times = [idle(pair) for pair in pairs]
    usual = sorted(time for of_pair in times for time in of_pair[:2])
    most = max(usual[int(_USUAL * (len(usual) - 1))], outside.ns / outside.launches)
    return [
        pair for pair, of_pair in zip(pairs, times, strict=True) if max(of_pair) <= _UNUSUAL * most
    ]
