"""What NCCL tells its profiler plugin on one GPU, against the log of the program that called it.

    python nccl_one.py --out DIR --work DIR

Writes DIR/nccl_one.json; exits with 1 if an event is wrong or missing.  The program has one rank,
which sends to itself: see nccl_self.py.  For that NCCL has no proxy, and so tells of no channels:
those are for nccl.py.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

PROGRAM = (PYTHON, str(Path(__file__).resolve().parent / "nccl_self.py"))
SECONDS = 400
# So that NCCL says which plugin it has loaded.
DEBUG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV"}


def operations(trace: cupti_etl.Trace) -> list[list[list[dict[str, Any]]]]:
    """The operations of each communicator, in groups; communicators without groups are left out."""
    rows = trace.sql("FROM nccl_event WHERE kind <> 'channel' ORDER BY event_id")
    found: dict[int, dict[int, list[dict[str, Any]]]] = {}
    for row in rows:
        found.setdefault(row["communicator"], {}).setdefault(row["group_id"], []).append(row)
    return [list(groups.values()) for groups in found.values()]


def compare(folder: Path, log: dict[str, Any]) -> dict[str, Any]:
    """What the trace says of a run of ``nccl_self.py work``, and what of it is wrong."""
    trace, wrong = cupti_etl.open(folder), []
    told, asked = operations(trace), log["communicators"]
    if len(told) != len(asked):
        wrong.append(f"{len(told)} communicators, not {len(asked)}")
    late = 0
    for place, (groups, wanted) in enumerate(zip(told, asked, strict=False)):
        said = [
            sorted([r["function"], r["count"], r["datatype"], r["size_bytes"]] for r in group)
            for group in groups
        ]
        if said != [sorted(group["operations"]) for group in wanted]:
            wrong.append(f"communicator {place}: operations differ from those that were logged")
        for group, around in zip(groups, wanted, strict=False):
            late += sum(
                not around["before_ns"] <= row[name] <= around["after_ns"]
                for row in group
                for name in ("call_start_ns", "launch_start_ns", "launch_end_ns", "end_ns")
                if row[name] is not None
            )
    if late:
        wrong.append(f"{late} times lie outside of the calls that were logged")
    (counts,) = trace.sql(
        "SELECT count(*) AS events, count(*) FILTER (WHERE kind = 'channel') AS channels,"
        " count(DISTINCT interface) AS interfaces, any_value(interface) AS interface,"
        " count(call_start_ns) AS with_call, count(launch_end_ns) AS with_launch FROM nccl_event"
    )
    (kernels,) = trace.sql("SELECT count(*) AS n FROM kernel WHERE name LIKE '%ncclDevKernel%'")
    (joined,) = trace.sql(
        "SELECT count(*) AS operations, count(DISTINCT correlation_id) AS kernels FROM _nccl_kernel"
    )
    groups_asked = sum(map(len, asked))
    operations_asked = sum(len(group["operations"]) for groups in asked for group in groups)
    if kernels["n"] != groups_asked:
        wrong.append(f"{kernels['n']} kernels of NCCL, not {groups_asked}")
    if (joined["operations"], joined["kernels"]) != (operations_asked, groups_asked):
        wrong.append(f"joined to kernels: {joined}, not {operations_asked} and {groups_asked}")
    losses = [row["detail"] for row in trace.sql("FROM loss")]
    if losses:
        wrong.append(f"losses: {losses}")
    return {
        **counts,
        "nccl": log["version"],
        "asked": operations_asked,
        "groups": groups_asked,
        "kernels": kernels["n"],
        "joined": joined,
        "wrong": wrong,
    }


def run(runner: Runner, level: str) -> dict[str, Any]:
    """The program in a capture, and what the two say of each other."""
    log, folder = runner.folder / f"nccl-{level}.json", runner.folder / "traces" / f"nccl-{level}"
    capture = (*CUPTI_ETL, "capture", "--nccl", level, "-o", str(folder), "--")
    case, logged = runner.logged(level, [*capture, *PROGRAM, "work", str(log)], log, limit=150)
    if logged is None:
        return case
    return case | compare(folder, logged)


def loaded(runner: Runner) -> dict[str, Any]:
    """What NCCL itself says of the plugin."""
    log, folder = runner.folder / "nccl-said.json", runner.folder / "traces" / "nccl-said"
    capture = (*CUPTI_ETL, "capture", "-o", str(folder), "--")
    done = runner.run([*capture, *PROGRAM, "work", str(log)], limit=150, environ=DEBUG)
    said = [line for line in done.output.splitlines() if "rofiler" in line or "PROFILER" in line]
    wrong = [] if any("cupti-etl" in line for line in said) else ["NCCL says nothing of the plugin"]
    return {"name": "said", "status": done.status, "said": said[:12], "wrong": wrong}


def price(runner: Runner) -> dict[str, Any]:
    """Microseconds of a send with its receive, of 4 KiB: medians of five rounds, and these."""
    log = runner.folder / "price.json"
    found: dict[str, Any] = {}
    for name in ("plain", "none", "events", "channels"):
        out = str(runner.folder / "traces" / f"nccl-price-{name}")
        wrap = (*CUPTI_ETL, "capture", "--quiet", "--nccl", name, "-o", out, "--")
        log.unlink(missing_ok=True)
        command = [*(() if name == "plain" else wrap), *PROGRAM, "price", str(log)]
        case, logged = runner.logged(name, command, log, limit=100)
        if logged is None:
            found[name] = case
        else:
            rounds = [round(each, 2) for each in logged["price_us"]]
            found[name] = {"median_us": statistics.median(rounds), "rounds_us": rounds}
    return found


def main() -> None:
    """Run all cases and write the report."""
    options = arguments(__doc__).parse_args()
    runner = Runner(options.work, options.out / "nccl_one.log", SECONDS)
    report: dict[str, Any] = {"machine": machine(), "cases": []}
    for case in (loaded, lambda each: run(each, "events"), lambda each: run(each, "channels")):
        report["cases"].append(case(runner))
        runner.write(report)
    report["price"] = price(runner)
    runner.write(report)
    sys.exit(any(case["wrong"] for case in report["cases"]))


if __name__ == "__main__":
    main()
