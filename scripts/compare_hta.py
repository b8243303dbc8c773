"""Our answers about a trace of PyTorch's profiler beside those of HolisticTraceAnalysis (HTA).

Run by hand: ``scripts/compare_hta.py TRACE --hta-python VENV/bin/python``, where that Python has
``HolisticTraceAnalysis``, which is no dependency of ours.  Three columns: what HTA says, what our
query says, and what our tables give when counted by HTA's definition ("as HTA"): the work that it
keeps, its whole microseconds, its names.  The third agrees where rows, joins and unions are right;
what is between the second and the third is definition, and docs/design/compared-with-hta.md says
which.  Exit status 1 if "as HTA" differs from HTA by more than --tolerance.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.imports.run import import_traces

_HTA = """
import json, logging, sys, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
busy = a.get_temporal_breakdown(visualize=False).to_dict("records")[0]
overlap = a.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"][0]
idle = a.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
queue = a.get_queue_length_summary(ranks=[0])["queue_length"].reset_index()
kernels = a.get_gpu_kernel_breakdown(
    visualize=False, duration_ratio=1.0, num_kernels=10**9, include_memory_kernels=True)[1]
print(json.dumps({
    "busy": busy, "overlap": overlap, "idle": idle.to_dict("records"),
    "queue": queue.to_dict("records"), "kernels": kernels.to_dict("records"),
}, default=float))
"""

# The work that HTA keeps, in microseconds: whose call began before the end of the last
# ProfilerStep, if the trace has several; else all.  It reads times as doubles, which have steps
# of a quarter of a microsecond now, and then rounds starts up and ends down.
_QUARTER = "CREATE OR REPLACE MACRO quarter(ns) AS (ns + 125) // 250 * 250"
_KEPT = """
CREATE OR REPLACE TABLE kept AS
WITH steps AS (
    SELECT max(end_ns) AS end_ns FROM nvtx_range WHERE contains(name, 'ProfilerStep')
    HAVING count(DISTINCT name) > 1
), work AS (
    SELECT act.*, calls.api_start_ns, calls.api_name
    FROM gpu_activity AS act
    LEFT JOIN launch_to_gpu AS calls
        ON calls.process_id = act.process_id AND calls.correlation_id = act.correlation_id
        AND calls.start_ns = act.start_ns AND calls.stream_id = act.stream_id
        AND calls.name IS NOT DISTINCT FROM act.name AND calls.end_ns = act.end_ns
)
SELECT stream_id, category, kind, name, api_name,
       -- HTA looks for "nccl...Kernel" at the begin of a name.
       CASE WHEN category = 'copy' THEN 'memory'
            WHEN regexp_matches(name, '^nccl.*Kernel') THEN 'communication'
            WHEN contains(name, 'Sync') THEN 'other' ELSE 'computation' END AS class,
       (quarter(start_ns) + 999) // 1000 AS s,
       quarter(quarter(start_ns) + end_ns - start_ns) // 1000 AS e,
       (quarter(api_start_ns) + 999) // 1000 AS api_s
