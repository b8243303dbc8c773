"""The trace folder: one sub-folder of Parquet parts a table.

A part gets its name when it is complete, so a reader of a growing folder sees whole parts
only.  Parts start small, so that rows are soon readable, and grow with the age of the capture;
at the end small ones are compacted.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.errors import UsageError
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.storage import Change, disk, schema_file
from cupti_etl.storage.compaction import PART_ROWS, compact, in_order
from cupti_etl.storage.folder import create
from cupti_etl.storage.part import PartFile, write_part
from cupti_etl.storage.parts import Finished, Parts
from cupti_etl.storage.publisher import Publisher
from cupti_etl.storage.retention import Retention

# A part is finished when it has so many times more than one that stays as it is.
_FULL_PARTS = 32
# Rows that are compressed together, at least: what comes in smaller pieces is gathered.
_GROUP_ROWS = 1 << 16
# And bytes, as few rows can hold long texts.
_GROUP_BYTES = 64 << 20
_FIRST_PART = "part-000000.parquet"


class _TableWriter:
    """Rows of one table on their way into parts.

    Args:
        out: the folder of the trace.
        table: which table.
        finished: takes the parts that are written.
    """

    def __init__(self, out: Path, table: str, finished: Callable[[Finished], None]) -> None:
        self.table = table
        self.folder = out / table
        self.folder.mkdir()
        self._finished = finished
        self._batches: list[pa.RecordBatch] = []
        self._gathered = self._gathered_bytes = 0  # rows of these
        self.rows = 0  # of the table
        self._part: PartFile | None = None
        self._number = 0
        self._temporaries = itertools.count()
        # Rows that can change until the end are written anew each time, as part 0.
        self._write(arrow_schema(table).empty_table(), self._next_name())

    def _next_name(self) -> str:
        self._number += 1
        return f"part-{self._number - 1:06d}.parquet"

    def _temporary(self) -> Path:
        return self.folder / f"{next(self._temporaries)}.tmp"

    def _write(self, rows: pa.Table, name: str) -> None:
        path = self._temporary()
        self._finished(Finished(path, self.table, name, write_part(path, self.table, rows)))

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; they are compressed as soon as there are enough of them."""
        self._batches.append(batch)
        self._gathered += batch.num_rows
        self._gathered_bytes += batch.nbytes
        self.rows += batch.num_rows
        if self._gathered >= _GROUP_ROWS or self._gathered_bytes >= _GROUP_BYTES:
            self._flush()
        if self._part is not None and self._part.rows >= _FULL_PARTS * PART_ROWS:
            self.roll()

    def _take(self) -> pa.Table:
        batches, self._batches = self._batches, []
        self._gathered = self._gathered_bytes = 0
        return pa.Table.from_batches(batches).unify_dictionaries()

    def _flush(self) -> None:
        if not self._batches:
            return
        rows = self._take()
        if self._part is None:
            self._part = PartFile(self._temporary(), self.table, rows.schema)
        self._part.write(rows)

    def roll(self) -> None:
        """Finish the part with what was taken so far."""
        self._flush()
        if self._part is not None:
            part, self._part = self._part, None
            entry = part.close()
            self._finished(Finished(part.path, self.table, self._next_name(), entry))

    def finish(self) -> None:
        """Write what was gathered; if nothing was written before, in its final form."""
        if self._part is not None or self._number > 1 or not self._batches:
            self.roll()
            return
        rows = self._take()
        self.replace(in_order(self.table, rows))

    def give_up(self) -> None:
        """Let go of the part that is being written, if there is one."""
        if self._part is not None:
            self._part.give_up()

    def number(self, parts: int) -> None:
        """The table has so many parts now, numbered from 0."""
        self._number = parts

    def replace(self, rows: pa.Table) -> None:
        """Replace the table's only part."""
        self.rows = len(rows)
        self._write(rows, _FIRST_PART)

    def rewrite(self, name: str, change: Change) -> None:
        """Replace a part by what a function makes of it; None leaves it as it is."""
        changed = change(pq.ParquetFile(self.folder / name).read())
        if changed is not None:
            self._write(changed, name)


