"""Traces of tables that were recorded on real GPUs, in folders of tests/data."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from support.trace import write_trace

DATA = Path(__file__).resolve().parents[1] / "data"


def recorded_trace(folder: Path, name: str, *, without: tuple[str, ...] = ()) -> Path:
    """A trace with the tables of tests/data/NAME, but for those that are named."""
    write_trace(folder)
    for part in (DATA / name).glob("*.parquet"):
        if part.stem not in without:
            shutil.copy(part, folder / part.stem / "part-recorded.parquet")
    return folder


def recorded_rows(name: str, table: str) -> list[dict[str, Any]]:
    """The rows of a table of it, as Python sees them."""
    rows: list[dict[str, Any]] = pq.read_table(DATA / name / f"{table}.parquet").to_pylist()
    return rows
