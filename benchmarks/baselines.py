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
_LIMITS = ("gpu", "host")
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
    parser.add_argument("--slower", type=int, nargs="+", default=_SLOWER, help="slowdowns in %%")
    parser.add_argument("--sets", type=int, default=4000, help="of run means, each condition")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        made = list(_made(Path(folder), arguments.pairs, arguments.slow, arguments.slower))
    drawn, recorded = list(_drawn(arguments.sets)), list(_recorded(arguments.sets))
    return {"made": made, "drawn": drawn, "recorded": recorded}


def _made(
    folder: Path, pairs: int, slow: int, slowdowns: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """What the plugin says of made traces, one run in the baseline and one after."""
    sys.path.insert(0, str(_ROOT / "tests"))
    from support.stepped import GPU, HOST, stepped_run

    for limit, idle_ns in zip(_LIMITS, (GPU, HOST), strict=True):
        for slower in slowdowns:
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
            yield {**about, **_sure(verdicts)}


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
                yield {**about, **_sure(first), "twice": _sure(both)}


def _recorded(sets: int) -> Iterator[dict[str, Any]]:
    """What is said of real runs: pairs as ``diff`` judged them, sets of several by their means.

    The same few runs are in many of them, so that no interval can be given.
    """
    measured = json.loads(_RECORDED.read_text())
    for limit in _LIMITS:
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


def _sure(verdicts: Sequence[str]) -> dict[str, Any]:
    """The same, with its interval, of verdicts that know nothing of each other."""
    counted = _count(verdicts)
    interval = _interval(counted["called_slower"], counted["n"])
    return {**counted, "interval_95_pct": interval}


def _interval(found: int, n: int) -> list[float]:
    """Between which percentages a share lies with 95 % certainty, after Wilson (1927)."""
    z = 1.959964
    middle = (found + z * z / 2) / (n + z * z)
    wide = z / (n + z * z) * math.sqrt(found * (n - found) / n + z * z / 4)
    ends = (max(0.0, middle - wide), min(1.0, middle + wide))
    return [round(100 * end, 2) for end in ends]


def table(figures: dict[str, Any]) -> str:
    """The figures as docs/howto/pytest.md shows them: how many of 100 are called slower."""
    slowdowns = " | ".join(f"{slower} % slower" for slower in _SLOWER if slower)
    lines = [
        f"| runs in the baseline | which runs | equal | {slowdowns} |",
        "| --- | --- " + "| ---: " * len(_SLOWER) + "|",
    ]
    for limit in _LIMITS:
        rows = [row for row in figures["made"] if row["limit"] == limit]
        lines.append(_line("1", f"made traces, the {limit} is the limit", rows, rows[0]))
    for noise in _NOISE:
        for count in _SEVERAL:
            rows = [r for r in figures["drawn"] if (r["noise"], r["before"]) == (noise, count)]
            lines += _lines(count, f"drawn, equal ones differ by {noise}", rows)
    for limit in _LIMITS:
        for count in _SEVERAL:
            rows = [r for r in figures["recorded"] if (r["limit"], r["before"]) == (limit, count)]
            what = f"of {rows[0]['runs']} on an H200, the {limit} is the limit"
            lines += _lines(count, what, rows, is_independent=False)
    return "\n".join(lines)


def _lines(
    count: int, what: str, rows: Sequence[dict[str, Any]], *, is_independent: bool = True
) -> Iterator[str]:
    again = [row["twice"] for row in rows]
    yield _line(str(count), what, rows, rows[0] if is_independent else None)
    yield _line("", "the same, run once more", again, again[0] if is_independent else None)


def _line(
    count: str, what: str, rows: Sequence[dict[str, Any]], sure: dict[str, Any] | None
) -> str:
    cells = [f"{row['called_slower_pct']:.2g}".replace("1e+02", "100") for row in rows]
    if sure is not None:
        low, high = _interval(sure["called_slower"], sure["n"])
        cells[0] += f" ({low:.2g} to {high:.2g})"
    return f"| {count} | {what} | {' | '.join(cells)} |"
