"""Bytes a row on disk, of a trace as it was captured."""

from __future__ import annotations

import argparse
import struct
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.common import KERNEL, RECORDING, RUNTIME, kind_of, recorded, rounded
from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.segment import RECORDS, STRINGS, Process
from cupti_etl.imports.run import import_traces
from cupti_etl.native.loader import load
from cupti_etl.storage.destination import Destination
from cupti_etl.storage.parquet import ParquetFolder

PER_SECOND = 100  # launches of the thin capture
# Where times and ids lie in the recording's records (CUPTI 13.0).
TIMES = {KERNEL: (16, 24), RUNTIME: (8, 16)}
CORRELATION = {KERNEL: 92, RUNTIME: 32}
GRID = 96


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thin-seconds", type=int, default=3600, help="age of the thin capture")


def _per_row(folder: Path, table: str) -> tuple[float, int]:
    parts = list((folder / table).iterdir())
    rows = sum(pq.read_metadata(part).num_rows for part in parts)
    return rounded(sum(part.stat().st_size for part in parts) / rows), rows


def _figures(folder: Path, prefix: str) -> dict[str, Any]:
    kernel, kernels = _per_row(folder, "kernel")
    call, calls = _per_row(folder, "api_call")
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        f"{prefix}kernel_bytes_per_row": kernel,
        f"{prefix}api_call_bytes_per_row": call,
        f"{prefix}kernel_rows": kernels,
        f"{prefix}api_call_rows": calls,
        f"{prefix}folder_bytes": disk,
    }


def _second(number: int, kinds: dict[int, list[bytes]]) -> bytes:
    """The records of one second: each launch, and its call."""
    payload = bytearray()
    for at in range(number * PER_SECOND, (number + 1) * PER_SECOND):
        for kind, records in kinds.items():
            record = bytearray(records[at % len(records)])
            first, last = (struct.unpack_from("<q", record, offset)[0] for offset in TIMES[kind])
            start = 1763668800_000000000 + at * 1_000_000_000 // PER_SECOND
            start += first % 100_000 + (5_000 if kind == KERNEL else 0)
            for offset, value in zip(TIMES[kind], (start, start + last - first), strict=True):
                struct.pack_into("<q", record, offset, value)
            struct.pack_into("<I", record, CORRELATION[kind], at + 1)
            if kind == KERNEL:
                struct.pack_into("<Q", record, GRID, at + 1)
            payload += record
    return bytes(payload)


def thin(folder: Path, seconds: int) -> None:
    """A capture of few launches a second, rolled as often as a capture does."""
    description, strings, records = recorded()
    kinds = {
        kind: [record for record in records if kind_of(record) == kind]
        for kind in (KERNEL, RUNTIME)
    }
    ffi, _ = load()
    decoder = Decoder()
    process = Process.loaded(decoder, description)
    for payload in strings:
        process.decode(ffi.from_buffer("uint8_t[]", payload), len(payload), STRINGS)
    target = ParquetFolder(folder)
    interval_s, last_roll = Destination(folder).interval_s, 0
    for number in range(seconds):
        payload = _second(number, kinds)
        process.decode(ffi.from_buffer("uint8_t[]", payload), len(payload), RECORDS)
        now = number + 1
        if now - last_roll >= interval_s(now) or now == seconds:
            last_roll = now
            for index, table in enumerate(decoder.tables):
                if decoder.rows(index):
                    target.write(table, decoder.take(index))
            target.roll()
    target.finish()
    target.close()


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        import_traces([RECORDING], Path(scratch) / "demo", 1)
        thin(Path(scratch) / "thin", arguments.thin_seconds)
        return {
            **_figures(Path(scratch) / "demo", ""),
            **_figures(Path(scratch) / "thin", "thin_"),
            "thin_seconds": arguments.thin_seconds,
        }
