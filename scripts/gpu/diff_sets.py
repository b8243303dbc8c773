"""Judges sets of the runs that diff_truth.py measured, as diff judges several runs a side.

    python diff_sets.py docs/measurements/h200-diff.json

Its pairs give the mean step of each run in units of the first.  Of equal runs every choice of N
against N others is a set without a change; of slowed ones every choice of N equal runs against all
of them is one with a change.  Prints how often either was called changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from cupti_etl.analysis.spread import over_runs

MIN_EFFECT = 0.01


def relative(pairs: Iterable[Mapping[str, Any]], first: str) -> dict[str, float]:
    """Mean steps of the runs that were compared with the first."""
    return {each["pair"][1]: each["ratio"] for each in pairs if each["pair"][0] == first}


def verdict(before: Sequence[float], after: Sequence[float]) -> str:
    """What diff says of the steps of such runs."""
    change = over_runs([(mean, 1) for mean in before], [(mean, 1) for mean in after])
    assert change is not None
    if change.p < 0.05 and abs(change.ratio - 1) >= MIN_EFFECT:
        return "slower" if change.ratio > 1 else "faster"
    return "not changed"


def count(verdicts: Sequence[str]) -> str:
    """How many of each."""
    counts = ", ".join(f"{verdicts.count(each)} {each}" for each in sorted(set(verdicts)))
    return f"{len(verdicts)} sets: {counts}"


def main() -> int:
    """Entry point."""
    measured = json.loads(Path(sys.argv[1]).read_text())
    for kind in ("gpu", "host"):
        pairs = measured[kind]
        first = pairs["equal"][0]["pair"][0]
        equal = [1.0, *relative(pairs["equal"], first).values()]
        numbers = range(len(equal))
        for n in (2, 3, 4):
            found = [
                verdict([equal[at] for at in some], [equal[at] for at in others])
                for some in combinations(numbers, n)
                for others in combinations([at for at in numbers if at not in some], n)
                if some < others
            ]
            print(f"{kind}, equal, {n} against {n}: {count(found)}")
        for name in (each for each in pairs if each != "equal"):
            slowed = list(relative(pairs[name], first).values())
            found = [verdict(some, slowed) for some in combinations(equal, len(slowed))]
            print(f"{kind}, {name}, {len(slowed)} against {len(slowed)}: {count(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
