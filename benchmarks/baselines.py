"""How often the pytest plugin calls equal runs slower, and how often it finds what is slower."""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.common import rounded
from cupti_etl.analysis.spread import over_runs
from cupti_etl.analysis.verdict import judged
from cupti_etl.testing.baseline import Baseline

_ROOT = Path(__file__).parents[1]
# Runs of two programs on an H200 whose host others used, too: verdicts on pairs, and their means.
_RECORDED = _ROOT / "docs" / "measurements" / "h200-diff-work.json"
_SLOWER = (0, 2, 5, 10)
# Runs of a baseline, where there are several; there is one run after.
_SEVERAL = (3, 5)
_MIN_EFFECT = 0.01
# How the mean steps of equal runs differ.
_NOISE: dict[str, Callable[[random.Random], float]] = {
    "0.5 %": lambda draw: draw.lognormvariate(0, 0.005),
    "2 %": lambda draw: draw.lognormvariate(0, 0.02),
    "15 %": lambda draw: draw.lognormvariate(0, 0.15),
    "0.5 %, 1 of 10 by 40 %": lambda draw: (
        draw.lognormvariate(0, 0.005) * (1.4 if draw.random() < 0.1 else 1)
    ),
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=100, help="of made equal traces, each program")
    parser.add_argument("--slow", type=int, default=40, help="pairs of each slowdown")
    parser.add_argument("--sets", type=int, default=4000, help="of run means, each condition")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        made = list(_made(Path(folder), arguments.pairs, arguments.slow))
    drawn, recorded = list(_drawn(arguments.sets)), list(_recorded(arguments.sets))
    return {"made": made, "drawn": drawn, "recorded": recorded}


def _made(folder: Path, pairs: int, slow: int) -> Iterator[dict[str, Any]]:
    """What the plugin says of made traces, one run in the baseline and one after."""
    sys.path.insert(0, str(_ROOT / "tests"))
    from support.stepped import GPU, HOST, stepped_run

    for limit, idle_ns in (("gpu", GPU), ("host", HOST)):
        for slower in _SLOWER:
            draw = random.Random(f"{limit} {slower}")
            verdicts = []
            for number in range(slow if slower else pairs):
                home = folder / f"{limit}-{slower}-{number}"
                before = stepped_run(home / "before", draw, idle_ns=idle_ns)
                longer = 1 + slower / 100
                after = stepped_run(home / "after", draw, idle_ns=idle_ns, longer=longer)
                baseline = Baseline(home / "baselines", "test_made.py::test_step")
                baseline.keep([before], replace=True)
                verdicts.append(baseline.compare([after], None).verdict)
            about = {"limit": limit, "slower_pct": slower, "before": 1}
            yield {**about, **_count(verdicts), **_interval(verdicts)}


def _drawn(sets: int) -> Iterator[dict[str, Any]]:
    """What is said of sets of run means that are drawn, each by itself."""
    for noise, pace in _NOISE.items():
        for count in _SEVERAL:
            for slower in _SLOWER:
                draw = random.Random(f"{noise} {count} {slower}")
                first, both = [], []
                for _ in range(sets):
                    before = [pace(draw) for _ in range(count)]
                    once, again = (
                        _judged(before, pace(draw) * (1 + slower / 100)) for _ in range(2)
                    )
                    first.append(once)
                    both.append(_twice(once, again))
                about = {"noise": noise, "slower_pct": slower, "before": count}
                yield {**about, **_count(first), **_interval(first), "twice": _count(both)}


def _recorded(sets: int) -> Iterator[dict[str, Any]]:
    """What is said of real runs: pairs as ``diff`` judged them, sets of several by their means.

    The same few runs are in many of them, so that no interval can be given.
    """
    measured = json.loads(_RECORDED.read_text())
    for limit in ("gpu", "host"):
        pairs = measured[limit]
        for name in pairs:
            verdicts = [each["verdict"] for each in pairs[name]]
            yield {"limit": limit, "what": name, "before": 1, **_count(verdicts)}
        first = pairs["equal"][0]["pair"][0]
        means = [1.0] + [each["ratio"] for each in pairs["equal"] if each["pair"][0] == first]
        for count in _SEVERAL:
            every = [
                (before, one, two)
                for before in combinations(means, count)
                for one, two in combinations(sorted(set(means) - set(before)), 2)
            ]
            chosen = random.Random(count).sample(every, min(sets, len(every)))
            for slower in _SLOWER:
                longer = 1 + slower / 100
                found = [
                    (_judged(some, one * longer), _judged(some, two * longer))
                    for some, one, two in chosen
                ]
                about = {"limit": limit, "what": f"equal, times {longer:g}", "before": count}
                once = [verdict for pair in found for verdict in pair]
                both = [_twice(*pair) for pair in found]
                yield {**about, "runs": len(means), **_count(once), "twice": _count(both)}


def _judged(before: Sequence[float], after: float) -> str:
    """The verdict on steps with these means, as ``diff`` gives it."""
    change = over_runs([(mean, 1.0) for mean in before], [(after, 1.0)])
    assert change is not None
    row: dict[str, Any] = {
        "is_same": False, "before_calls": 1, "after_calls": 1, "ratio": change.ratio,
        "low": change.low, "high": change.high, "q": change.p,
    }  # fmt: skip
    judged(row, _MIN_EFFECT)
    return str(row["verdict"])


def _twice(once: str, again: str) -> str:
    """What is left of a verdict if a test that is slower is run once more."""
    return again if once == "regress" else once


def _count(verdicts: Sequence[str]) -> dict[str, Any]:
    slower = verdicts.count("regress")
    share = rounded(100 * slower / len(verdicts))
    return {"n": len(verdicts), "called_slower": slower, "called_slower_pct": share}


def _interval(verdicts: Sequence[str]) -> dict[str, Any]:
    """Between which percentages that lies with 95 % certainty, after Wilson (1927)."""
    n, found, z = len(verdicts), verdicts.count("regress"), 1.959964
    middle = (found + z * z / 2) / (n + z * z)
    wide = z / (n + z * z) * math.sqrt(found * (n - found) / n + z * z / 4)
    ends = (max(0.0, middle - wide), min(1.0, middle + wide))
    return {"interval_95_pct": [round(100 * end, 2) for end in ends]}
