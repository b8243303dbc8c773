"""Counts of instructions beside those that are known, and what counting costs.

    python sass_metrics.py --out DIR --work DIR --program PATH [--cupti PATH]

PATH is ``instructions.cu``, compiled.  Captures it with --sass-metrics and compares the counts of
its loads, stores and exits with what its launches come to; then runs it with and without counting,
in turns.  Writes DIR/sass_metrics.json.  Exits with 1 if a count is not exactly the known one.
See ``scripts/gpu_sass_metrics.sh``.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cupti_etl

WARPS, THREADS, TURNS, LAUNCHES = 512, 16384, 100, 3  # a launch's; see instructions.cu
EXECUTED, BY_THREADS = "smsp__sass_inst_executed", "smsp__sass_thread_inst_executed"
# Of each kernel, for a launch: instructions that begin so, as warps and as threads execute them.
KNOWN = {
    "store_once": {"STG": (WARPS, THREADS), "EXIT": (WARPS, THREADS)},
    "add_vectors": {
        "LDG": (2 * WARPS, 2 * THREADS),
        "STG": (WARPS, THREADS),
        "EXIT": (WARPS, THREADS),
    },
    "store_in_loop": {"STG": (TURNS * WARPS, TURNS * THREADS)},
    "store_of_few": {"STG": (WARPS, THREADS // 4)},
}
# Without a branch: each instruction up to the EXIT, 16 bytes long, is executed by each warp.
STRAIGHT = ("store_once", "add_vectors")
PAIRS = 3
_GUARD = re.compile(r"^@!?U?P\w+\s+")


def judge(rows: Sequence[dict[str, Any]], losses: Sequence[str] = ()) -> dict[str, Any]:
    """What a capture's counts are beside the known ones.

    Args:
        rows: of ``instruction_count``.
        losses: causes of losses of ``sass_metric``.
    """
    compared = []
    for kernel, known in KNOWN.items():
        for begin, values in known.items():
            for metric, value in zip((EXECUTED, BY_THREADS), values, strict=True):
                counted = sum(
                    row["value"]
                    for row in rows
                    if row["name"] == kernel
                    and row["metric"] == metric
                    and _GUARD.sub("", row["instruction"] or "").startswith(begin)
                )
                compared.append(
                    {
                        "kernel": kernel,
                        "instruction": begin,
                        "metric": metric,
                        "known": value * LAUNCHES,
                        "counted": counted,
                    }
                )
    for kernel in STRAIGHT:
        executed = [row for row in rows if row["name"] == kernel and row["metric"] == EXECUTED]
        ends = [row["pc_offset"] for row in executed if (row["instruction"] or "")[:4] == "EXIT"]
        compared.append(
            {
                "kernel": kernel,
                "instruction": "all",
                "metric": EXECUTED,
                "known": (max(ends, default=0) // 16 + 1) * WARPS * LAUNCHES,
                "counted": sum(row["value"] for row in executed),
            }
        )
    wrong = [each for each in compared if each["known"] != each["counted"]]
    impossible = _impossible(rows)
    return {
        "ok": not wrong and not impossible and not losses,
        "compared": len(compared),
        "wrong": wrong,
        "impossible": impossible,
        "losses": list(losses),
    }


def _impossible(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Instructions that more than 32 threads of a warp executed."""
    values = {(row["function"], row["pc_offset"], row["metric"]): row["value"] for row in rows}
    return [
        f"{function} at {at}: {value} by threads"
        for (function, at, metric), value in values.items()
        if metric == BY_THREADS and value > 32 * values.get((function, at, EXECUTED), 0)
    ]


def _capture(
    options: argparse.Namespace, out: Path, *words: str, is_counted: bool = True
) -> tuple[float, float]:
    """Seconds that a capture takes, and ms that the program's GPU does, by its own clock.

    Raises:
        SystemExit: it failed.
    """
    command = [sys.executable, "-m", "cupti_etl", "capture", "--overwrite", "-o", str(out)]
    if is_counted:
        command += ["--sass-metrics", f"{EXECUTED},{BY_THREADS}"]
    if options.cupti:
        command += ["--cupti", str(options.cupti)]
    return _run([*command, "--", str(options.program), *words])


def _run(command: Sequence[str]) -> tuple[float, float]:
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    took = time.monotonic() - began
    said = re.search(r"^gpu_ms ([\d.]+)$", done.stdout, re.MULTILINE)
    if not said:
        raise SystemExit(f"{' '.join(command)} said nothing of gpu_ms\n{done.stdout}")
    return took, float(said[1])


def _price(options: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Times of a program captured plainly, and counted, in pairs: in all, and of its GPU."""
    plain, counted = options.work / f"{kind}-plain", options.work / f"{kind}-counted"
    pairs = [
        (_capture(options, plain, kind, is_counted=False), _capture(options, counted, kind))
        for _ in range(PAIRS)
    ]
    seconds = [(without[0], with_[0]) for without, with_ in pairs]
    gpu_ms = [(without[1], with_[1]) for without, with_ in pairs]
    return {
        "pairs_s": seconds,
        "ratio": statistics.median(after / before for before, after in seconds),
        "gpu_pairs_ms": gpu_ms,
        "gpu_ratio": statistics.median(after / before for before, after in gpu_ms),
    }


def main() -> int:
    """The status."""
    parser = argparse.ArgumentParser()
    for name in ("--out", "--work", "--program"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--cupti", type=Path)
    options = parser.parse_args()
    trace = options.work / "counted"
    _capture(options, trace)
    with cupti_etl.open(trace) as opened:
        rows = [dict(row) for row in opened.query("instruction_count")]
        found = opened.sql("SELECT cause, detail FROM loss WHERE table_name = 'sass_metric'")
        losses = [f"{row['cause']}: {row['detail']}" for row in found]
    report: dict[str, Any] = judge(rows, losses)
    report["rows"] = rows
    options.out.mkdir(parents=True, exist_ok=True)
    for kind in ("", *(("short", "loop") if report["ok"] else ())):
        if kind:
            report.setdefault("price", {})[kind] = _price(options, kind)
        text = json.dumps(report, indent=1, default=str)
        (options.out / "sass_metrics.json").write_text(text + "\n")
    brief = {name: value for name, value in report.items() if name != "rows"}
    print(json.dumps(brief, indent=1, default=str))
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
