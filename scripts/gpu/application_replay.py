"""What several runs of a program counted beside replayed kernels: a round of range_metrics.py.

Counts of what a kernel does have to be the same whether it is executed again for each pass or the
program is; those of a range have to be the sums of its kernels; runs that launch otherwise have to
be seen; a kernel that cannot be replayed has to be counted.  Traces are left in OUT/traces, with
one of counts of instructions, for tests/data/cut_h200.py.
"""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Sequence
from typing import Any

from runs import CUPTI_ETL, Runner

import cupti_etl

KERNELS, LAUNCHES = 10, 2
# What kernels do is the same each time, and adds up.
SAME = (
    "smsp__inst_executed.sum",
    "smsp__inst_executed_pipe_alu.sum",
    "smsp__inst_executed_pipe_fma.sum",
    "smsp__inst_executed_pipe_lsu.sum",
    "smsp__inst_executed_pipe_xu.sum",
    "smsp__inst_executed_pipe_cbu.sum",
    "smsp__inst_executed_pipe_adu.sum",
    "smsp__inst_executed_pipe_uniform.sum",
    "smsp__warps_launched.sum",
    "l1tex__t_bytes.sum",
)
# Counted in one run each, so a rate is no more than 100 %.
RATES = ("l1tex__t_sector_hit_rate.pct",)
# Of many counters, or of two halves of a cache: they may need several passes, and then have none.
OTHERS = ("lts__t_sector_hit_rate.pct", "sm__throughput.avg.pct_of_peak_sustained_elapsed")
BY_RANGE = ("--range-by", "range", "--capture-range", "nvtx:round")
APPLICATION = ("--range-replay", "application")
SASS = ("--sass-metrics", "smsp__sass_inst_executed,smsp__sass_thread_inst_executed")
KEPT = ("runs", "ranges", "differing", "sass")
# Of each kernel, by launch.
REPLAYED = """
    SELECT coalesce(short, function) AS name, metric, value, range_id
    FROM launch_metric LEFT JOIN kernel_name ON mangled = function"""


class Captures:
    """Captures of the program, and what became of each."""

    def __init__(self, runner: Runner, options: argparse.Namespace) -> None:
        self._runner, self._options = runner, options
        self._folder = options.work / "application"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self.runs: dict[str, Any] = {}

    def make(self, name: str, metrics: Sequence[str], flags: Sequence[str], *words: object) -> Any:
        """An opened trace; None if there is none.

        Args:
            name: of its folder.
            metrics: that are measured, if any.
            flags: more options of ``cupti-etl capture``.
            words: of the program.
        """
        asked = ["--range-metrics", ",".join(metrics)] if metrics else []
        options = self._options
        cupti = ["--cupti", options.cupti] if options.cupti else []
        done = self._runner.run(
            [*CUPTI_ETL, "capture", "-o", str(self._folder / name), *asked, *flags, *cupti, "--",
             str(options.program), *map(str, words)]
        )  # fmt: skip
        self.runs[name] = {
            "status": done.status, "s": round(done.seconds, 2), "said": done.last_lines,
        }  # fmt: skip
        if done.status:
            return None
        if name in KEPT:
            kept = self._options.out / "traces" / name
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self._folder / name, kept)
        return cupti_etl.open(self._folder / name)


