"""What the GPU computes in a step: changes that one run a side shows, whatever the host does.

Equal runs differ in how long the GPU is idle by a third and more, and in how long it computes by
1 %: what they launch is the same, and only clocks differ.  So a change of the compute time has two
parts. *Launched* is what other numbers of kernels take; where each step of a run launches the
same, it is no chance.  *Paced* is the rest, by which kernels take longer; runs differ in it.

How it differs within the runs is taken from pairs of their parts, the first with the first:
a GPU that becomes warm does so in both.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupti_etl.analysis.spread import t_quantile

if TYPE_CHECKING:
    from cupti_etl.api import Trace

# By how much the compute time of two equal runs differs, as a standard deviation of the share:
# 0.3 and 0.6 % were measured on an H200 at its power limit, 0.05 % on one that mostly waits
# (docs/measurements/h200-diff.json, h200-diff-work.json).
_EQUAL_DIFFER = 0.006
# The smallest change that matters, as a share of a step, where nobody says.
SMALLEST = 0.01
_LEVEL = 0.05
_NORMAL = 1.96
_FEWEST = 8
# Idle time that becomes shorter by what the GPU computes longer, or nearly: it is hidden.
_HIDDEN = 0.25


@dataclass(frozen=True)
class Work:
    """A change of what a GPU computes in a step, in ns of a mean step.

    Attributes:
        step_ns: how long a step takes before.
        change_ns: of the time in which a kernel computes.
        launched_ns: of it, what is no chance because other kernels, or more, are launched.
        sure_ns: the change beyond chance; 0 if there is none.
        unseen_ns: a change that is smaller would have been taken for chance.
    """

    step_ns: float
    change_ns: float
    launched_ns: float
    sure_ns: float
    unseen_ns: float

    def verdict(self, smallest: float) -> str:
        """Regress, improve, none or cannot tell.

        Args:
            smallest: the smallest change that matters, as a share of a step.
        """
        least = smallest * self.step_ns
        if abs(self.sure_ns) >= least:
            return "regress" if self.sure_ns > 0 else "improve"
        return "none" if abs(self.change_ns) + self.unseen_ns <= 2 * least else "cannot tell"

    def is_hidden(self, idle_change_ns: float) -> bool:
        """Whether idle time changed by as much the other way, so that steps take as long."""
        return abs(idle_change_ns + self.sure_ns) <= _HIDDEN * abs(self.sure_ns)


@dataclass(frozen=True)
class _Kernels:
    """A kernel in the steps of one run."""

    per_step: float
    error: float
    mean_ns: float


def works(
    before: Trace, after: Trace, names: tuple[Mapping[int, str], Mapping[int, str]]
) -> dict[str, Work]:
    """The changes of the GPUs that have enough steps in both runs, by their names.

    Args:
        before: the run to compare with.
        after: the run that is judged.
        names: of the GPUs of each, by their numbers; those that belong together have the same.
    """
    parts = [_parts(run, gpus) for run, gpus in zip((before, after), names, strict=True)]
    kernels = [
        _kernels(run, gpus, side)
        for run, gpus, side in zip((before, after), names, parts, strict=True)
    ]
    return {
        gpu: _work((parts[0][gpu], parts[1][gpu]), (kernels[0][gpu], kernels[1][gpu]))
        for gpu in parts[0]
        if len(parts[0][gpu]) == len(parts[1].get(gpu, ())) == _FEWEST
    }


def _parts(trace: Trace, names: Mapping[int, str]) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for row in sorted(trace.query("_step_compute"), key=lambda row: row["part"]):
        found[names.get(row["gpu"], "")].append(row)
    return found


def _kernels(
    trace: Trace, names: Mapping[int, str], parts: Mapping[str, list[dict[str, Any]]]
) -> dict[str, dict[str, _Kernels]]:
    found: defaultdict[str, dict[str, _Kernels]] = defaultdict(dict)
    for row in trace.query("_step_kernel"):
        gpu = names.get(row["gpu"], "")
        steps = sum(part["steps"] for part in parts.get(gpu, ()))
        if steps:
            mean = row["calls"] / steps
            spread = max(row["squares"] / steps - mean**2, 0.0)
            found[gpu][row["name"]] = _Kernels(
                mean, math.sqrt(spread / steps), row["total_ns"] / row["calls"]
            )
    return found


def _work(
    parts: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    kernels: tuple[dict[str, _Kernels], dict[str, _Kernels]],
) -> Work:
    steps = [sum(part["steps"] for part in side) for side in parts]
    busy = [sum(p["compute_ns"] for p in side) / n for side, n in zip(parts, steps, strict=True)]
    step_ns = sum(part["total_ns"] for part in parts[0]) / steps[0]
    launched, by_chance = _launched(*kernels)
    change = busy[1] - busy[0]
    paced = change - launched
    pairs = [
        two["compute_ns"] / two["steps"] - one["compute_ns"] / one["steps"]
        for one, two in zip(*parts, strict=True)
    ]
    middle = math.fsum(pairs) / len(pairs)
    error = math.sqrt(
        math.fsum((pair - middle) ** 2 for pair in pairs) / (len(pairs) - 1) / len(pairs)
    )
    wide = math.hypot(t_quantile(_LEVEL, len(pairs) - 1) * error, _NORMAL * _EQUAL_DIFFER * busy[0])
    certain = launched if abs(launched) > by_chance else 0.0
    sure = certain + (paced if abs(paced) > wide else 0.0)
    return Work(step_ns, change, certain, sure, wide + by_chance)


def _launched(before: dict[str, _Kernels], after: dict[str, _Kernels]) -> tuple[float, float]:
    """What other numbers of kernels take in a step, and how much of that can be chance."""
    nothing = _Kernels(0.0, 0.0, 0.0)
    change = by_chance = gone = new = 0.0
    for name in before.keys() | after.keys():
        one, two = before.get(name, nothing), after.get(name, nothing)
        mean = one.mean_ns or two.mean_ns
        change += (two.per_step - one.per_step) * mean
        # Kernels may come and go together.
        by_chance += _NORMAL * math.hypot(one.error, two.error) * mean
        gone += one.per_step * mean if name not in after else 0.0
        new += two.per_step * mean if name not in before else 0.0
    # Those that took the place of others were measured in one run each.
    return change, by_chance + _NORMAL * _EQUAL_DIFFER * min(gone, new)
