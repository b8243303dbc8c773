"""Time of the summaries on many kernels, from Parquet and from one .duckdb file.

Two processes share two GPUs; four streams overlap; parts are written the way a capture
writes them.  The figures are of a warm file cache, the trace being open.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import cupti_etl
from benchmarks.common import kernel_names, median, percentile, rounded, timed
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.storage.part import write_part

QUERIES = ("kernel_summary", "gpu_busy", "capture_health")
PART_ROWS = 2_000_000
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


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--keep", type=Path, help="keep the trace there, or use it again")


def kernels(
    con: duckdb.DuckDBPyConnection, first: int, rows: int, others: Mapping[str, str] | None = None
) -> pa.Table:
    """Rows of kernels.

    Args:
        con: makes them.
        first: the number of the first.
        rows: how many.
        others: columns that have other values.
    """
    values = VALUES | dict(others or {})
    columns = ", ".join(
        f"CAST({values.get(column.name, 'NULL')} AS {column.type.sql}) AS {column.name}"
        for column in TABLES["kernel"].columns
    )
    return (
        con.sql(
            f"SELECT {columns} FROM (SELECT range AS i, 1763668800000000000 + range * 1000"
            f" + (random() * 2000)::BIGINT AS start_ns FROM range({first}, {first + rows}))"
            " ORDER BY start_ns"
        )
        .to_arrow_table()
        .cast(arrow_schema("kernel"))
    )


def make(folder: Path, rows: int) -> None:
    """Write the trace."""
    processes = (4611686018427387, 2 * 4611686018427387)
    small = {
        "device": [
            {"process_id": process, "device_id": at, "device_uuid": f"GPU-{at}" + "0" * 31}
            for process in processes
            for at in (0, 1)
        ],
        "process": [{"process_id": process, "host": "node", "pid": 1} for process in processes],
        "kernel_name": kernel_names(NAMES),
    }
    for name in TABLES:
        (folder / name).mkdir(parents=True)
        part = folder / name / "part-000000.parquet"
        write_part(part, name, pa.Table.from_pylist(small.get(name, []), arrow_schema(name)))
    with duckdb.connect() as con:
        con.sql("SELECT setseed(0.5)").fetchall()
        for number, first in enumerate(range(0, rows, PART_ROWS)):
            part = folder / "kernel" / f"part-{number:06d}.parquet"
            write_part(part, "kernel", kernels(con, first, min(PART_ROWS, rows - first)))


def measure(path: Path, rounds: int, form: str) -> dict[str, Any]:
    """Seconds of each query: median, 95th percentile, standard deviation."""
    figures: dict[str, Any] = {}
    with cupti_etl.open(path) as trace:
        for query in QUERIES:
            trace.query(query).arrow()
            seconds = [timed(lambda q=query: trace.query(q).arrow()) for _ in range(rounds)]  # type: ignore[misc]
            name = f"{query}_{form}_s"
            figures[name] = rounded(median(seconds))
            figures[f"{name}_p95"] = rounded(percentile(seconds, 95))
            figures[f"{name}_deviation"] = rounded(statistics.pstdev(seconds))
    return figures


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch) / "run"
        if not folder.exists():
            make(folder, arguments.rows)
        figures = measure(folder, arguments.rounds, "parquet")
        single = Path(scratch) / "run.duckdb"
        with cupti_etl.open(folder) as trace:
            export_duckdb(trace, single)
        figures |= measure(single, arguments.rounds, "duckdb")
        rows = {"rows": arguments.rows, "rounds": arguments.rounds}
        disk = sum(part.stat().st_size for part in (folder / "kernel").iterdir())
        return {
            **rows,
            **figures,
            "gpu_busy_s": figures["gpu_busy_parquet_s"],
            "parquet_bytes_per_row": rounded(disk / arguments.rows),
            "duckdb_bytes_per_row": rounded(single.stat().st_size / arguments.rows),
        }
