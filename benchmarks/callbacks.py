"""What a launch costs while CUPTI calls back, in batches and in line, on the fakes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common import rounded
from benchmarks.lag import fakes

# Turns of each kind follow each other, so that what others do to the machine meets all of them.
_PROGRAM = """
import ctypes, json, sys, time
import cupti_etl
launches, rounds = map(int, sys.argv[1:])
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
driver.cuInit(0)
launch = driver.fakeLaunch
def spent():
    began = time.thread_time_ns()
    for _ in range(launches):
        launch(0, 1, 0)
    return (time.thread_time_ns() - began) / launches
def callbacks(function, **options):
    with cupti_etl.callbacks("driver", "cuLaunchKernel", function, **options) as watched:
        took = spent()
    assert watched.callbacks == 2 * launches
    return took, watched.lost
rows = []
def count(batch):
    rows.append(batch.num_rows)
spent()
found = []
for _ in range(rounds):
    rows.clear()
    plain = spent()
    batches, lost = callbacks(count, buffer_mb=512)
    assert sum(rows) + lost == launches
    inline, _ = callbacks(lambda event: None, inline=True)
    reading, _ = callbacks(lambda event: (event.function, event.grid), inline=True)
    found.append({"plain": plain, "batches": batches, "inline": inline, "reading": reading})
json.dump(found, sys.stdout)
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--launches", type=int, default=100_000, help="of each turn")
    parser.add_argument("--rounds", type=int, default=7, help="of each kind, in turn")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    _, made = fakes()
    cupti = str(made.cupti("13.5.25"))
    with tempfile.TemporaryDirectory() as scratch:
        env = {**os.environ, **made.env("13.5.25"), "CUPTI_ETL_CUPTI": cupti}
        env["PYTHONPATH"] = str(Path(__file__).parents[1])
        words = [sys.executable, "-c", _PROGRAM, str(arguments.launches), str(arguments.rounds)]
        done = subprocess.run(
            words, env=env, cwd=scratch, stdout=subprocess.PIPE, check=True, text=True
        )
    rounds = json.loads(done.stdout)
    figures = {"plain_ns_per_launch": rounded(median(turn["plain"] for turn in rounds))}
    for name in ("batches", "inline", "reading"):
        # A launch has two callbacks.
        more = median((turn[name] - turn["plain"]) / 2 for turn in rounds)
        figures[f"{name}_ns_per_callback"] = rounded(more)
        figures[f"{name}_over_plain"] = rounded(
            median(turn[name] / turn["plain"] for turn in rounds)
        )
    return figures
