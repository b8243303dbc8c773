"""Traces of captures that go on, a few rows at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cupti_etl.top.reading import Reading
from support.trace import as_table, write_part, write_trace

S = 10**9
RUN = {
    "device": "process_id device_id device_uuid name\n1 0 GPU-a H200\n1 1 GPU-b H200",
    "process": "process_id pid state start_ns\n1 77 tracing 0",
    "kernel_name": "mangled demangled short\n_Za a(int) a\n_Zb b(int) b",
    "capture": "start_ns end_ns command api_level\n0 - 'train it' default",
}


def running(folder: Path, **tables: str) -> Path:
    """A capture that goes on, with these tables beside those of ``RUN``."""
    return write_trace(folder, **{**RUN, **tables})


def end(folder: Path, end_ns: int) -> None:
    """Say that the capture is over."""
    text = f"start_ns end_ns command api_level\n0 {end_ns} 'train it' default"
    write_part(folder / "capture" / "part-000000.parquet", as_table("capture", text))


def kernels(*rows: tuple[int, int, int, str]) -> str:
    """Kernels of GPU, start and end in ms, and name."""
    lines = [f"1 {gpu} {a * 10**6} {b * 10**6} {name}" for gpu, a, b, name in rows]
    return "\n".join(["process_id device_id start_ns end_ns name", *lines])


def by_name(reading: Reading) -> dict[str, Any]:
    """Kernels of a reading by their names."""
    return {row["name"]: row for row in reading.kernels}