FROM work
WHERE NOT EXISTS (FROM steps) OR api_start_ns <= (SELECT end_ns FROM steps)
"""
# Length of a union: what each interval adds to those that began before it.
_UNION = """
SELECT coalesce(sum(greatest(e - greatest(s, coalesce(until, s)), 0)), 0)::BIGINT AS us
FROM (SELECT s, e, max(e) OVER (ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                 AS until FROM kept WHERE {where})
"""
_IDLE = """
SELECT stream_id AS stream, category, sum(idle)::BIGINT AS us FROM (
    SELECT stream_id, s - before AS idle,
           CASE WHEN api_s > before THEN 'host_wait' WHEN s - before < 30 THEN 'kernel_wait'
                ELSE 'other' END AS category
    FROM (SELECT *, lag(e) OVER (PARTITION BY stream_id ORDER BY s, e) AS before FROM kept)
    WHERE before IS NOT NULL
) GROUP BY ALL
"""
# One up when a call begins, one down when its work does; graphs are no launches to HTA.
_QUEUE = """
SELECT stream, max(depth)::DOUBLE AS max, avg(depth) AS mean FROM (
    SELECT stream, sum(step) OVER (PARTITION BY stream ORDER BY at_us, step DESC
                                   ROWS UNBOUNDED PRECEDING) AS depth
    FROM (SELECT stream_id AS stream, api_s AS at_us, 1 AS step FROM kept WHERE {where}
          UNION ALL SELECT stream_id, s, -1 FROM kept WHERE {where})
) GROUP BY stream
"""
_LAUNCHES = (
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
)


def one(trace: Trace, sql: str) -> Any:
    """The first column of the only row."""
    (row,) = trace.sql(sql)
    return next(iter(row.values()))


class Page:
    """Lines of the comparison, and the largest difference that should not be."""

    def __init__(self) -> None:
        self.worst = 0.0
        print("| | HTA | ours | as HTA |\n| --- | ---: | ---: | ---: |")

    def line(
        self, what: str, theirs: float, ours: float | None, as_hta: float, of: float = 1
    ) -> None:
        """One figure; what HTA cannot tell is NaN there."""
        if theirs == theirs:
            self.worst = max(self.worst, abs(theirs - as_hta) / max(abs(theirs), of))
        shown = ["" if x is None or x != x else f"{x:,.6g}" for x in (theirs, ours, as_hta)]
        print(f"| {what} | {' | '.join(shown)} |")


def compare(trace: Trace, hta: dict[str, Any]) -> float:
    """Print all figures; the largest relative difference of the third column from the first."""
    trace.sql(_QUARTER)
    trace.sql(_KEPT)
    page = Page()

    def union(where: str) -> float:
        return float(one(trace, _UNION.format(where=where)))

    busy = next(iter(trace.query("busy_breakdown")))
    span = float(one(trace, "SELECT max(e) - min(s) FROM kept"))
    compute, everything = union("class = 'computation'"), union("true")
    for what, theirs, ours, as_hta in (
        ("span, us", "kernel_time", busy["span_ns"], span),
        ("compute, us", "compute_time", busy["compute_ns"], compute),
        ("idle, us", "idle_time", busy["idle_ns"], span - everything),
        (
            "the rest, us",
            "non_compute_time",
            busy["exposed_communication_ns"] + busy["exposed_copy_ns"],
            everything - compute,
        ),
    ):
        page.line(what, hta["busy"][f"{theirs}(us)"], ours / 1000, as_hta)
    overlap = [
        row["overlap_pct"]
        for row in trace.query("overlap_matrix")
        if (row["category"], row["other"]) == ("communication", "compute")
    ]
    both = union("class IN ('computation', 'communication')")
    communication = union("class = 'communication'")
    hidden = 100 * (compute + communication - both) / communication if communication else 0.0
    page.line(
        "communication under compute, %", hta["overlap"], overlap[0] if overlap else None, hidden
    )
    kernels(trace, hta, page)
    streams(trace, hta, page)
    return page.worst


def kernels(trace: Trace, hta: dict[str, Any], page: Page) -> None:
    """Time per kernel name."""
    found = [row for row in hta["kernels"] if row["kernel_type"] != "MEMORY"]
    ours = {
        row["name"]: row
        for row in trace.sql(
            "SELECT name, sum(e - s)::BIGINT AS us, stddev_samp(e - s) AS stddev FROM kept"
            " WHERE class IN ('computation', 'communication') GROUP BY name"
        )
    }
    summary = list(trace.query("kernel_summary"))
    page.line("kernel names", len(found), len(summary), len(ours))
    total = sum(row["sum (us)"] for row in found)
    page.line(
        "kernel time, us",
        total,
        sum(row["total_ns"] for row in summary) / 1000,
        sum(row["us"] for row in ours.values()),
    )
    apart = sum(abs(row["sum (us)"] - ours[row["name"]]["us"]) for row in found)
    page.line("differences of the sums by name, us", 0, None, apart, of=total)
    spread = [
        abs(row["stddev"] - (ours[row["name"]]["stddev"] or 0)) / max(row["stddev"], 1)
        for row in found
    ]
    page.line("largest difference of a deviation, part of it", 0, None, max(spread, default=0))


def streams(trace: Trace, hta: dict[str, Any], page: Page) -> None:
    """Idle time and queue length of each stream."""
    idle = {(row["stream"], row["category"]): row["us"] for row in trace.sql(_IDLE)}
    for row in hta["idle"]:
        key = (row["stream"], row["idle_category"])
        page.line(f"stream {key[0]} idle: {key[1]}, us", row["idle_time"], None, idle.get(key, 0))
    sums = "sum(gap_ns) / 1000 AS gap, sum(queued_ns) / 1000 AS queued"
    causes = next(iter(trace.sql(f"SELECT {sums} FROM gap_attribution(0)")))
    page.line("GPU idle in gap_attribution, us", float("nan"), causes["gap"], float("nan"))
    page.line("of it queued, us", float("nan"), causes["queued"], float("nan"))
    where = f"api_name IN {_LAUNCHES}"
    queue = {row["stream"]: row for row in trace.sql(_QUEUE.format(where=where))}
    depth = {row["stream_id"]: row for row in trace.query("queue_depth")}
    for row in hta["queue"]:
        mine, time = queue[row["stream"]], depth[row["stream"]]
        for what, column in (("max", "max_depth"), ("mean", "mean_depth")):
            name = f"stream {row['stream']} queue, {what}"
            page.line(name, row[what], time[column], mine[what])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path, help="a JSON trace of PyTorch, of one rank")
    parser.add_argument("--hta-python", required=True, help="a Python with HolisticTraceAnalysis")
    parser.add_argument("--tolerance", type=float, default=0.01, help="of 'as HTA', relative")
    arguments = parser.parse_args()
    done = subprocess.run(
        [arguments.hta_python, "-c", _HTA, str(arguments.trace.resolve())],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    hta = json.loads(done.stdout.splitlines()[-1])
    with tempfile.TemporaryDirectory() as scratch:
        import_traces([arguments.trace], Path(scratch) / "trace", 1)
        with cupti_etl.open(Path(scratch) / "trace") as trace:
            worst = compare(trace, hta)
    sys.stdout.flush()
    print(f"\nLargest difference of the last column from HTA: {worst:.2%}", file=sys.stderr)
    return int(worst > arguments.tolerance)


if __name__ == "__main__":
    sys.exit(main())
