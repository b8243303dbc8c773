"""Importing a trace of PyTorch and asking seven questions, beside HTA loading it.

Each answer is a process of its own, and so is the import, which computes ahead what queries need:
nothing is shared but the folder.  "one" is the same in one process.  HTA (``--hta-python`` has
HolisticTraceAnalysis) loads the trace in one process, which then could be asked.  "bare" is what
eight processes take that only import DuckDB and pyarrow.  "cpu" is the time of all cores together,
which others on the machine disturb least.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import median, rounded
from benchmarks.imports import write_kineto

QUESTIONS = (
    "kernel_summary",
    "busy_breakdown",
    "idle_summary",
    "launch_latency",
    "memcpy_summary",
    "operator_summary",
    "step_summary",
)
# NumPy, which pyarrow imports, would start threads that wait in a loop; ours do without, too.
_BARE = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import duckdb, pyarrow"
_ONE = """
import sys
from pathlib import Path
import cupti_etl
from cupti_etl.imports.run import import_traces
file, folder, *questions = sys.argv[1:]
import_traces([Path(file)], Path(folder), jobs=1)
with cupti_etl.open(folder) as trace:
    for name in questions:
        trace.query(name).arrow()
"""
_HTA = """
import logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]})
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", type=Path, action="append", default=[], help="of PyTorch")
    parser.add_argument("--events", type=int, default=300_000, help="of the made one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hta-python", help="a Python that has HolisticTraceAnalysis")


def _processes(commands: list[list[str]]) -> tuple[float, float]:
    """Seconds, and seconds of processor time, that commands take one after the other."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for words in commands:
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu


def _ours(file: Path, folder: Path) -> tuple[float, float]:
    etl = [sys.executable, "-m", "cupti_etl"]
    questions = [[*etl, "query", name, str(folder)] for name in QUESTIONS]
    return _processes([[*etl, "import", str(file), "-o", str(folder)], *questions])


def _one(file: Path, folder: Path) -> tuple[float, float]:
    return _processes([[sys.executable, "-c", _ONE, str(file), str(folder), *QUESTIONS]])


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    bare = [sys.executable, "-c", _BARE]
    _, cpu_s = _processes([bare] * (1 + len(QUESTIONS)))
    figures: dict[str, Any] = {"rounds": arguments.rounds, "bare_cpu_s": rounded(cpu_s)}
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made.json"
        write_kineto(made, arguments.events)
        for file in (made, *arguments.trace):
            name = file.name.removesuffix(".gz").removesuffix(".json")
            tries = {
                "ours": [
                    _ours(file, Path(scratch) / f"{name}-{turn}")
                    for turn in range(arguments.rounds)
                ],
                "one": [
                    _one(file, Path(scratch) / f"{name}-one-{turn}")
                    for turn in range(arguments.rounds)
                ],
            }
            if arguments.hta_python:
                load = [arguments.hta_python, "-c", _HTA, str(file)]
                tries["hta"] = [_processes([load]) for _ in range(arguments.rounds)]
            for who, times in tries.items():
                figures[f"{name}_{who}_s"] = rounded(median([wall for wall, _ in times]))
                figures[f"{name}_{who}_cpu_s"] = rounded(median([cpu for _, cpu in times]))
            if arguments.hta_python:
                hta = figures[f"{name}_hta_cpu_s"]
                for who in ("ours", "one"):
                    figures[f"{name}_hta_over_{who}"] = rounded(
                        hta / figures[f"{name}_{who}_cpu_s"]
                    )
    return figures
