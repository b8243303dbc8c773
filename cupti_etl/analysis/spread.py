"""Is a difference more than chance: tests and intervals.

One run a side: the rank test of Mann and Whitney (1947) with ties and the normal approximation,
and percentiles of a bootstrap over parts of the run (Kuensch 1989), because neighbouring
executions are not independent.  They know how executions of a run differ, and not how runs do.

Several runs: Student's t (1908) over the logarithms of the runs' means.  A run is one observation,
whatever happens in it; without a change all runs are alike, so their spread is taken from both
sides together.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

_LEVEL = 0.05
_DRAWS = 500

Piece = tuple[float, float]


@dataclass(frozen=True)
class Change:
    """What several runs say of a mean.

    Attributes:
        ratio: of the means after and before.
        low: lower end of its 95 % interval.
        high: upper end.
        p: how often runs without a change differ by as much.
        spread: standard deviation of equal runs, as a share.
    """

    ratio: float
    low: float
    high: float
    p: float
    spread: float


def corrected(p: Sequence[float]) -> list[float]:
    """P-values corrected for their number after Benjamini and Hochberg (1995), in their order."""
    order = sorted(range(len(p)), key=lambda at: p[at], reverse=True)
    q, least = [0.0] * len(p), 1.0
    for place, at in enumerate(order):
        least = min(least, p[at] * len(p) / (len(p) - place))
        q[at] = least
    return q


def normal_p(z: float) -> float:
    """How often a standard normal variable is as far from 0."""
    return math.erfc(abs(z) / math.sqrt(2))


def bootstrap(before: Sequence[Piece], after: Sequence[Piece]) -> tuple[float | None, float | None]:
    """The 95 % interval of the ratio of the means; (None, None) for what took no time."""
    olds, news = _drawn_means(before, 0), _drawn_means(after, 1)
    if min(olds) <= 0:
        return None, None
    ratios = sorted(new / old for old, new in zip(olds, news, strict=True))
    return ratios[int(_LEVEL / 2 * _DRAWS)], ratios[int((1 - _LEVEL / 2) * _DRAWS)]


def over_runs(before: Sequence[Piece], after: Sequence[Piece]) -> Change | None:
    """What runs with these times and numbers say; None if they are too few, or took no time."""
    free = len(before) + len(after) - 2
    means = [[total / n for total, n in runs] for runs in (before, after)]
    if not before or not after or free < 1 or min(map(min, means)) <= 0:
        return None
    logs = [[math.log(mean) for mean in side] for side in means]
    middle = [math.fsum(side) / len(side) for side in logs]
    squares = math.fsum(
        (log - mid) ** 2 for side, mid in zip(logs, middle, strict=True) for log in side
    )
    spread = math.sqrt(squares / free)
    change = middle[1] - middle[0]
    error = spread * math.sqrt(1 / len(before) + 1 / len(after))
    wide = t_quantile(_LEVEL, free) * error
    if error:
        p = t_p(change / error, free)
    else:
        p = 0.0 if change else 1.0
    return Change(
        math.exp(change), math.exp(change - wide), math.exp(change + wide), p, math.expm1(spread)
    )


def t_p(t: float, free: int) -> float:
    """How often Student's t with so many degrees of freedom is as far from 0.

    The finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(abs(t), math.sqrt(free))
    squared = math.cos(angle) ** 2
    first = free % 2
    term, series = math.cos(angle) ** first, 0.0
    for power in range(first, free - 1, 2):
        series += term
        term *= squared * (power + 1) / (power + 2)
    series *= math.sin(angle)
    inside = 2 / math.pi * (angle + series) if first else series
    return max(0.0, 1 - inside)


@functools.cache
def t_quantile(p: float, free: int) -> float:
    """What Student's t is as far from 0 as with this probability."""
    low, high = 0.0, 1.0
    while t_p(high, free) > p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_p(middle, free) > p else (low, middle)
    return high


def _drawn_means(parts: Sequence[Piece], side: int) -> list[float]:
    times, numbers = zip(*parts, strict=True)
    return [sum(drawn(times)) / sum(drawn(numbers)) for drawn in _draws(len(parts), side)]


@functools.cache
def _draws(parts: int, side: int) -> Sequence[Callable[[Sequence[float]], Sequence[float]]]:
    """What takes the parts of each draw from all parts: the same of whatever is compared."""
    draw = random.Random(f"{parts} {side}")
    # Of one part, it twice: of one index, itemgetter makes no tuple.
    return [itemgetter(*draw.choices(range(parts), k=max(parts, 2))) for _ in range(_DRAWS)]
