"""Finishing a trace whose collector was killed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.errors import TraceError
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.types import timestamp
from cupti_etl.sinks.parquet import compact, lock, write_part

_DETAIL = "the collector was killed: what it had not written, and all that came later, is lost"


def recover(out: Path) -> int:
    """Finish what a killed collector left: whole tables, end times, losses.

    Rows that had been written are kept; those that the collector still held died with it.

    Returns:
        How many processes were being traced when the collector died; -1 if the trace was
        finished already.

    Raises:
        TraceError: the folder is not a trace, or nothing was written to it.
        UsageError: a capture is still writing it.
    """
    if not (out / "capture").is_dir():
        raise TraceError(f"{out} is not a trace", "give the folder that capture -o made")
    held = lock(out)
    try:
        _sweep(out)
        captures = _rows(out, "capture")
        # The row about the capture comes before all others.
        if not captures:
            raise TraceError(
                f"{out} holds nothing: its collector was killed before it wrote anything",
                "remove it, and capture again",
            )
        if all(row["end_ns"] is not None for row in captures):
            return -1
        last_ns = max(path.stat().st_mtime_ns for path in out.glob("*/part-*.parquet"))
        processes, losses = _rows(out, "process"), _rows(out, "loss")
        live = [row for row in processes if row["end_ns"] is None]
        loss = {
            "cause": "collector_killed",
            "is_stored": False,
            "start_ns": _latest_ns(out) or last_ns,
            "detail": _DETAIL,
        }
        losses += [{"process_id": row["process_id"], **loss} for row in live] or [loss]
        for row in live:
            row |= {"state": "lost", "end_ns": last_ns, "detail": _DETAIL}
        for row in captures:
            row["end_ns"] = row["end_ns"] or last_ns
        for table, rows in (("capture", captures), ("process", processes), ("loss", losses)):
            part = out / table / "part-000000.parquet"
            write_part(part, table, pa.Table.from_pylist(rows, arrow_schema(table)))
        for table in TABLES:
            if (out / table).is_dir():
                compact(out, table)
    finally:
        os.close(held)
    return len(live)


def _sweep(out: Path) -> None:
    """Remove half-written parts, and put back a table that was being exchanged."""
    for half in out.glob("*/*.tmp"):
        half.unlink()
    for aside in out.glob(".*.aside"):
        home = out / aside.name.removeprefix(".").removesuffix(".aside")
        if home.exists():
            shutil.rmtree(aside)
        else:
            aside.rename(home)
    for fresh in out.glob(".*.compacting"):
        shutil.rmtree(fresh)


def _rows(out: Path, table: str) -> list[dict[str, Any]]:
    parts = sorted((out / table).glob("part-*.parquet"))
    return [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]


def _latest_ns(out: Path) -> int:
    """The latest time in any table of records, from the parts' statistics; 0 without any."""
    latest = 0
    for kind in KINDS:
        times = {column.name for column in kind.columns if column.type is timestamp}
        for part in (out / kind.table).glob("part-*.parquet"):
            metadata = pq.read_metadata(part)
            for group in range(metadata.num_row_groups):
                for index in range(metadata.num_columns):
                    column = metadata.row_group(group).column(index)
                    if (
                        column.path_in_schema in times
                        and column.statistics is not None
                        and column.statistics.has_min_max
                    ):
                        latest = max(latest, column.statistics.max)
    return latest
