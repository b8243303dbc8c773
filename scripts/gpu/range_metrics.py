"""Exact counters of a capture beside those of Nsight Compute, metric by metric.

    python range_metrics.py --out DIR --work DIR --program PATH [--ncu PATH] [--cupti PATH]
                            [--rounds NAME,...]

Captures PATH with --range-metrics, runs it under ncu with the same metrics, cache control and
clocks, imports both as one trace, and asks metric_agreement: first 3 kernels and 10 metrics, then
10 and 30, then 10 and one alone.  Then measures ranges of the program as wholes, which have to be
the sums of their kernels, and runs the program once for each group of metrics, which has to give
the same (round `application`, which needs no ncu; see application_replay.py).  Writes
DIR/range_metrics.json.  Exits with 1 if a launch has no kernel, or a metric that has to agree does
not to the last digit; every other difference above 2 % is listed, with the least and the most of
both ways: where these overlap, launches differ among themselves.
See ``scripts/gpu_range_metrics.sh``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from application_replay import application
from machine import machine
from runs import CUPTI_ETL, Runner

import cupti_etl
from cupti_etl.errors import EtlError

APART_PCT = 2.0
LAUNCHES = 8
METRICS = (
    "sm__cycles_active.avg",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "smsp__inst_executed.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "gpu__time_duration.sum",
    "lts__t_sectors.sum",
    # From here on with ten kernels alone.
    "smsp__inst_issued.sum",
    "smsp__cycles_active.sum",
    "smsp__warps_active.sum",
    "smsp__warps_eligible.sum",
    "smsp__issue_active.sum",
    "smsp__inst_executed_pipe_alu.sum",
    "smsp__inst_executed_pipe_fma.sum",
    "smsp__inst_executed_pipe_lsu.sum",
    "smsp__inst_executed_pipe_xu.sum",
    "smsp__inst_executed_pipe_cbu.sum",
    "smsp__inst_executed_pipe_adu.sum",
    "smsp__inst_executed_pipe_uniform.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__warps_launched.sum",
    "smsp__warps_issue_stalled_barrier.sum",
    "smsp__warps_issue_stalled_long_scoreboard.sum",
    "smsp__warps_issue_stalled_math_pipe_throttle.sum",
    "l1tex__t_bytes.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "gpc__cycles_elapsed.max",
)
# A metric alone has one pass, the one in which what a record of a kernel adds would be counted.
ROUNDS = {"3x10": (3, METRICS[:10]), "10x30": (10, METRICS), "10x1": (10, METRICS[3:4])}
# What a kernel does is the same each time; how long it takes, what caches hold, and how often an
# instruction is issued again because of that, is not.
EXACT = ("inst_executed.sum", "inst_executed_pipe_", "warps_launched.sum", "l1tex__t_bytes.sum")
# Of these, what kernels do adds up.
SUMMED = ("smsp__inst_executed", "smsp__warps_launched", "l1tex__t_bytes")
# ncu rounds to so many digits.
ROUNDED = 0.005


SPREAD = """
    SELECT regexp_extract(coalesce(short, function), '^(?:void )?([^(<]*)', 1) AS name, metric,
           min(value) FILTER (source = 'range_profiler') AS least,
           max(value) FILTER (source = 'range_profiler') AS most,
           min(value) FILTER (source = 'ncu') AS ncu_least,
           max(value) FILTER (source = 'ncu') AS ncu_most
    FROM launch_metric LEFT JOIN kernel_name ON mangled = function
    GROUP BY ALL"""
# What it costs to measure a launch.
LAUNCH_MS = """
    SELECT any_value(passes) AS passes, median(ms) AS median, min(ms) AS least, max(ms) AS most
    FROM (SELECT any_value(passes) AS passes, any_value(end_ns - start_ns) / 1e6 AS ms
          FROM launch_metric GROUP BY correlation_id)"""


def has_to_agree(row: dict[str, Any]) -> bool:
    """Whether a metric counts what the program does, and not how the GPU came along."""
    return any(part in row["metric"] for part in EXACT) and row["exact"] is not None


def judge(
    rows: Sequence[dict[str, Any]],
    join: Sequence[dict[str, Any]],
    spread: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """What two ways to count say of each other.

    Args:
        rows: of ``metric_agreement``.
        join: of ``counter_join``.
        spread: of SPREAD: the least and the most of each way, over launches.
    """
    compared = [row for row in rows if row["ncu_apart_pct"] is not None]
    apart = [
        row for row in compared
        if abs(row["ncu_apart_pct"]) > APART_PCT and abs(row["ncu"] - row["exact"]) > ROUNDED
    ]  # fmt: skip
    ranges = {(row["name"], row["metric"]): row for row in spread}
    for row in apart:
        row |= ranges.get((row["name"], row["metric"]), {})
        # Launches of one way differ among themselves as much as the ways do.
        row["overlap"] = (
            row["least"] <= row["ncu_most"] and row["ncu_least"] <= row["most"]
            if row.get("least") is not None and row.get("ncu_least") is not None
            else None
        )
    equal = [row for row in rows if row["exact"] == row["ncu"] and row["exact"] is not None]
    wrong = [
        row for row in compared if has_to_agree(row) and abs(row["ncu"] - row["exact"]) > ROUNDED
    ]
    ours = [row for row in join if row["launches"]]
    return {
        "compared": len({(row["name"], row["metric"]) for row in (*compared, *equal)}),
        "within": len(compared) - len(apart),
        "overlapping": sum(row["overlap"] is True for row in apart),
        "apart": apart,
        # ncu tells of the device, too, which was not asked for.
        "one_sided": [
            row
            for row in rows
            if row["metric"] in METRICS and (row["exact"] is None) != (row["ncu"] is None)
        ],
        "join": list(join),
        "ok": bool(compared) and not wrong and bool(ours) and all(r["is_whole"] for r in ours),
    }


def ncu_command(ncu: str, metrics: Sequence[str], cache: str) -> list[str]:
    """Nsight Compute with the clocks as they are and mangled names, so that rows can be joined."""
    return [
        ncu, "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled",
        "--clock-control", "none", "--cache-control", cache, "--metrics", ",".join(metrics),
    ]  # fmt: skip


def compare(runner: Runner, options: argparse.Namespace, name: str) -> dict[str, Any]:
    """One round: both tools, and what they say."""
    kernels, metrics = ROUNDS[name]
    folder = options.work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = [str(options.program), str(kernels), str(LAUNCHES)]
    cupti = ["--cupti", options.cupti] if options.cupti else []
    check = runner.run(
        [*CUPTI_ETL, "metrics", "check", "--range", ",".join(metrics), "--format", "json", *cupti]
    )
    control = ["--range-cache-control", options.cache]
    captured = runner.run(
        [*CUPTI_ETL, "capture", "-o", str(folder / "ours"), "--range-metrics", ",".join(metrics),
         *control, *cupti, "--", *program]
    )  # fmt: skip
    cache = "all" if options.cache == "flush" else "none"
    theirs = runner.run([*ncu_command(options.ncu, metrics, cache), *program], limit=180)
    (folder / "ncu.csv").write_text(theirs.output)
    imported = runner.run(
        [*CUPTI_ETL, "import", str(folder / "ncu.csv"), "-o", str(folder / "ncu")]
    )
    done = {"check": check, "capture": captured, "ncu": theirs, "import": imported}
    report: dict[str, Any] = {
        "kernels": kernels, "metrics": list(metrics), "cache_control": options.cache,
        "runs": {
            step: {"status": run.status, "s": round(run.seconds, 2), "said": run.last_lines}
            for step, run in done.items()
        },
        "ok": False,
    }  # fmt: skip
    if any(run.status for step, run in done.items() if step != "check"):
        return report
    ours = cupti_etl.open(folder / "ours")
    both = cupti_etl.open(folder / "ours", folder / "ncu")
    report |= judge(
        [*both.query("metric_agreement")], [*ours.query("counter_join")], [*both.sql(SPREAD)]
    )
    report["launch_ms"] = [*ours.sql(LAUNCH_MS)]
    report["counters"] = [*ours.query("kernel_counter")]
    report["loss"] = [*ours.sql("SELECT cause, table_name, records, detail FROM loss")]
    return report


def whole_ranges(runner: Runner, options: argparse.Namespace) -> dict[str, Any]:
    """Ranges measured as wholes beside the sums of their kernels, measured one by one."""
    folder = options.work / "ranges"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    metrics = [name for name in METRICS if name.startswith(SUMMED)]
    program = [str(options.program), "10", str(LAUNCHES)]
    cupti = ["--cupti", options.cupti] if options.cupti else []
    by = {
        "kernel": [],
        "range": ["--range-by", "range", "--capture-range", "nvtx:round"],
    }
    runs = {
        name: runner.run(
            [*CUPTI_ETL, "capture", "-o", str(folder / name), "--range-metrics", ",".join(metrics),
             *flags, *cupti, "--", *program]
        )
        for name, flags in by.items()
    }  # fmt: skip
    report: dict[str, Any] = {
        "metrics": metrics, "ok": False,
        "runs": {name: {"status": run.status, "s": round(run.seconds, 2), "said": run.last_lines}
                 for name, run in runs.items()},
    }  # fmt: skip
    if any(run.status for run in runs.values()):
        return report
    kernels, ranges = (cupti_etl.open(folder / name) for name in by)
    sums = {
        row["metric"]: row["total"] / LAUNCHES
        for row in kernels.sql(
            "SELECT metric, sum(total) AS total FROM kernel_counter GROUP BY metric"
        )
    }
    rows = [*ranges.query("range_counter")]
    report["ranges"] = [{**row, "kernels_sum": sums.get(row["metric"])} for row in rows]
    report["range_ms"] = [*ranges.sql(LAUNCH_MS.replace("correlation_id", "range_id"))]
    report["loss"] = [*ranges.sql("SELECT cause, table_name, records, detail FROM loss")]
    report["ok"] = len(rows) == len(metrics) and all(
        row["mean"] == sums.get(row["metric"]) and row["same_launches"] for row in rows
    )
    return report


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--cupti", default="")
    parser.add_argument("--cache", choices=("flush", "none"), default="flush")
    parser.add_argument("--seconds", type=float, default=400)
    every = (*ROUNDS, "ranges", "application")
    parser.add_argument("--rounds", default=",".join(every))
    options = parser.parse_args()
    rounds = options.rounds.split(",")
    if not set(rounds) <= set(every):
        parser.error(f"rounds are {', '.join(every)}")
    if set(rounds) & set(ROUNDS) and shutil.which(options.ncu) is None:
        parser.error(f"{options.ncu} is not there: name Nsight Compute's ncu with --ncu")
    runner = Runner(options.work, options.out / "range_metrics.log", options.seconds)
    begin = time.monotonic()
    report: dict[str, Any] = {"machine": machine(), "rounds": {}, "ok": False}
    others = {"ranges": whole_ranges, "application": application}
    for name in rounds:
        try:
            report["rounds"][name] = (
                compare(runner, options, name) if name in ROUNDS else others[name](runner, options)
            )
        except EtlError as error:
            report["rounds"][name] = {"ok": False, "failed": repr(error)}
        report["ok"] = len(report["rounds"]) == len(rounds) and all(
            done["ok"] for done in report["rounds"].values()
        )
        report["s"] = round(time.monotonic() - begin, 1)
        path = options.out / "range_metrics.json"
        path.write_text(json.dumps(report, indent=1, default=str))
        print(name, report["rounds"][name]["ok"], flush=True)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
