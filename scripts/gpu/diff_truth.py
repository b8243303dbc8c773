"""Captures a program many times, as it is and slowed down by known amounts, and compares runs.

    python diff_truth.py --out DIR --work DIR [--runs 8] [--slow 4]

Pairs of equal runs tell how often a difference is found where there is none; pairs with a slowed
one, how often it is found.  What slows a step is a kernel that spins for a share of it, or larger
products.  Equal and slowed runs take turns, as a machine changes within minutes.  With --runs 0
--slow 0 the runs that are in --work are judged.  Writes DIR/diff_truth.json, which diff_sets.py
judges as several runs a side.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from pathlib import Path
from typing import Any

STEPS = 60
# "gpu": large products, the GPU is the limit.  "host": small kernels, launching is.
PROGRAMS = ("gpu", "host")
# How a step is slowed down, by which share, and in which programs.
ADDED, LONGER = "added", "longer"
SLOWED = ((ADDED, 0.02, PROGRAMS), (ADDED, 0.05, PROGRAMS), (LONGER, 0.05, ("gpu",)))
EQUAL = "equal-0"


def program(kind: str, how: str, slowdown: float) -> None:
    """The program that is captured: steps of about 15 ms, marked with NVTX."""
    import torch

    n = 8192
    inner = n + (int(n * slowdown) // 64 * 64 if how == LONGER else 0)
    large = torch.randn(n, inner, device="cuda", dtype=torch.bfloat16)
    other = torch.randn(inner, n, device="cuda", dtype=torch.bfloat16)
    small = torch.randn(64, 64, device="cuda")

    def step() -> None:
        if kind == "gpu":
            for _ in range(10):
                torch.mm(large, other)
        else:
            for _ in range(1500):
                small.add_(1.0)

    for _ in range(3):
        step()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(5):
        step()
    end.record()
    torch.cuda.synchronize()
    cycles = int(slowdown * begin.elapsed_time(end) / 5 * 1e-3 * 1.98e9) if how == ADDED else 0
    for _ in range(STEPS):
        with torch.cuda.nvtx.range("step"):
            step()
            if cycles:
                torch.cuda._sleep(cycles)
            torch.cuda.synchronize()


def capture(work: Path, kind: str, how: str, slowdown: float, number: int) -> None:
    """A trace of one run."""
    trace = work / f"{kind}-{how}-{slowdown:g}-{number}"
    own = [sys.executable, str(Path(__file__).resolve()), "--program", kind, "--how", how]
    words = [sys.executable, "-m", "cupti_etl", "capture", "--quiet", "-o", str(trace), "--"]
    subprocess.run([*words, *own, "--slowdown", str(slowdown)], check=True)


def capture_all(work: Path, kind: str, runs: int, slow: int) -> None:
    """Equal and slowed runs in turns."""
    for n in range(max(runs, slow)):
        if n < runs:
            capture(work, kind, "equal", 0, n)
        for how, slowdown, kinds in SLOWED:
            if n < slow and kind in kinds:
                capture(work, kind, how, slowdown, n)


def compare(pair: tuple[Path, Path]) -> dict[str, Any]:
    """What diff says of two traces, as its command does."""
    import cupti_etl
    from cupti_etl.analysis.diff import diff_as_given

    with (
        cupti_etl.open(pair[0]) as one,
        cupti_etl.open(pair[1]) as other,
        one.scope(steps="steady") as base,
        other.scope(steps="steady") as changed,
    ):
        found = diff_as_given(base, changed)
    rows = found.table.to_pylist()
    (step,) = [row for row in rows if row["subject"] == "step"]
    parts = sum(row["change_ns"] for row in rows if row["subject"] == "step part")
    (compute,) = [row for row in rows if row["name"].endswith(": compute")]
    return {
        "pair": [path.name for path in pair],
        "verdict": found.verdict,
        "why": found.why,
        "steps": step["verdict"],
        "compute": compute["verdict"],
        "ratio": step["ratio"],
        "compute_change": (compute["after_mean_ns"] - compute["before_mean_ns"])
        / step["before_mean_ns"],
        "parts_add_up": parts == step["change_ns"],
        "kernels": sum(
            row["verdict"] in ("regress", "improve") for row in rows if row["subject"] == "kernel"
        ),
    }


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--slow", type=int, default=4)
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--how", default="equal")
    parser.add_argument("--slowdown", type=float, default=0.0)
    given = parser.parse_args()
    if given.program:
        program(given.program, given.how, given.slowdown)
        return 0
    report: dict[str, Any] = {"steps": STEPS}
    for kind in PROGRAMS:
        capture_all(given.work, kind, given.runs, given.slow)
        same = sorted(given.work.glob(f"{kind}-{EQUAL}-*"))
        pairs = {"equal": list(combinations(same, 2))}
        for how, slowdown, _ in SLOWED:
            slow = sorted(given.work.glob(f"{kind}-{how}-{slowdown:g}-*"))
            if slow:
                pairs[f"{how} {slowdown:.0%}"] = list(product(same, slow))
        with ProcessPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            report[kind] = {name: list(pool.map(compare, some)) for name, some in pairs.items()}
        for name, found in report[kind].items():
            verdicts = [each["verdict"] for each in found]
            counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
            add = all(each["parts_add_up"] for each in found)
            ratios = sorted(each["ratio"] for each in found)
            print(kind, name, counts, f"median ratio {ratios[len(ratios) // 2]:.4f}", add)
        (given.out / "diff_truth.json").write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
