"""What a flight recorder holds in memory, what it costs, and how soon a trace is whole."""

from __future__ import annotations

import argparse
import re
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.common import cpu_s, rounded
from benchmarks.generator import Generator


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=60, help="of the program")
    parser.add_argument("--rate", type=float, default=100_000, help="records a second")
    parser.add_argument("--span", type=float, default=20, help="seconds that are kept")
    parser.add_argument("--memory", default="512MiB", help="as --flight-memory")


def _anonymous_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("RssAnon:")[2].split()[0]) / 1024


def _is_whole(trace: Path) -> bool:
    try:
        parts = sorted((trace / "capture").glob("part-*.parquet"))
        return any(
            end is not None for part in parts for end in pq.read_table(part)["end_ns"].to_pylist()
        )
    except OSError:  # exchanged meanwhile
        return False


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """A program of an even pace, and one signal when the ring has been full for a while."""
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        generator = Generator(Path(home))
        out = Path(home) / "run"
        words = ["--flight-recorder", f"{arguments.span}s", "--flight-after", "0"]
        words += ["--flight-memory", arguments.memory]
        command = generator.command(arguments.rate, arguments.seconds)
        process = generator.capture(out, command, words)
        began = time.monotonic()
        cpu_before = cpu = fired = whole_s = since = until = 0.0
        while process.poll() is None:
            age = time.monotonic() - began
            try:
                if age > arguments.span:
                    memory.append(_anonymous_mib(process.pid))
                    cpu = cpu_s(process.pid) if not fired else cpu
                    if len(memory) == 1:
                        cpu_before, since = cpu, age
            except (OSError, IndexError):
                break
            if not fired and age > (arguments.span + arguments.seconds) / 2:
                process.send_signal(signal.SIGUSR2)
                fired, until = time.monotonic(), age
            if fired and not whole_s and _is_whole(out / "001-signal"):
                whole_s = time.monotonic() - fired
            time.sleep(0.2)
        said = process.communicate()[1]
        trace = out / "001-signal"
        rows = sum(
            pq.read_metadata(part).num_rows
            for table in ("kernel", "api_call")
            for part in (trace / table).glob("part-*.parquet")
        )
        disk = sum(path.stat().st_size for path in trace.rglob("*") if path.is_file())
    peak = re.search(r"at most ([\d.]+) MiB", said)
    assert peak is not None, said
    return {
        "records_per_s": arguments.rate,
        "span_s": arguments.span,
        "ring_peak_mib": float(peak[1]),
        "ring_bytes_per_row": rounded(float(peak[1]) * 2**20 / max(rows, 1)),
        "trace_rows": rows,
        "trace_mb": rounded(disk / 1e6),
        "trigger_to_whole_s": rounded(whole_s),
        "collector_memory_mib_first": rounded(memory[0]),
        "collector_memory_mib_most": rounded(max(memory)),
        "collector_cpu_s_per_million": rounded(
            (cpu - cpu_before) / ((until - since) * arguments.rate / 1e6)
        ),
        "said": [line for line in said.splitlines() if "lost" in line or "kept" in line],
    }
