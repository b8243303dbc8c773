"""From the end of a kernel to its row being readable in the folder, on the fake driver."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.common import percentile, rounded
from benchmarks.generator import ROOT, Generator

LAUNCHES = 100  # a second


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=20, help="of each of the two runs")
    parser.add_argument(
        "--fast-rate", type=float, default=1e6, help="records a second at full speed"
    )


class Watch:
    """Looks for new parts of the table `kernel`, and how old their rows are."""

    def __init__(self, trace: Path) -> None:
        self._folder = trace / "kernel"
        self._seen: set[str] = set()
        self.lags_ms: list[float] = []

    def look(self) -> None:
        if not self._folder.exists():
            return
        for part in sorted(self._folder.glob("part-*.parquet")):
            if part.name in self._seen:
                continue
            now = time.time_ns()
            ends = pq.ParquetFile(part).read(["end_ns"])["end_ns"].to_pylist()
            self._seen.add(part.name)
            self.lags_ms += [(now - end) / 1e6 for end in ends if end]


def watched(process: subprocess.Popen[str], trace: Path) -> list[float]:
    """The lags of a capture."""
    watch = Watch(trace)
    while process.poll() is None:
        watch.look()
        time.sleep(0.005)
    _, err = process.communicate()
    if process.returncode:
        raise RuntimeError(err)
    return watch.lags_ms


def fakes() -> Any:
    sys.path.insert(0, str(ROOT / "tests"))
    from support.captures import Capturer
    from support.fakes import Fakes

    return partial(Capturer, trace_duckdb=True), Fakes()


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    capturer, made = fakes()
    figures: dict[str, Any] = {"seconds": arguments.seconds}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        launches = max(1, int(LAUNCHES * arguments.seconds))
        words, env, trace, _ = capturer(made, folder).prepare(
            "13.5.25", rate=LAUNCHES, launches=launches
        )
        slow = subprocess.Popen(words, env=env, text=True, stderr=subprocess.PIPE)
        lags = {"100_launches_per_s": watched(slow, trace)}
        trace = folder / "fast"
        generator = Generator(folder)
        command = generator.command(arguments.fast_rate, arguments.seconds, batch=1000)
        lags["full_speed"] = watched(generator.capture(trace, command), trace)
        figures["full_speed_records_per_s"] = arguments.fast_rate
    for name, values in lags.items():
        figures[f"{name}_p50_ms"] = rounded(percentile(values, 50)) if values else None
        figures[f"{name}_p99_ms"] = rounded(percentile(values, 99)) if values else None
        figures[f"{name}_rows"] = len(values)
    return figures
