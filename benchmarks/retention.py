"""A long run of which the newest is kept: its disk, its memory, and whether it can be opened."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import cupti_etl
from benchmarks.common import peak_mib, rounded
from cupti_etl.commands._capture_values import check_retain
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage import disk, manifest
from cupti_etl.storage.parquet import ParquetFolder
from cupti_etl.storage.retention import Retention

MINUTE_NS = 60 * 10**9
NAMES = 200  # different kernels
MADE = 8  # minutes with noise of their own
TABLES = ("kernel", "api_call", "clock", "capture", "process", "loss", "row_count", "discarded")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hours", type=int, default=168, help="of the simulated run")
    parser.add_argument("--kernels", type=int, default=1_000_000, help="an hour")
    parser.add_argument("--retain", action="append", help="as of capture (default: 24h)")


def _anonymous_mib() -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.partition("RssAnon:")[2].split()[0]) / 1024


def _minute(kernels: int, draw: random.Random) -> dict[str, pa.RecordBatch]:
    """Kernels of one minute and the calls that launch them, with the noise of real ones."""
    every = MINUTE_NS // kernels
    offsets = pa.array([n * every + draw.randrange(every) for n in range(kernels)])
    lengths = pa.array([int(draw.lognormvariate(9, 1)) for _ in range(kernels)])
    ids = pa.array(range(kernels), pa.int64())
    names = pa.array([f"kernel_{draw.randrange(NAMES)}" for _ in range(kernels)])
    names = names.dictionary_encode()
    ones = pa.array([1] * kernels, pa.int64())
    columns = {"process_id": ones, "correlation_id": ids, "start_ns": offsets}
    columns |= {"end_ns": pc.add(offsets, lengths), "name": names}
    return {table: _rows(table, columns) for table in ("kernel", "api_call")}


def _rows(table: str, columns: dict[str, Any]) -> pa.RecordBatch:
    count = len(columns["start_ns"])
    schema = arrow_schema(table)
    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _at(batch: pa.RecordBatch, minute: int) -> pa.RecordBatch:
    """The same at another time, with other ids."""
    shifts = {"start_ns": minute * MINUTE_NS, "end_ns": minute * MINUTE_NS}
    shifts["correlation_id"] = minute * batch.num_rows
    arrays = [
        pc.add(column, shifts[name]) if name in shifts else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """A roll for each simulated minute; looked at from outside each simulated hour."""
    retain = check_retain(arguments.retain or ["24h"])
    assert retain is not None
    now = 0
    draw = random.Random(0)
    minutes = [_minute(arguments.kernels // 60, draw) for _ in range(MADE)]
    each_minute = minutes[0]["kernel"].num_rows
    disks: list[int] = []
    memory: list[float] = []
    opened: list[float] = []
    parts: list[int] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "trace"
        retention = Retention(retain, lambda: now)
        target = ParquetFolder(out, TABLES, is_synced=False, retention=retention)
        for minute in range(arguments.hours * 60):
            now = (minute + 1) * MINUTE_NS
            for table, batch in minutes[minute % MADE].items():
                target.write(table, _at(batch, minute))
            clock = [{"realtime_ns": minute * MINUTE_NS + s * 10**9} for s in range(60)]
            target.write("clock", pa.RecordBatch.from_pylist(clock, arrow_schema("clock")))
            target.roll()
            if (minute + 1) % 60 == 0:
                disks.append(disk.folder_bytes(out))
                memory.append(_anonymous_mib())
                parts.append(sum(map(len, (manifest.read(out) or {}).values())))
            if (minute + 1) % (6 * 60) == 0:
                opened.append(_ask(out, (minute + 1) * each_minute))
        wrote_s = time.perf_counter() - began
        target.finish()
        target.close()
    half = len(memory) // 2
    rows = 2 * arguments.hours * 60 * each_minute
    return {
        "simulated_hours": arguments.hours,
        "kernels": arguments.hours * 60 * each_minute,
        "rows_written": rows,
        "seconds": rounded(wrote_s),
        "rows_per_s": rounded(rows / wrote_s),
        "disk_mb_most": rounded(max(disks) / 1e6),
        "disk_mb_last": rounded(disks[-1] / 1e6),
        "disk_mb_by_day": [rounded(each / 1e6) for each in disks[23::24]],
        "memory_mib_by_day": [rounded(each) for each in memory[23::24]],
        "memory_mib_median_first_half": rounded(sorted(memory[:half])[half // 2]) if half else None,
        "memory_mib_median_last_half": rounded(sorted(memory[half:])[len(memory[half:]) // 2]),
        "memory_mib_peak": peak_mib(),
        "parts_most": max(parts),
        "ask_s_most": rounded(max(opened)) if opened else None,
    }


def _ask(out: Path, kernels: int) -> float:
    """Seconds of opening and counting; what is there and what is not make all."""
    began = time.perf_counter()
    with cupti_etl.open(out) as trace:
        there = trace.sql("FROM kernel").count()
        gone = trace.sql("FROM discarded WHERE table_name = 'kernel'").arrow().to_pylist()
    assert there + sum(row["rows"] for row in gone) == kernels, (there, gone, kernels)
    return time.perf_counter() - began
