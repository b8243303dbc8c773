"""The trace folder: one sub-folder of Parquet parts a table.

A part is written under a temporary name and renamed when it is complete, so a reader
of a growing folder sees whole parts only.  Parts start small, so that rows are soon
readable, and grow with the age of the capture; at the end small ones are compacted.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.errors import UsageError
from cupti_etl.schema.arrow import TABLES, arrow_schema, stored_schema
from cupti_etl.schema.types import correlation, timestamp
from cupti_etl.sinks.exchange import exchange
from cupti_etl.sinks.folder import create

# Rows of a part that stays as it is; smaller ones are merged in the end.
_PART_ROWS = 1 << 16
# Rows of what is merged into one part, at most: they are sorted in memory.
_MERGED_ROWS = _PART_ROWS * 5 // 4
# A part is finished when it has so many times more.
_FULL_PARTS = 32
# Rows that are compressed together, at least: what comes in smaller pieces is gathered.
_GROUP_ROWS = 1 << 16
_FIRST_ROLL_S = 1.0
_LAST_ROLL_S = 60.0
_TEXT = (pa.string(), pa.dictionary(pa.int32(), pa.string()))


class _Part:
    """A part that is being written: complete under its name after ``close``, or not there."""

    def __init__(self, path: Path, table: str, schema: pa.Schema) -> None:
        self._path = path
        self._temporary = path.with_suffix(".tmp")
        self._open = ExitStack()
        writer = part_writer(self._temporary, table, schema)
        self._writer: pq.ParquetWriter = self._attempt(lambda: self._open.enter_context(writer))
        self.rows = 0

    def write(self, rows: pa.Table) -> None:
        """Compress and write rows, as one row group if they are not very many."""
        self._attempt(lambda: self._writer.write_table(rows, row_group_size=1 << 20))
        self.rows += len(rows)

    def close(self) -> None:
        """Finish the part and give it its name."""
        self._attempt(self._open.close)
        self._temporary.rename(self._path)

    def _attempt(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except BaseException:
            with suppress(Exception):  # the same again, most likely
                self._open.close()
            self._temporary.unlink(missing_ok=True)  # a full disk is not made fuller
            raise


def write_part(path: Path, table: str, rows: pa.Table) -> None:
    """Write one part: complete under its name, or not there at all."""
    part = _Part(path, table, rows.schema)
    part.write(rows)
    part.close()


@contextmanager
def part_writer(
    path: Path, table: str, columns: pa.Schema, schema: pa.Schema | None = None
) -> Iterator[pq.ParquetWriter]:
    """Write a part in pieces.

    The Arrow schema that the file carries is the plain one (text, not dictionaries), with
    each column's documentation, because some engines refuse dictionary types.

    Args:
        path: the file.
        table: whose rows they are.
        columns: the schema of the rows.
        schema: the one that the file carries; that of the table, if it is not given.
    """
    schema = schema or stored_schema(table, columns)
    known = TABLES[table].columns if table in TABLES else ()
    # Columns that mostly grow from row to row: times, ids of calls and of launches.
    delta = [c.name for c in known if c.type in (timestamp, correlation) or c.name == "grid_id"]
    carried = base64.b64encode(schema.serialize().to_pybytes())
    metadata = {**(schema.metadata or {}), b"ARROW:schema": carried}
    metadata[b"cupti_etl.columns"] = json.dumps(
        {field.name: _about(field) for field in schema if field.metadata}
    ).encode()
    with pq.ParquetWriter(
        path,
        columns,
        compression="zstd",
        compression_level=1,
        use_dictionary=[name for name in columns.names if name not in delta],
        column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
        # Of numbers alone: readers skip rows and choose ways to group by them, while to
        # compare all text costs a tenth of the encoding.
        write_statistics=[c.name for c in columns if c.type not in _TEXT],
        store_schema=False,
    ) as writer:
        yield writer
        writer.add_key_value_metadata(metadata)


def _about(field: pa.Field) -> dict[str, str]:
    return {key: field.metadata[key.encode()].decode() for key in ("doc", "unit")}


class _TableWriter:
    """Rows of one table on their way into parts."""

    def __init__(self, folder: Path, table: str) -> None:
        self.table = table
        self.folder = folder / table
        self.folder.mkdir()
        self._batches: list[pa.RecordBatch] = []
        self._gathered = 0  # rows of these
        self._part: _Part | None = None
        self._number = 0
        # Rows that can change until the end are written anew each time, as part 0.
        write_part(self._next_path(), table, arrow_schema(table).empty_table())

    def _next_path(self) -> Path:
        self._number += 1
        return self.folder / f"part-{self._number - 1:06d}.parquet"

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; they are compressed as soon as there are enough of them."""
        self._batches.append(batch)
        self._gathered += batch.num_rows
        if self._gathered >= _GROUP_ROWS:
            self._flush()
        if self._part is not None and self._part.rows >= _FULL_PARTS * _PART_ROWS:
            self.roll()

    def _take(self) -> pa.Table:
        batches, self._batches, self._gathered = self._batches, [], 0
        return pa.Table.from_batches(batches).unify_dictionaries()

    def _flush(self) -> None:
        if not self._batches:
            return
        rows = self._take()
        if self._part is None:
            self._part = _Part(self._next_path(), self.table, rows.schema)
        self._part.write(rows)

    def roll(self) -> None:
        """Finish the part with what was taken so far."""
        self._flush()
        if self._part is not None:
            part, self._part = self._part, None
            part.close()

    def finish(self) -> None:
        """Write what was gathered; if nothing was written before, in its final form."""
        if self._number > 1 or not self._batches:
            self.roll()
            return
        rows = self._take()
        self.replace(in_order(self.table, rows))

    def replace(self, rows: pa.Table) -> None:
        """Replace the table's only part."""
        write_part(self.folder / "part-000000.parquet", self.table, rows)


