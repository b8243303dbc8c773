"""How long the summaries take on many synthetic kernels.

    python benchmarks/queries.py [--rows 10000000] [--rounds 5] [--keep FOLDER]

Two processes share two GPUs; four streams overlap; parts are written the way a capture
writes them.  The rows are made anew each time, the figures are of a warm file cache.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa

import cupti_etl
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.sinks.parquet import write_part

QUERIES = ("kernel_summary", "gpu_busy", "capture_health")
PART_ROWS = 5_000_000
NAMES = 200
# Columns of `kernel` that are not NULL; i counts the rows.
VALUES = {
    "process_id": "4611686018427387 * (1 + i % 4 // 2)",
    "device_id": "i % 2",
    "stream_id": "7 + (random() * 4)::INTEGER",
    "context_id": "1",
    "start_ns": "start_ns",
    "end_ns": "start_ns + 700 + (random() * random() * random() * 20000)::BIGINT",
    "name": f"'_ZN2at6native10elementwise' || (random() * random() * {NAMES - 1})::INTEGER || 'Ev'",
    "correlation_id": "i",
    "grid_id": "i",
    "grid_x": "(random() * 64)::INTEGER",
    "block_x": "256",
    "launch_type": "'regular'",
}


def make(folder: Path, rows: int) -> None:
    """Write the trace."""
    columns = ", ".join(
        f"CAST({VALUES.get(column.name, 'NULL')} AS {column.type.sql}) AS {column.name}"
        for column in TABLES["kernel"].columns
    )
    with duckdb.connect() as con:
        con.sql("SELECT setseed(0.5)").fetchall()
        table = con.sql(
            f"SELECT {columns} FROM (SELECT range AS i, 1763668800000000000 + range * 1000"
            f" + (random() * 2000)::BIGINT AS start_ns FROM range({rows})) ORDER BY start_ns"
        ).to_arrow_table()
    table = table.cast(arrow_schema("kernel"))
    processes = (4611686018427387, 2 * 4611686018427387)
    small = {
        "device": [
            {"process_id": process, "device_id": at, "device_uuid": f"GPU-{at}" + "0" * 31}
            for process in processes
            for at in (0, 1)
        ],
        "process": [{"process_id": process, "host": "node", "pid": 1} for process in processes],
        "kernel_name": [
            {
                "mangled": f"_ZN2at6native10elementwise{at}Ev",
                "demangled": f"void at::native::elementwise{at}<float, int>(float*, int const*)",
                "short": f"elementwise{at}",
            }
            for at in range(NAMES)
        ],
    }
    for name in TABLES:
        (folder / name).mkdir(parents=True)
        part = folder / name / "part-000000.parquet"
        write_part(part, name, pa.Table.from_pylist(small.get(name, []), arrow_schema(name)))
    for at in range(0, rows, PART_ROWS):
        part = folder / "kernel" / f"part-{at // PART_ROWS:06d}.parquet"
        write_part(part, "kernel", table.slice(at, PART_ROWS))


def measure(folder: Path, rounds: int) -> None:
    """Print the best and the middle of several rounds."""
    started = time.perf_counter()
    with cupti_etl.open(folder) as trace:
        print(f"open            {time.perf_counter() - started:6.2f} s")
        for query in QUERIES:
            seconds = []
            for _ in range(rounds):
                started = time.perf_counter()
                trace.query(query).arrow()
                seconds.append(time.perf_counter() - started)
            middle = sorted(seconds)[rounds // 2]
            print(f"{query:<15} {min(seconds):6.2f} s best, {middle:.2f} s median of {rounds}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="keep the trace in this folder, or use it again")
    options = parser.parse_args()
    print(f"{options.rows:,} kernels, duckdb {duckdb.__version__}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch) / "run"
        if not folder.exists():
            make(folder, options.rows)
        measure(folder, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
