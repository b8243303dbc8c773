"""Python programs that capture themselves on a GPU: ranges, devices, windows, prices.

    python inside.py --out DIR --work DIR

Writes DIR/inside.json; exits with 1 if something is wrong.  See ``scripts/gpu_acceptance.sh``.
Each case is a process of ``captured_inside.py``, which compares its traces with what it launched.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

PROGRAM = (PYTHON, str(Path(__file__).resolve().parent / "captured_inside.py"))
CASES = ("early", "late", "kineto", "threads", "tasks", "windows", "gmp", "price")
SECONDS = 115
# What the driver tells in another form than CUPTI, or not at all.
NOT_TOLD = {"process_id", "tpcs", "numa_id", "is_mig_enabled"}


def said(runner: Runner, name: str) -> dict[str, Any]:
    """What a case says of itself."""
    log = runner.folder / f"inside-{name}.json"
    case, found = runner.logged(name, [*PROGRAM, name, str(log)], log, limit=40)
    return {**case, **(found or {})}


def devices(runner: Runner) -> dict[str, Any]:
    """The device row of a second capture from inside beside that of one from outside."""
    case: dict[str, Any] = {"name": "devices", "wrong": []}
    outside = runner.folder / "traces" / "inside-outside"
    words = [*CUPTI_ETL, "capture", "-o", str(outside), "--", *PROGRAM, "plain", "/dev/null"]
    case["status"] = runner.run(words, limit=40).status
    rows: dict[str, dict[str, Any]] = {}
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, folder in (("outside", outside), ("inside", Path("traces/inside-late-2"))):
        with cupti_etl.open(runner.folder / folder) as trace:
            found = trace.sql("FROM device ORDER BY device_id").arrow().to_pylist()
            tables[name] = trace.sql("FROM context ORDER BY context_id").arrow().to_pylist()
            if not found:
                return {**case, "wrong": [f"the trace from {name} has no device"]}
            rows[name] = found[0]
    other = {
        column: [value, rows["inside"][column]]
        for column, value in rows["outside"].items()
        if column not in NOT_TOLD and rows["inside"][column] not in (None, value)
    }
    case["missing"] = sorted(k for k, v in rows["inside"].items() if v is None)
    case["contexts"] = {
        name: [[row["context_id"], row["device_id"], row["null_stream_id"]] for row in found]
        for name, found in tables.items()
    }
    if other:
        case["wrong"].append(f"columns differ: {other}")
    if not tables["inside"]:
        case["wrong"].append("the primary context has no row")
    return case


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=(*CASES, "devices"), default=())
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "inside.log", SECONDS)
    report: dict[str, Any] = {"machine": machine(), "cases": []}
    for name in CASES:
        if not options.only or name in options.only:
            report["cases"].append(said(runner, name))
    if not options.only or "devices" in options.only:
        report["cases"].append(devices(runner))
    runner.write(report)
    for case in report["cases"]:
        print(case["name"], case["wrong"] or "right")
    sys.exit(any(case["wrong"] for case in report["cases"]))


if __name__ == "__main__":
    main()