class ParquetSink:
    """Writes a trace folder.

    Args:
        out: the folder.
        tables: those that get a part without rows at once, so that they can be asked
            about from the start; others appear with their first rows.
        is_made: the folder is there, made by ``create`` a moment ago.

    Raises:
        UsageError: the folder exists already or cannot be created.
    """

    def __init__(self, out: Path, tables: Iterable[str] = TABLES, *, is_made: bool = False) -> None:
        if not is_made:
            create(out)
        self.out = out
        self._lock = lock(out)
        self._tables = {table: _TableWriter(out, table) for table in tables}
        self._start = self._last_roll = time.monotonic()

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take a batch; it becomes readable with the table's next part."""
        if table not in self._tables:
            self._tables[table] = _TableWriter(self.out, table)
        self._tables[table].add(batch)

    def replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Replace a small table by its rows as they are now."""
        self._tables[table].replace(pa.Table.from_pylist(rows, arrow_schema(table)))

    def roll_is_due(self) -> bool:
        """Whether the parts' interval is over: from 1 s, a tenth of the capture's age."""
        now = time.monotonic()
        interval = min(max((now - self._start) / 10, _FIRST_ROLL_S), _LAST_ROLL_S)
        return now - self._last_roll >= interval

    def roll(self) -> None:
        """Make everything that was written readable."""
        for writer in self._tables.values():
            writer.roll()
        self._last_roll = time.monotonic()

    def close(self) -> None:
        """Write the last parts and compact the small ones."""
        for table, writer in self._tables.items():
            pa.default_memory_pool().release_unused()  # before it needs more of another size
            writer.finish()
            compact(self.out, table)
        os.close(self._lock)


def lock(out: Path) -> int:
    """Take the folder for writing; the lock ends with the descriptor, or its process.

    Raises:
        UsageError: another process has it.
    """
    descriptor = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(
            f"{out} is being written by another process", "wait until that capture has ended"
        ) from None
    except OSError:  # a file system without locks
        return descriptor
    return descriptor


def in_order(table: str, rows: pa.Table) -> pa.Table:
    """The rows as a finished part has them: by time, where the table has one."""
    sort = [(key, "ascending") for key in TABLES[table].sort]
    return rows.sort_by(sort) if sort and len(rows) > 1 else rows


def _groups(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Parts that are large enough each by itself; small ones with as many others."""
    group: list[Path] = []
    rows = 0
    for path in paths:
        count = pq.read_metadata(path).num_rows
        if count >= _PART_ROWS:
            yield [path]
            continue
        if group and rows + count > _MERGED_ROWS:
            yield group
            group, rows = [], 0
        group.append(path)
        rows += count
    if group:
        yield group


def compact(out: Path, table: str) -> None:
    """Merge the small parts of a table into few, each sorted by time.

    The new parts are made in a folder beside the table's, and the two are exchanged in
    one step: a reader sees the old parts or the new ones, never both.
    """
    folder = out / table
    parts = sorted(folder.glob("part-*.parquet"))
    if len(parts) < 2:
        return
    fresh = out / f".{table}.compacting"
    fresh.mkdir()
    try:
        _merge(parts, fresh, table)
        exchange(fresh, folder)
    finally:
        shutil.rmtree(fresh)


def _merge(parts: list[Path], fresh: Path, table: str) -> None:
    text = [c.name for c in TABLES[table].columns if c.type.arrow == "string"]
    for number, group in enumerate(_groups(parts)):
        target = fresh / f"part-{number:06d}.parquet"
        if len(group) == 1 and pq.read_metadata(group[0]).num_rows >= _PART_ROWS:
            try:
                os.link(group[0], target)
            except OSError:  # a file system without hard links
                shutil.copyfile(group[0], target)
            continue
        # Plain readers, file by file: a dataset would split columns among threads and
        # hold all files at once.
        # The first part of a table has no rows, and none of the columns that a capture adds.
        rows = pa.concat_tables(
            (pq.ParquetFile(path, read_dictionary=text).read() for path in group),
            promote_options="default" if TABLES[table].more else "none",
        ).unify_dictionaries()
        write_part(target, table, in_order(table, rows))