def judge(
    kernels: Sequence[dict[str, Any]],
    runs: Sequence[dict[str, Any]],
    check: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Counts of replayed kernels beside those of several runs.

    Args:
        kernels: rows of REPLAYED.
        runs: of ``replay_counter``.
        check: of ``replay_check``.
    """
    expected = {(r["name"], r["range_id"], r["metric"]): r["value"] for r in kernels}
    rows = [
        {**row, "replayed": expected.get((row["name"], row["range_id"], row["metric"]))}
        for row in runs
        if row["metric"] in SAME
    ]
    apart = [row for row in rows if row["value"] is None or row["value"] != row["replayed"]]
    rates = [row for row in runs if row["metric"] in RATES]
    # Counters of one pass are not read at the same instant.
    over = [row for row in rates if row["value"] is None or not 0 <= row["value"] <= 101]
    return {
        "compared": len(rows),
        "apart": apart,
        "rates": [row["value"] for row in rates],
        "over": over,
        "runs": max((row["run"] for row in check), default=1),
        "check": list(check),
        "missing": sorted({str(row["missing"]) for row in runs if row["missing"]}),
        "ok": len(rows) > 0 and len(rows) == len(expected)
        and not apart and not over and bool(check) and all(row["is_same"] for row in check),
    }  # fmt: skip


def judge_ranges(
    kernels: Sequence[dict[str, Any]], ranges: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Each metric of a range beside the sum over its kernels.

    Args:
        kernels: rows of REPLAYED.
        ranges: of ``replay_counter``.
    """
    sums = {
        metric: sum(row["value"] or 0 for row in kernels if row["metric"] == metric) / LAUNCHES
        for metric in SAME
    }
    rows = [{**row, "kernels_sum": sums[row["metric"]]} for row in ranges if row["metric"] in SAME]
    apart = [
        row
        for row in rows
        if row["value"] is None or not math.isclose(row["value"], row["kernels_sum"])
    ]
    return {"compared": len(rows), "apart": apart,
            "ok": len(rows) == LAUNCHES * len(SAME) and not apart}  # fmt: skip


def judge_differing(
    runs: Sequence[dict[str, Any]], check: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Each run launches ``counted_small`` once more than the one before: its counts are no one's.

    Args:
        runs: of ``replay_counter``.
        check: of ``replay_check``.
    """
    later = [row for row in runs if row["run"] > 1 and row["metric"] in SAME]
    small = [row for row in later if row["name"] == "counted_small"]
    others = [row for row in later if row["name"] != "counted_small"]
    return {
        "check": list(check),
        "missing": sorted({str(row["missing"]) for row in small}),
        "ok": bool(check) and not any(row["is_same"] for row in check)
        and bool(small) and all(row["value"] is None and row["missing"] for row in small)
        and bool(others) and all(row["value"] is not None for row in others),
    }  # fmt: skip


def application(runner: Runner, options: argparse.Namespace) -> dict[str, Any]:
    """The round of range_metrics.py: all parts, and whether each is as it has to be."""
    captures = Captures(runner, options)
    report: dict[str, Any] = {"metrics": [*SAME, *RATES, *OTHERS], "ok": False}
    report["captures"] = captures.runs
    replayed = captures.make("kernels", SAME, (), KERNELS, LAUNCHES)
    runs = captures.make("runs", report["metrics"], APPLICATION, KERNELS, LAUNCHES)
    ranges = captures.make("ranges", SAME, (*APPLICATION, *BY_RANGE), KERNELS, LAUNCHES)
    differing = captures.make("differing", SAME, APPLICATION, 2, 1, "differing")
    cooperative = captures.make("cooperative", SAME[:1], APPLICATION, 1, 1, "cooperative")
    captures.make("sass", (), SASS, KERNELS, 1)
    if replayed is not None:
        kernels = [*replayed.sql(REPLAYED)]
        if runs is not None:
            report["kernel"] = judge(
                kernels, [*runs.query("replay_counter")], [*runs.query("replay_check")]
            )
            report["loss"] = [*runs.sql("SELECT cause, records, detail FROM loss")]
        if ranges is not None:
            report["range"] = judge_ranges(kernels, [*ranges.query("replay_counter")])
            report["range"]["counters"] = [*ranges.query("range_counter")]
    if differing is not None:
        report["differing"] = judge_differing(
            [*differing.query("replay_counter")], [*differing.query("replay_check")]
        )
    if cooperative is not None:
        rows = [r for r in cooperative.sql(REPLAYED) if r["name"] == "counted_cooperative"]
        report["cooperative"] = {"rows": rows, "ok": bool(rows) and all(r["value"] for r in rows)}
    parts = ("kernel", "range", "differing", "cooperative")
    report["ok"] = all(report.get(part, {}).get("ok") for part in parts)
    return report
