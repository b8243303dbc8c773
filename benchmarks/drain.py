"""The highest rate of records that the collector takes into Parquet without a loss."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.common import cpu_s, median, rounded
from benchmarks.generator import Generator


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=60, help="of the run that counts")
    parser.add_argument("--probe-seconds", type=float, default=10, help="of the one before")
    parser.add_argument("--rate", type=float, help="records a second, instead of searching")
    parser.add_argument("--fsync-ms", type=int, default=0, help="that each fsync takes longer")
    parser.add_argument("--no-fsync", action="store_true", help="capture without waiting for it")
    parser.add_argument("--tries", type=int, default=4, help="rates, each a tenth below the last")


def _anonymous_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


def one(
    generator: Generator, folder: Path, rate: float, seconds: float, disk: argparse.Namespace
) -> dict[str, Any]:
    """One capture; what was emitted, stored and lost comes from the trace itself."""
    trace = folder / "trace"
    options = ["--no-fsync"] if disk.no_fsync else []
    process = generator.capture(
        trace, generator.command(rate, seconds), options, fsync_ms=disk.fsync_ms
    )
    memory: list[tuple[float, float]] = []
    began = time.monotonic()
    cpu = 0.0
    while process.poll() is None:
        try:
            memory.append((time.monotonic() - began, _anonymous_mb(process.pid)))
            cpu = cpu_s(process.pid)
        except (OSError, IndexError):
            break
        time.sleep(0.1)
    out, err = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args, out, err)
    # That many lines of its own the program prints.
    generated, lost, took = out.split()
    emitted, stored = (
        sum(
            pq.ParquetFile(part).read([name])[name][0].as_py()
            for part in (trace / "process").iterdir()
        )
        for name in ("emitted", "stored")
    )
    shutil.rmtree(trace)
    if (int(generated), int(lost)) != (emitted, emitted - stored):
        raise RuntimeError(
            f"{generated} records, {lost} lost, but the trace says {emitted}, {stored}"
        )
    early = [mb for at, mb in memory if at < seconds / 6 + 1]
    late = [mb for at, mb in memory if seconds * 5 / 6 < at < seconds]
    return {
        "records_per_s": rounded(emitted / float(took)),
        "lost": emitted - stored,
        "seconds": rounded(float(took)),
        "seconds_to_finish": rounded(time.monotonic() - began - float(took)),
        "peak_anon_mb": rounded(max(mb for _, mb in memory)),
        "anon_mb_early": rounded(max(early, default=0)),
        "anon_mb_late": rounded(max(late, default=0)),
        "anon_mb_median": rounded(median([mb for _, mb in memory])),
        "collector_cpu_s_per_million": rounded(cpu / emitted * 1e6),
    }


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        generator = Generator(folder)
        tried = []
        rate = arguments.rate
        figures: dict[str, Any] = {}
        if rate is None:
            figures["as_fast_as_slots_are_free"] = one(
                generator, folder, 0, arguments.probe_seconds, arguments
            )
            rate = figures["as_fast_as_slots_are_free"]["records_per_s"] * 0.95
        for _ in range(arguments.tries):
            result = one(generator, folder, rate, arguments.seconds, arguments)
            tried.append({key: result[key] for key in ("records_per_s", "lost")})
            if result["lost"] == 0:
                break
            rate *= 0.9
        return {**result, "tried": tried, **figures, "generator": "benchmarks/generator.c"}
