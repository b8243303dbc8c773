"""Seconds of CPU and memory of each export of a made trace of many kernels.

The trace is that of the benchmark queries, with a Python stack for each launch.  Each export is a
process of its own, and computes what it needs of what queries share; memory is the most that the
process had at once, as the system counts it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import queries
from benchmarks.common import rounded
from cupti_etl.queries.derived import DERIVED

FORMS = ("perfetto", "chrome", "sqlite", "folded", "speedscope")
STACKS, DEPTH = 1000, 8
COLUMNS = queries.COLUMNS | {
    "launch_stack": (
        1,
        {
            "process_id": queries.PROCESS,
            "correlation_id": "i",
            "stack_id": f"1 + i % {STACKS}",
            "state": "'whole'",
        },
    )
}
SMALL = queries.SMALL | {
    "python_stack": f"""
        SELECT 4611686018427387 * p AS process_id, s AS stack_id, d::INTEGER AS depth,
               'function_' || (s // (d + 1)) AS function, 'model_' || d || '.py' AS file,
               s::INTEGER AS line, 1 AS first_line
        FROM range(1, 3) AS a(p), range(1, {STACKS + 1}) AS b(s), range({DEPTH}) AS c(d)"""
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--only", default=",".join(FORMS), help="these forms, comma-separated")
    parser.add_argument("--keep", type=Path, help="keep the trace there, or use it again")


def measure(trace: Path, form: str, out: Path) -> dict[str, Any]:
    """The figures of one export, whose file is removed."""
    words = [sys.executable, "-m", "cupti_etl", "export", str(trace), "--to", form, str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(words)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"export --to {form} failed")
    size = out.stat().st_size
    out.unlink()
    return {
        f"{form}_cpu_s": rounded(usage.ru_utime + usage.ru_stime),
        f"{form}_s": rounded(time.perf_counter() - began),
        f"{form}_peak_mib": usage.ru_maxrss // 1024,
        f"{form}_mb": rounded(size / 1e6),
    }


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    figures: dict[str, Any] = {"rows": arguments.rows}
    with tempfile.TemporaryDirectory() as scratch:
        trace = arguments.keep or Path(scratch) / "run"
        if not trace.exists():
            queries.make(trace, arguments.rows, COLUMNS, SMALL)
        for form in arguments.only.split(","):
            # Nothing is computed before.
            shutil.rmtree(trace / DERIVED, ignore_errors=True)
            figures |= measure(trace, form, Path(scratch) / f"out.{form}")
    return figures
