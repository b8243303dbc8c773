"""Cost of a refresh of `cupti-etl top`: seconds of CPU, after many kernels and after few.

The rows are those of the benchmark `queries`.  First all of them are read; then parts come one
after the other, as a capture writes them, and each is read by a refresh.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from benchmarks import queries
from benchmarks.common import median, rounded, timed
from cupti_etl.top.reader import Reader
from cupti_etl.top.tables import as_text


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=10_000_000, help="kernels before")
    parser.add_argument("--new", type=int, default=20_000, help="kernels of a refresh")
    parser.add_argument("--refreshes", type=int, default=30)
    parser.add_argument("--keep", type=Path, help="keep the trace there, or use it again")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch) / "run"
        if not folder.exists():
            queries.make(folder, arguments.rows)
        with duckdb.connect() as con:
            running = "SELECT 1::BIGINT AS capture_id, 1763668800000000000::BIGINT AS start_ns"
            queries.write(con, folder / "capture" / "part-000000.parquet", "capture", running)
            return _figures(con, folder, arguments)


def _figures(
    con: duckdb.DuckDBPyConnection, folder: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    reader = Reader(folder)
    began = time.process_time()
    first_s = timed(reader.read)
    figures: dict[str, Any] = {
        "kernels_before": arguments.rows,
        "kernels_a_refresh": arguments.new,
        "first_cpu_s": rounded(time.process_time() - began),
        "first_s": rounded(first_s),
    }
    cpu, wall, drawn, idle = [], [], [], []
    for number in range(arguments.refreshes):
        _grow(con, folder, arguments.rows + number * arguments.new, arguments.new)
        began = time.process_time()
        wall.append(timed(reader.read))
        cpu.append(time.process_time() - began)
        began = time.process_time()
        reading = reader.read()
        idle.append(time.process_time() - began)
        began = time.process_time()
        as_text(reading, folder, 120, "now_total_ns", 40)
        drawn.append(time.process_time() - began)
    assert sum(gpu["kernels"] for gpu in reading.gpus) == _count(con, folder)
    return figures | {
        "refresh_cpu_s": rounded(median(cpu)),
        "refresh_max_cpu_s": rounded(max(cpu)),
        "refresh_s": rounded(median(wall)),
        "nothing_new_cpu_s": rounded(median(idle)),
        "text_cpu_s": rounded(median(drawn)),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _count(con: duckdb.DuckDBPyConnection, folder: Path) -> int:
    (row,) = con.sql(f"SELECT count(*) FROM '{folder}/kernel/part-*.parquet'").fetchall()
    return int(row[0])


def _grow(con: duckdb.DuckDBPyConnection, folder: Path, first: int, rows: int) -> None:
    """One more part of each table with so many kernels and what goes with them."""
    for table, (every, values) in queries.COLUMNS.items():
        select = queries.select(
            table,
            values,
            f"SELECT range * {every} + {every // 2} AS i, random() AS r, random() AS s"
            f" FROM range({first // every}, {(first + rows) // every})",
        )
        home = folder / table
        part = home / f"part-{len(list(home.glob('part-*'))):06d}.parquet"
        unfinished = home / "new.tmp"
        queries.write(con, unfinished, table, select)
        unfinished.rename(part)
