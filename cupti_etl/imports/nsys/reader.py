"""Exports of Nsight Systems: SQLite and parquetdir, which have the same tables.

NVIDIA changes the schema with nearly every release, so a table or a column that is not
there is taken for empty.  Times count from the start of the session, whose time since the
epoch stands in ``TARGET_INFO_SESSION_START_TIME``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from cupti_etl.errors import ForeignError
from cupti_etl.imports.nsys import metadata as nsys_own
from cupti_etl.imports.nsys.frame import Frame, as_text
from cupti_etl.imports.nsys.rows import HANDLERS
from cupti_etl.imports.prefetch import prefetch
from cupti_etl.imports.source import Process, Source, note
from cupti_etl.schema.kinds import GPU_WORK
from cupti_etl.schema.loss import Loss

# The schemas whose descriptions have been read; a minor step may rename columns.
OLDEST, NEWEST = (3, 0), (3, 25)
# Without these, rows of a table say little.
_NEEDED = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end", "deviceId", "streamId", "gridX"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "globalTid", "nameId"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start", "end", "bytes", "copyKind"),
    "CUPTI_ACTIVITY_KIND_MEMSET": ("start", "end", "bytes"),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": ("start", "end", "syncType"),
    "NVTX_EVENTS": ("start", "end", "eventType", "globalTid"),
}
# They say what a session was, hold texts and forms for others or what the program printed, or are
# read by nsys_own.
_ABOUT = re.compile(
    r"ENUM_|META_DATA_|ANALYSIS_|StringIds$|PROCESSES$|ThreadNames$|EXPORT_|sqlite_"
    r"|ProcessStreams$|SystemInfo$|UnwindMethodType$|NVTX_PAYLOAD_SCHEMA"
    rf"|DIAGNOSTIC_EVENT$|({'|'.join(nsys_own.READ)})$"
)


class Tables(Protocol):
    """Where the tables are; see ``SqliteTables``."""

    path: Path
    kind: str
    # Values that are no numbers where such should be, by TABLE.COLUMN, once a table has been read.
    unfit: dict[str, int]

    def names(self) -> list[str]:
        """All tables."""

    def columns(self, table: str) -> list[str]:
        """The columns of a table."""

    def count(self, table: str) -> int:
        """Rows of a table."""

    def filled(self, table: str, column: str) -> int:
        """Rows of a table in which a column is not NULL."""

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A small table."""

    def batches(self, table: str, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Columns of a table."""


class Nsys(Source):
    """One export.

    Raises:
        ForeignError: it is no export of nsys, or of a schema that is too new.
    """

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables.path)
        self._tables = tables
        version = self._version()
        self.kind = f"nsys {version} {tables.kind}"
        self._frame: Frame | None = None

    def _version(self) -> str:
        names = self._tables.names()
        if any(name.startswith("rocpd_") for name in names):
            raise ForeignError(
                f"{self.path} is a database of ROCm's profilers (rocpd, RPD), which is not read",
                "profile PyTorch with torch.profiler, and import the JSON that it exports",
            )
        if not any(name in HANDLERS for name in names) and "StringIds" not in names:
            raise ForeignError(
                f"{self.path} is no export of nsys: it has none of its tables",
                "nsys export --type sqlite makes one of a report",
            )
        # Tables of both have names in common, but few columns.
        if "StringTable" in names and "StringIds" not in names:
            raise ForeignError(
                f"{self.path} is a profile of nvprof, which is not read",
                "record with nsys profile --trace cuda,nvtx",
            )
        # Called EXPORT_META_DATA by early versions.
        meta = self._tables.rows("META_DATA_EXPORT") or self._tables.rows("EXPORT_META_DATA")
        facts = {as_text(row.get("name")): row.get("value") for row in meta}
        version = str(facts.get("EXPORT_SCHEMA_VERSION") or "of unknown schema")
        numbers = re.match(r"(\d{1,9})\.(\d{1,9})", version)
        if numbers and int(numbers[1]) > NEWEST[0]:
            raise ForeignError(
                f"{self.path} has schema {version} of nsys; {NEWEST[0]}.{NEWEST[1]} is the newest"
                " that this version knows",
                "update cupti-etl, or export the report with an older nsys",
            )
        found = (int(numbers[1]), int(numbers[2])) if numbers else None
        if found is None or not OLDEST <= found <= NEWEST:
            known = "{}.{} to {}.{}".format(*OLDEST, *NEWEST)
            detail = f"schemas {known} of nsys are known: what others call otherwise is not read"
            what = f"what only schema {version} has" if found else "what only an unknown schema has"
            self.skipped.unsupported(what, None, detail)
        self._check_columns(version, is_newer=found is not None and found > NEWEST)
        return version

    def _check_columns(self, version: str, is_newer: bool) -> None:
        """Columns that matter: a newer schema without one has another name for it."""
        for table, needed in _NEEDED.items():
            columns = {name.lower() for name in self._tables.columns(table)}
            missing = [name for name in needed if columns and name.lower() not in columns]
            if missing and is_newer:
                raise ForeignError(
                    f"{self.path} has schema {version} of nsys, in which {table} has no"
                    f" {', '.join(missing)}",
                    "update cupti-etl, or export the report with an older nsys",
                )
            for name in missing:
                rows = self._tables.count(table)
                self.skipped.invalid(f"{table}.{name}", rows, "the file has no such column")

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows, table by table."""
        frame = self._frame = nsys_own.read_frame(self._tables, self.skipped)
        known = 0
        for name, raw in prefetch(self._raw()):
            known += raw.num_rows
            for table, batch in HANDLERS[name].read(raw, frame):
                if batch.num_rows:
                    note(frame.processes.by_id, table, batch)
                    if table in GPU_WORK:
                        frame.note_devices(batch)
                    yield table, batch
        for table, batch in nsys_own.lasting(self._tables, frame):
            if batch.num_rows:
                note(frame.processes.by_id, table, batch)
                yield table, batch
        for column, number in self._tables.unfit.items():
            self.skipped.invalid(column, number, "values that are no numbers, or too large")
        self.skipped.unsupported(
            "NVTX_EVENTS.binaryData",
            self._tables.filled("NVTX_EVENTS", "binaryData"),
            "payloads whose form is not documented (NCCL's sizes, for one)",
        )
        if not known:
            raise ForeignError(
                f"{self.path} holds no CUDA activity and no NVTX ranges",
                "record with nsys profile --trace cuda,nvtx",
            )

    def _raw(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """All tables that we know, as they are; the others are counted."""
        for name in self._tables.names():
            handler = HANDLERS.get(name)
            there = {column.lower() for column in self._tables.columns(name)}
            # Rows of which nothing is known are no rows of ours.
            if handler is not None and any(c.lower() in there for c in handler.columns):
                for batch in self._tables.batches(name, handler.columns):
                    yield name, batch
            elif not _ABOUT.match(name):
                detail = (
                    "none of its columns is known" if handler else "no table has a place for it"
                )
                self.skipped.unsupported(name, self._tables.count(name), detail)

    def process_rows(self) -> list[dict[str, Any]]:
        """The processes that have rows."""
        assert self._frame is not None
        seen: list[Process] = [p for p in self._frame.processes.by_id.values() if p.stored]
        return [process.row() for process in seen]

    def losses(self) -> list[Loss]:
        """Rows without a time; what nsys itself says of losses; work that was not recorded."""
        assert self._frame is not None
        untimed = [loss for p in self._frame.processes.by_id.values() for loss in p.losses()]
        told = nsys_own.diagnosed(self._tables)
        return untimed + told + nsys_own.unrecorded(self._tables, self._frame)
