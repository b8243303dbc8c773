"""Time of every query of the library on a synthetic trace of many kernels.

Two processes, which are ranks, share two GPUs; four streams overlap; each kernel has its launch,
steps of 1000 kernels are NVTX ranges, some work is copies and collectives.  Parts are written the
way a capture writes them.  The rows are made anew each time, unless --keep says where they
lie; the figures are of a warm file cache.  "first" is in a trace of which nothing was asked
before; "reopened" is in one just opened of which that was.  "cpu" is the time of all cores
together, which others on the machine disturb least; "peak" is the most memory of a process that
asks nothing else.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

import cupti_etl
from benchmarks.common import median, peak_mib, rounded, timed
from cupti_etl import api
from cupti_etl.queries.catalog import library
from cupti_etl.queries.derived import DERIVED
from cupti_etl.queries.operators import OPERATORS
from cupti_etl.queries.query import Query
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.storage import manifest
from cupti_etl.storage.part import write_part

PART_ROWS = 5_000_000
NAMES = 200
STEP = 1000
# What tables are sorted by: the first of these that they have.
_ORDER = ("start_ns", "timestamp_ns", "correlation_id")
# The place of a row in time; each process has every second pair of rows.
BEGIN = "1763668800000000000 + i * 1000"
PROCESS = "4611686018427387 * (1 + i % 4 // 2)"
# Each process has one of a pair of collectives, on its own GPU; they end together.
COLLECTIVE = "i % 100 IN (0, 3)"
# Columns that are not NULL, by table; i counts kernels, `every` the kernels to a row.
COLUMNS: dict[str, tuple[int, dict[str, str]]] = {
    "kernel": (
        1,
        {
            "process_id": PROCESS,
            "device_id": "i % 2",
            "stream_id": "7 + i // 16 % 4",
            "context_id": "1",
            "start_ns": f"{BEGIN} + (r * 2000)::BIGINT",
            "end_ns": f"CASE WHEN {COLLECTIVE} THEN {BEGIN} - i % 100 * 1000 + 9000"
            f" ELSE {BEGIN} + (r * 2000)::BIGINT + 700 + (r * r * s * 20000)::BIGINT END",
            "name": f"CASE WHEN {COLLECTIVE} THEN 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'"
            f" ELSE '_ZN2at6native10elementwise' || i % {STEP} * 7919 % {NAMES} || 'Ev' END",
            "correlation_id": "i",
            "grid_id": "i",
            "grid_x": f"1 + i % {STEP} % 64",
            "grid_y": "1",
            "grid_z": "1",
            "block_x": "256",
            "block_y": "1",
            "block_z": "1",
            "registers_per_thread": "32",
            "static_shared_bytes": "0",
            "dynamic_shared_bytes": "0",
            "launch_type": "'regular'",
        },
    ),
    "api_call": (
        1,
        {
            "process_id": PROCESS,
            "start_ns": f"{BEGIN} - 9000",
            "end_ns": f"{BEGIN} - 9000 + 300 + (r * 200)::BIGINT",
            "domain": "'runtime'",
            "name": "CASE WHEN i % 20 = 0 THEN 'cudaMemcpyAsync'"
            " WHEN i % 100 = 7 THEN 'cudaStreamSynchronize' ELSE 'cudaLaunchKernel' END",
            "cbid": "211",
            "correlation_id": "i",
            "thread_id": "100 + i % 4 // 2",
            "return_value": "0",
        },
    ),
    "memcpy": (
        20,
        {
            "process_id": PROCESS,
            "device_id": "i % 2",
            "stream_id": "12",
            "context_id": "1",
            "start_ns": f"{BEGIN} + (r * 2000)::BIGINT",
            "end_ns": f"{BEGIN} + (r * 2000)::BIGINT + 900 + (s * 4000)::BIGINT",
            "copy_kind": "CASE WHEN i % 3 = 0 THEN 'DtoH' ELSE 'HtoD' END",
            "src_kind": "CASE WHEN i % 3 = 0 THEN 'device' ELSE 'pinned' END",
            "dst_kind": "CASE WHEN i % 3 = 0 THEN 'pageable' ELSE 'device' END",
            "bytes": "(1 + i % 9) * 20000",
            "is_async": "true",
            "copy_count": "1",
            "correlation_id": "i",
        },
    ),
    "synchronization": (
        100,
        {
            "process_id": PROCESS,
            "start_ns": f"{BEGIN}",
            "end_ns": f"{BEGIN} + (r * 30000)::BIGINT",
            "type": "'stream_synchronize'",
            "context_id": "1",
            "stream_id": "7",
            "correlation_id": "i",
        },
    ),
    "overhead": (
        1000,
        {
            "process_id": PROCESS,
            "start_ns": BEGIN,
            "end_ns": f"{BEGIN} + 2000",
            "overhead_kind": "'cupti_buffer_flush'",
            "thread_id": "100",
        },
    ),
    "memory": (
        100,
        {
            "process_id": PROCESS,
            "timestamp_ns": BEGIN,
            "operation": "CASE WHEN i // 100 % 2 = 0 THEN 'allocation' ELSE 'release' END",
            "memory_kind": "'device'",
            "address": "i // 200 % 4096 * 65536",
            "bytes": "4096 * (1 + i % 7)",
            "device_id": "0",
            "correlation_id": "i",
            "context_id": "1",
        },
    ),
}
SMALL = {
    "device": """
        SELECT 4611686018427387 * p AS process_id, d::INTEGER AS device_id,
               'GPU-' || d || repeat('0', 31) AS device_uuid, 'NVIDIA H200' AS name,
               9 AS compute_capability_major, 0 AS compute_capability_minor,
               132 AS multiprocessors, 4917248000 AS global_memory_bandwidth_kbps,
               64 AS max_warps_per_multiprocessor, 32 AS max_blocks_per_multiprocessor,
               65536 AS max_registers_per_multiprocessor, 32 AS threads_per_warp,
               233472 AS max_shared_per_multiprocessor_bytes
        FROM range(1, 3) AS a(p), range(2) AS b(d)""",
    "process": """
        SELECT 4611686018427387 * p AS process_id, 'node' AS host, p::INTEGER AS pid,
               (p - 1)::INTEGER AS rank, 'finished' AS state
        FROM range(1, 3) AS a(p)""",
    "capture": "SELECT 1::BIGINT AS capture_id, 0::BIGINT AS start_ns, 1::BIGINT AS end_ns",
    "kernel_name": f"""
        SELECT '_ZN2at6native10elementwise' || n || 'Ev' AS mangled,
               'void at::native::elementwise' || n || '<float, int>(float*, int const*)'
                   AS demangled, 'elementwise' || n AS short
        FROM range({NAMES}) AS a(n)""",
}


def make(
    folder: Path,
    rows: int,
    columns: Mapping[str, tuple[int, dict[str, str]]] = COLUMNS,
    small: Mapping[str, str] = SMALL,
) -> None:
    """Write the trace: tables by their columns, and small ones by their SELECTs."""
    for table in TABLES:
        (folder / table).mkdir(parents=True)
    with duckdb.connect() as con:
        named: manifest.Named = {}
        con.sql("SELECT setseed(0.5)").fetchall()
        for table in TABLES:
            if table in columns:
                every, values = columns[table]
                chunks = [
                    f"SELECT range * {every} + {every // 2} AS i, random() AS r, random() AS s"
                    f" FROM range({at}, {min(at + PART_ROWS, rows // every)})"
                    for at in range(0, max(rows // every, 1), PART_ROWS)
                ]
                selects = [select(table, values, chunk) for chunk in chunks]
            elif table in small:
                selects = [small[table]]
            else:
                selects = [_markers(rows) if table == "marker" else "SELECT 1 WHERE false"]
            named[table] = {}
            for number, text in enumerate(selects):
                part = folder / table / f"part-{number:06d}.parquet"
                named[table][part.name] = write(con, part, table, text)
    (folder / manifest.NAME).write_bytes(manifest.as_json(named))


def select(table: str, values: dict[str, str], chunk: str) -> str:
    columns = ", ".join(f"{value} AS {name}" for name, value in values.items())
    order = next(name for name in values if name in _ORDER)
    return f"SELECT {columns} FROM ({chunk}) ORDER BY {order}"


def _markers(rows: int) -> str:
    """A range around the launches of each step, in each process."""
    return f"""
        SELECT 4611686018427387 * p AS process_id, (100 + p - 1)::INTEGER AS thread_id,
               (2 * step + e)::INTEGER // 2 AS marker_id, 'thread' AS object_kind,
               1763668800000000000 + step * {STEP} * 1000 - 9000 + e * ({STEP} * 1000 - 600)
                   AS timestamp_ns,
               CASE e WHEN 0 THEN 'start' ELSE 'end' END AS event,
               CASE e WHEN 0 THEN 'step ' || step END AS name
        FROM range(1, 3) AS a(p), range({rows // STEP}) AS b(step), range(2) AS c(e)
        ORDER BY timestamp_ns"""


def write(con: duckdb.DuckDBPyConnection, part: Path, table: str, text: str) -> manifest.Entry:
    """One part, with every column of the table."""
    import pyarrow as pa

    given = con.sql(text).to_arrow_table()
    schema = arrow_schema(table)
    columns = [
        given[field.name]
        .cast(pa.string() if pa.types.is_dictionary(field.type) else field.type)
        .cast(field.type)
        if field.name in given.column_names
        else pa.nulls(given.num_rows, field.type)
        for field in schema
    ]
    return write_part(part, table, pa.Table.from_arrays(columns, schema=schema))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="these queries, comma-separated")
    parser.add_argument("--front", action="store_true", help="the front queries alone")
    parser.add_argument(
        "--operators",
        action="store_true",
        help="those that native operators compute, and by their SQL, too",
    )
    parser.add_argument("--prepared", action="store_true", help="what the one query reads is there")
    parser.add_argument("--sql", action="store_true", help="the same, and it computes by SQL")
    parser.add_argument(
        "--pytorch", action="store_true", help="within operators and functions of Python"
    )
    parser.add_argument("--keep", type=Path, help="keep the trace there, or use it again")


def _prepare(folder: Path, name: str) -> None:
    """Compute what the operator of a query reads."""
    with cupti_etl.open(folder) as trace:
        for need in OPERATORS[name].reads:
            if need in library() and library()[need].materialized:
                trace.query(need).count()


def measure(
    folder: Path, query: Query, arguments: argparse.Namespace
) -> Iterator[tuple[str, float]]:
    """Seconds of the first time, of opening and asking again, and median and size of others."""

    def ask() -> float:
        # A count would leave out what no column is needed for.
        return timed(lambda: deque(trace.query(query.name).reader(), maxlen=0))

    if arguments.prepared or arguments.sql:
        _prepare(folder, query.name)
    if arguments.sql:
        OPERATORS.clear()
        api._operators.cache_clear()
    with cupti_etl.open(folder) as trace:
        began = time.process_time()
        first = ask()
        yield f"{query.name}_first_cpu_s", rounded(time.process_time() - began)
        again = [ask() for _ in range(arguments.rounds)]
        yield f"{query.name}_first_s", rounded(first)
        yield f"{query.name}_s", rounded(median(again))
        yield f"{query.name}_rows", trace.query(query.name).count()
    with cupti_etl.open(folder) as trace:
        yield f"{query.name}_reopened_s", rounded(ask())
    yield f"{query.name}_peak_mib", peak_mib()


def _chosen(arguments: argparse.Namespace) -> list[str]:
    if arguments.only:
        return list(arguments.only.split(","))
    if arguments.operators:
        return sorted(OPERATORS)
    return [query.name for query in library() if query.front or not arguments.front]


def _apart(name: str, folder: Path, rounds: int, *more: str) -> Iterator[tuple[str, Any]]:
    """The figures of a process that measures one query; ``--sql`` stands in their names."""
    words = [sys.executable, "-m", "benchmarks", "queries", "--json", "--only", name]
    words += ["--keep", str(folder), "--rounds", str(rounds), *more]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    way = "_sql" if "--sql" in more else ""
    for key, value in json.loads(done.stdout)["figures"].items():
        if key.startswith(f"{name}_"):
            yield f"{name}{way}{key.removeprefix(name)}", value


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    wanted = _chosen(arguments)
    figures: dict[str, Any] = {"rows": arguments.rows, "rounds": arguments.rounds}
    small: Mapping[str, str] = SMALL
    if arguments.pytorch:
        from benchmarks import pytorch_trace

        small = pytorch_trace.small(arguments.rows)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch) / "run"
        if not folder.exists():
            make(folder, arguments.rows, small=small)
        if arguments.only and len(wanted) == 1:
            # Nothing is computed before.
            shutil.rmtree(folder / DERIVED, ignore_errors=True)
            return figures | dict(measure(folder, library()[wanted[0]], arguments))
        for name in wanted:
            ways = (["--prepared"], ["--sql"]) if arguments.operators else ([],)
            for way in ways:
                figures |= _apart(name, folder, arguments.rounds, *way)
    return figures
