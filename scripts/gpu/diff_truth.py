"""Captures a program many times, as it is and slowed down by known amounts, and compares runs.

    python diff_truth.py --out DIR --work DIR [--runs 8] [--slow 4]

Pairs of equal runs tell how often a difference is found where there is none; pairs with a slowed
one, how often it is found.  The slowdown is a kernel that spins for a share of the step.  Equal and
slowed runs take turns, as a machine changes within minutes.  Writes DIR/diff_truth.json, which
diff_sets.py judges as several runs a side.
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
SLOWDOWNS = (0.02, 0.05)


def program(kind: str, slowdown: float) -> None:
    """The program that is captured: steps of about 15 ms, marked with NVTX."""
    import torch

    large = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    small = torch.randn(64, 64, device="cuda")

    def step() -> None:
        if kind == "gpu":
            for _ in range(10):
                torch.mm(large, large)
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
    cycles = int(slowdown * begin.elapsed_time(end) / 5 * 1e-3 * 1.98e9)
    for _ in range(STEPS):
        with torch.cuda.nvtx.range("step"):
            step()
            if cycles:
                torch.cuda._sleep(cycles)
            torch.cuda.synchronize()


def capture(work: Path, kind: str, slowdown: float, number: int) -> Path:
    """A trace of one run."""
    trace = work / f"{kind}-{slowdown:g}-{number}"
    own = [sys.executable, str(Path(__file__).resolve()), "--program", kind]
    words = [sys.executable, "-m", "cupti_etl", "capture", "--quiet", "-o", str(trace), "--"]
    subprocess.run([*words, *own, "--slowdown", str(slowdown)], check=True)
    return trace


def compare(pair: tuple[Path, Path]) -> dict[str, Any]:
    """What diff says of two traces, as its command does."""
    import cupti_etl
    from cupti_etl.analysis.diff import diff

    with (
        cupti_etl.open(pair[0]) as one,
        cupti_etl.open(pair[1]) as other,
        one.scope(steps="steady") as base,
        other.scope(steps="steady") as changed,
    ):
        found = diff(base, changed)
    rows = found.table.to_pylist()
    (step,) = [row for row in rows if row["subject"] == "step"]
    parts = sum(row["change_ns"] for row in rows if row["subject"] == "step part")
    return {
        "pair": [path.name for path in pair],
        "verdict": found.verdict,
        "why": found.why,
        "ratio": step["ratio"],
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
    parser.add_argument("--slowdown", type=float, default=0.0)
    given = parser.parse_args()
    if given.program:
        program(given.program, given.slowdown)
        return 0
    report: dict[str, Any] = {"steps": STEPS, "runs": given.runs, "slow": given.slow}
    for kind in PROGRAMS:
        runs: dict[float, list[Path]] = {slowdown: [] for slowdown in (0.0, *SLOWDOWNS)}
        for n in range(max(given.runs, given.slow)):
            for slowdown, done in runs.items():
                if n < (given.slow if slowdown else given.runs):
                    done.append(capture(given.work, kind, slowdown, n))
        same = runs.pop(0.0)
        pairs = {"equal": list(combinations(same, 2))}
        for slowdown, slow in runs.items():
            pairs[f"slower by {slowdown:.0%}"] = list(product(same, slow))
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
