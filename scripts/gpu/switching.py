"""How often records can be switched on and off: by the collector's orders, and by ranges.

    python switching.py --out DIR --work DIR --newer-cupti FILE [--seconds 20] [--at-once 6]

Writes DIR/switching.json; exits with 1 if a program did not end well, or if records that the
collector's orders had switched (--budget) were lost or have another launch's correlation.  With
ranges, losses are what is to be known.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

PROGRAM = str(Path(__file__).resolve().parent / "switching_app.py")
SECONDS = 540
BUDGET = ("--budget", "60%", "--budget-window", "10ms")
RANGE = ("--capture-range", "nvtx:step")
# What is run, how it is switched, and whether with the newer CUPTI.
CASES = [
    (what, kind, is_new)
    for is_new in (False, True)
    for what, kind in (
        ("threads", "plain"),
        ("threads", "plain"),
        ("small", "plain"),
        ("llama", "plain"),
        ("graph", "plain"),
        ("graph", "plain"),
        ("small", "plain"),
        ("llama", "plain"),
        ("train", "plain"),
        ("small", "waits"),
        ("graph", "waits"),
        ("llama", "waits"),
        ("threads", "waits"),
        ("small", "ranges"),
        ("graph", "ranges"),
        ("threads", "ranges"),
    )
]


def run(runner: Runner, number: int, seconds: float, newer: str | None) -> dict[str, Any]:
    """One case: how the program ended, and what its trace says."""
    what, kind, is_new = CASES[number]
    case: dict[str, Any] = {"program": what, "kind": kind, "newer_cupti": is_new}
    folder = runner.folder / "traces" / f"{number}-{what}-{kind}"
    log = folder.with_suffix(".json")
    options = list(BUDGET if kind == "plain" else RANGE)
    # What PyTorch has loaded is what is used: so that it loads the newer one.
    preload = ("env", f"LD_PRELOAD={newer}") if is_new else ()
    command = [*CUPTI_ETL, "capture", "-o", folder, *options, "--", *preload]
    done = runner.run(
        [*command, PYTHON, PROGRAM, what, seconds, log, kind],
        limit=seconds + 90,
    )
    case |= {"status": done.status, "seconds": done.seconds}
    if not log.exists() or done.status:
        case["output"] = done.last_lines
    if log.exists():
        case |= json.loads(log.read_text())
    if folder.exists():
        trace = cupti_etl.open(folder)
        (row,) = trace.sql(
            "SELECT count(*) AS windows, count(*) FILTER (end_ns IS NULL) AS open,"
            " median(end_ns - start_ns) / 1e6 AS window_ms FROM capture_window"
        )
        case |= dict(row)
        (kernels,) = trace.sql(
            "SELECT count(*) AS kernels, count(DISTINCT correlation_id) AS correlations"
            " FROM kernel WHERE graph_node_id IS NULL"
        )
        case |= {
            **kernels,
            "kernels_of_graphs": trace.sql("FROM kernel").count() - kernels["kernels"],
        }
        case["losses"] = [f"{loss['cause']}: {loss['records']}" for loss in trace.sql("FROM loss")]
        case["cupti"] = [row["cupti_version"] for row in trace.sql("FROM process")]
    return case


def main() -> None:
    """Run all cases, some at once, and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "switching.log", SECONDS)
    report: dict[str, Any] = {"machine": machine(), "cases": []}
    chosen = [
        number
        for number, (what, kind, is_new) in enumerate(CASES)
        if (not options.only or what in options.only or kind in options.only)
        and (options.newer_cupti or not is_new)
    ]
    with ThreadPoolExecutor(options.at_once) as pool:
        for case in pool.map(
            lambda number: run(runner, number, options.seconds, options.newer_cupti), chosen
        ):
            report["cases"].append(case)
            runner.write(report)
    for case in report["cases"]:
        print(json.dumps({key: value for key, value in case.items() if key != "output"}))
    budgets = [case for case in report["cases"] if case["kind"] == "plain"]
    sys.exit(
        any(
            case["status"] or case.get("losses") or case["kernels"] != case["correlations"]
            for case in budgets
        )
    )


if __name__ == "__main__":
    main()