class ParquetFolder:
    """Writes a trace folder.

    Args:
        out: the folder.
        tables: those that get a part without rows at once, so that they can be asked
            about from the start; others appear with their first rows.
        is_made: the folder is there, made by ``create`` a moment ago.
        is_synced: whether what is written is brought to the disk before it is named.
        retention: what is removed while the trace grows; None for nothing.

    Raises:
        UsageError: the folder exists already or cannot be created.
    """

    def __init__(
        self,
        out: Path,
        tables: Iterable[str] = TABLES,
        *,
        is_made: bool = False,
        is_synced: bool = True,
        retention: Retention | None = None,
    ) -> None:
        if not is_made:
            create(out)
        self.out = out
        self._lock = lock(out)
        self._parts = Parts(out, is_synced=is_synced)
        self._retention = retention
        self._publisher = Publisher(self._parts)
        self._publisher.start()
        self._finished: list[Finished] = []
        self._replaced: dict[str, Finished] = {}
        self._tables: dict[str, _TableWriter] = {}
        # With the columns that are added to them, as ``schema.json`` describes them.
        self._described: dict[str, schema_file.Added] = {}
        self._is_described = True
        for table in tables:
            self._begin(table)
        self._publish()

    def _begin(self, table: str) -> None:
        self._tables[table] = _TableWriter(self.out, table, self._finished.append)
        self._described[table] = {}
        self._is_described = False

    def _publish(self) -> None:
        if not self._is_described:
            self._parts.describe(schema_file.as_json(self._described))
            self._is_described = True
        # Rows first, then what is said about them.
        batch = [*self._finished, *self._replaced.values()]
        self._finished.clear()
        self._replaced.clear()
        self._publisher.submit(batch)

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take a batch; it becomes readable with the table's next part."""
        if table not in self._tables:
            self._begin(table)
        more = schema_file.added(table, batch.schema)
        if more.keys() - self._described[table].keys():
            self._described[table] |= more
            self._is_described = False
        self._tables[table].add(batch)

    def replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Replace a small table by its rows as they are now, with the next roll."""
        self._tables[table].replace(pa.Table.from_pylist(rows, arrow_schema(table)))
        before = self._replaced.pop(table, None)
        if before is not None:
            disk.remove(before.path)
        self._replaced[table] = self._finished.pop()

    def rewrite(self, table: str, change: Change) -> None:
        """Replace the parts of a finished table by what a function makes of each."""
        for name in sorted(self._parts.named[table]):
            self._tables[table].rewrite(name, change)

    def is_behind(self) -> bool:
        """Whether the last roll has not reached the disk yet."""
        return self._publisher.is_busy

    def roll(self) -> None:
        """Make everything that was written readable."""
        for writer in self._tables.values():
            writer.roll()
        self._publish()
        if self._retention is not None:
            self._tidy(self._retention)

    def _tidy(self, retention: Retention) -> None:
        """Merge what is small and remove what is too old; all parts have their names meanwhile."""
        self._publisher.wait()
        retention.see(self._parts)
        for table, parts in retention.merge(self._parts).items():
            self._tables[table].number(parts)
        going = retention.choose(self._parts)
        if not going:
            return
        for table, names in going.items():
            self._tables[table].rows -= sum(self._parts.named[table][name].rows for name in names)
        # What is gone is said before it goes.
        self.replace("discarded", retention.discarded())
        self._publish()
        self._publisher.wait()
        self._parts.drop(going)

    def finish(self) -> None:
        """Write the last parts and compact the small ones."""
        for writer in self._tables.values():
            pa.default_memory_pool().release_unused()  # before it needs more of another size
            writer.finish()
        self._publish()
        self._publisher.wait()
        self._retention = None  # it knows the parts by the names that they had
        compact(self._parts, self._tables)

    def rows(self) -> dict[str, int]:
        """How many rows of each table were taken."""
        return {table: writer.rows for table, writer in self._tables.items()}

    def close(self) -> None:
        """Make readable what is whole, and let go of the folder."""
        for writer in self._tables.values():
            writer.give_up()
        try:
            self._publish()
        finally:
            self._publisher.end()
            os.close(self._lock)


def lock(out: Path) -> int:
    """Take the folder for writing; the lock ends with the descriptor, or its process.

    Raises:
        UsageError: another process has it.
    """
    try:
        import fcntl
    except ImportError:  # Windows, which has no descriptors of folders either
        return os.open(os.devnull, os.O_RDONLY)
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
