"""What a collector that stands still costs the traced program, on the fake driver."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import median, rounded
from benchmarks.lag import fakes

_RING_MB = 32


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--launches", type=int, default=2_000_000, help="of each run")
    parser.add_argument("--rounds", type=int, default=7, help="of each kind, in turn")


def _wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.0005)


def _one(folder: Path, launches: int, is_stalled: bool) -> tuple[float, int]:
    """Nanoseconds a launch takes the program, and the records that found no room."""
    capturer, made = fakes()
    start, ready = folder / "start", folder / "ready"
    words, env, trace, _ = capturer(made, folder).prepare(
        "13.5.25",
        ["--buffer-mb", str(_RING_MB), "--kinds", "kernel"],
        launches=launches,
        start=start,
        ready=ready,
    )
    with subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL) as collector:
        _wait_for(trace / "trace.duckdb")  # what happens once is over
        if is_stalled:
            os.kill(collector.pid, signal.SIGSTOP)
        began = time.perf_counter()
        start.touch()
        _wait_for(ready)
        took = time.perf_counter() - began
        os.kill(collector.pid, signal.SIGCONT)
    import pyarrow.parquet as pq

    lost = pq.read_table(trace / "loss", filters=[("cause", "=", "ring_full")])["records"]
    return took / launches * 1e9, sum(lost.to_pylist())


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    rounds: list[tuple[float, float]] = []
    lost = 0
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("drained", "stalled"):
                (Path(scratch) / name).mkdir()
            drained, _ = _one(Path(scratch) / "drained", arguments.launches, False)
            stalled, gone = _one(Path(scratch) / "stalled", arguments.launches, True)
        rounds.append((drained, stalled))
        lost += gone
    if lost == 0:
        raise RuntimeError("nothing was lost: the ring was never full; ask for more launches")
    return {
        "drained_ns_per_launch": rounded(median([drained for drained, _ in rounds])),
        "stalled_ns_per_launch": rounded(median([stalled for _, stalled in rounds])),
        "stalled_over_drained": rounded(median([s / d for d, s in rounds])),
        "lowest_ratio": rounded(min(s / d for d, s in rounds)),
        "highest_ratio": rounded(max(s / d for d, s in rounds)),
        "lost_share": rounded(lost / arguments.launches / arguments.rounds),
    }
