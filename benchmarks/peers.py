"""Two questions to us, to plain SQLite, to nsys-ai and to HTA, about the same made traces.

How long did each kernel run, and for how long did nothing run?  Ours are asked of an imported
trace just opened; SQLite is asked of the export as nsys writes it, without an index; nsys-ai by
its command, whose processor time counts, start included, as it waits for an extension of DuckDB
where there is no network; HTA of a trace that it has loaded.  Peers stand in environments of
their own: ``--hta-python`` has HolisticTraceAnalysis, ``--nsys-ai`` is its command.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import cupti_etl
from benchmarks.common import median, rounded, timed
from benchmarks.imports import write_kineto, write_nsys
from cupti_etl.imports.run import import_traces

_SUMMARY = """
SELECT value, count(*), sum("end" - start) AS ns FROM CUPTI_ACTIVITY_KIND_KERNEL
JOIN StringIds ON id = demangledName GROUP BY value ORDER BY ns DESC
"""
_IDLE = """
SELECT sum(max(start - until, 0)) FROM (
    SELECT start, max("end") OVER (ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING
                                   AND 1 PRECEDING) AS until
    FROM CUPTI_ACTIVITY_KIND_KERNEL
)
"""
_HTA = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_files={0: sys.argv[1]})
def timed(work):
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found
summary, (_, kernels) = timed(lambda: a.get_gpu_kernel_breakdown(
    visualize=False, duration_ratio=1.0, num_kernels=10**9))
idle, busy = timed(lambda: a.get_temporal_breakdown(visualize=False))
total_us, idle_us = kernels["sum (us)"].sum(), busy["idle_time(us)"][0]
print(json.dumps([summary, idle, float(total_us), float(idle_us)]))
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=1_500_000, help="of the nsys export")
    parser.add_argument("--events", type=int, default=300_000, help="of the JSON trace")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hta-python", help="a Python that has HolisticTraceAnalysis")
    parser.add_argument("--nsys-ai", help="the command of nsys-ai")


def ask(folder: Path) -> tuple[float, float, int, int]:
    """Seconds of both answers in a trace just opened, and kernel and idle time in ns."""
    with cupti_etl.open(folder) as trace:
        found: dict[str, list[dict[str, Any]]] = {}

        def query(name: str) -> Callable[[], None]:
            def work() -> None:
                found[name] = list(trace.query(name))

            return work

        summary, idle = timed(query("kernel_summary")), timed(query("busy_breakdown"))
    total = sum(row["total_ns"] for row in found["kernel_summary"])
    return summary, idle, total, sum(row["idle_ns"] for row in found["busy_breakdown"])


def ask_sqlite(export: Path) -> tuple[float, float, int, int]:
    """The same of plain SQLite."""
    with closing(sqlite3.connect(export)) as con:
        found: dict[str, Any] = {}
        summary = timed(lambda: found.update(rows=con.execute(_SUMMARY).fetchall()))
        idle = timed(lambda: found.update(idle=con.execute(_IDLE).fetchone()[0]))
    return summary, idle, sum(row[2] for row in found["rows"]), found["idle"]


def ask_nsys_ai(command: str, export: Path, skill: str) -> tuple[float, list[dict[str, Any]]]:
    """Seconds of processor time of a skill, and its answer."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [command, "skill", "run", skill, str(export), "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, rows


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        export, trace = Path(scratch) / "nsys.sqlite", Path(scratch) / "nsys"
        write_nsys(export, arguments.rows)
        figures["nsys_kernels"] = arguments.rows // 5
        figures["import_s"] = rounded(timed(lambda: import_traces([export], trace, 1)))
        ours = [ask(trace) for _ in range(arguments.rounds)]
        theirs = [ask_sqlite(export) for _ in range(arguments.rounds)]
        assert ours[0][2:] == theirs[0][2:], "the answers differ"
        for at, name in enumerate(("summary", "idle")):
            mine, sqlite = (median([run[at] for run in runs]) for runs in (ours, theirs))
            figures[f"{name}_s"] = rounded(mine)
            figures[f"sqlite_{name}_s"] = rounded(sqlite)
            figures[f"sqlite_{name}_ratio"] = rounded(sqlite / mine)
        if arguments.nsys_ai:
            figures |= _nsys_ai(arguments.nsys_ai, export, ours[0])
        if arguments.hta_python:
            figures |= _hta(arguments, Path(scratch))
    return figures


def _nsys_ai(command: str, export: Path, ours: tuple[float, float, int, int]) -> dict[str, Any]:
    summary, kernels = ask_nsys_ai(command, export, "top_kernels")
    idle, (about,) = ask_nsys_ai(command, export, "overlap_breakdown")
    return {
        "nsys_ai_summary_cpu_s": rounded(summary),
        "nsys_ai_idle_cpu_s": rounded(idle),
        "nsys_ai_first_kernel_ms": kernels[0]["total_ms"],
        "nsys_ai_idle_ms": about["idle_ms"],
        "idle_ms": rounded(ours[3] / 1e6, 6),
    }


def _hta(arguments: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    file, trace = scratch / "kineto.json", scratch / "kineto"
    write_kineto(file, arguments.events)
    import_traces([file], trace, 1)
    done = subprocess.run(
        [arguments.hta_python, "-c", _HTA, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    summary, idle, total_us, idle_us = json.loads(done.stdout.splitlines()[-1])
    ours = [ask(trace) for _ in range(arguments.rounds)]
    mine = [median([run[at] for run in ours]) for at in (0, 1)]
    return {
        "kineto_kernels": arguments.events // 5,
        "kineto_summary_s": rounded(mine[0]),
        "hta_summary_s": rounded(summary),
        "hta_summary_ratio": rounded(summary / mine[0]),
        "kineto_idle_s": rounded(mine[1]),
        "hta_idle_s": rounded(idle),
        "hta_idle_ratio": rounded(idle / mine[1]),
        "hta_kernel_ms": rounded(total_us / 1e3, 6),
        "kineto_kernel_ms": rounded(ours[0][2] / 1e6, 6),
        "hta_idle_ms": rounded(idle_us / 1e3, 6),
        "kineto_idle_ms": rounded(ours[0][3] / 1e6, 6),
    }
