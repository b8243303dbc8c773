"""Time and memory of the join of PM samples to kernels, by sort of work and by run.

Kernels of 200 sorts on four streams of each of eight GPUs, and samples 20 us apart with
metrics of whole per cent, in Parquet parts in the order of their time.  Each of the two joins
runs in a process of its own, whose largest memory is taken.  The lag is that of the first 30,000
samples of each GPU, and part of the time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.common import rounded
from cupti_etl.schema.arrow import TABLES

DEVICES = 8
PART_ROWS = 5_000_000
BASE = 1_763_668_800_000_000_000
INTERVAL_NS = 20_000
ASKS = {"_activity_metric": "sorts", "_activity_sampled": "runs"}
PROGRAM = """
import json, resource, sys, time
import cupti_etl
with cupti_etl.open(sys.argv[1]) as trace:
    started = time.perf_counter()
    rows = trace.query(sys.argv[2]).count()
    seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps({"rows": rows, "s": seconds, "peak_mib": peak}))
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("--samples", type=int, default=6_000_000)
    parser.add_argument("--metrics", type=int, default=12)
    parser.add_argument("--only", default="", help="_activity_metric or _activity_sampled")
    parser.add_argument("--keep", type=Path, help="keep the trace there, or use it again")


def make(folder: Path, kernels: int, samples: int, metrics: int) -> None:
    """Write the trace."""
    span = samples // DEVICES * INTERVAL_NS
    each = span * DEVICES / kernels
    names = [f"metric_{at:02}_pct" for at in range(metrics)]
    uuids = " UNION ALL ".join(f"SELECT {d} AS d, 'GPU-{d}' AS uuid" for d in range(DEVICES))
    values = ", ".join(
        f"((n * {2 * at + 3} + hash(n) % 32) % 100)::DOUBLE AS {name}"
        for at, name in enumerate(names)
    )
    with duckdb.connect() as con:
        con.execute("SET memory_limit = '4GB'")
        _parts(con, folder, "kernel", kernels, lambda first, last: f"""
            SELECT 1::BIGINT AS process_id, (n % {DEVICES})::INTEGER AS device_id,
                   n AS correlation_id, (7 + n // {DEVICES} % 4)::INTEGER AS stream_id,
                   {BASE} + (n // {DEVICES} * {each})::BIGINT AS start_ns,
                   {BASE} + (n // {DEVICES} * {each})::BIGINT
                       + 500 + (hash(n) % {round(2 * each)})::BIGINT AS end_ns,
                   'kernel' || (hash(n + 7) % 200) AS name,
                   64::INTEGER AS grid_x, 1::INTEGER AS grid_y, 1::INTEGER AS grid_z,
                   256::INTEGER AS block_x, 1::INTEGER AS block_y, 1::INTEGER AS block_z
            FROM (SELECT range AS n FROM range({first}, {last}))""")  # fmt: skip
        _parts(con, folder, "pm_sample", samples, lambda first, last: f"""
            SELECT uuid AS device_uuid, {BASE} + n // {DEVICES} * {INTERVAL_NS} AS start_ns,
                   {BASE} + (n // {DEVICES} + 1) * {INTERVAL_NS} AS end_ns, {values}
            FROM (SELECT range AS n FROM range({first}, {last}))
            JOIN ({uuids}) ON d = n % {DEVICES} ORDER BY n""")  # fmt: skip
        one = lambda sql: lambda first, last: sql  # noqa: E731
        _parts(con, folder, "device", 1, one(
            "SELECT 1::BIGINT AS process_id, d::INTEGER AS device_id, uuid AS device_uuid"
            f" FROM ({uuids})"
        ))  # fmt: skip
        _parts(con, folder, "process", 1, one("SELECT 1::BIGINT AS process_id, 'node' AS host"))
        _parts(con, folder, "pm_metric", 1, one(
            "SELECT unnest([" + ", ".join(f"'{name}'" for name in names) + "]) AS metric,"
            f" uuid AS device_uuid, '%' AS unit, 'mean' AS aggregation FROM ({uuids})"
        ))  # fmt: skip


def _parts(
    con: duckdb.DuckDBPyConnection, folder: Path, table: str, rows: int, select: Any
) -> None:
    assert table in TABLES
    (folder / table).mkdir(parents=True)
    for number, first in enumerate(range(0, rows, PART_ROWS)):
        part = folder / table / f"part-{number:06d}.parquet"
        last = min(first + PART_ROWS, rows)
        con.execute(f"COPY ({select(first, last)}) TO '{part}' (FORMAT parquet, CODEC zstd)")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    figures: dict[str, Any] = {
        name: getattr(arguments, name) for name in ("kernels", "samples", "metrics")
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch) / "run"
        if not folder.exists():
            make(folder, arguments.kernels, arguments.samples, arguments.metrics)
        for query, name in ASKS.items():
            if arguments.only not in ("", query):
                continue
            command = [sys.executable, "-c", PROGRAM, str(folder), query]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            result = json.loads(done.stdout)
            figures[f"{name}_rows"] = result["rows"]
            figures[f"{name}_s"] = rounded(result["s"])
            figures[f"{name}_peak_mib"] = result["peak_mib"]
    return figures
