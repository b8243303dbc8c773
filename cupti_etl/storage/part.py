"""One Parquet part: how it is encoded, and what is measured while it is written."""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.schema.types import correlation, timestamp
from cupti_etl.storage.manifest import Entry

_TEXT = (pa.string(), pa.dictionary(pa.int32(), pa.string()))
# What Arrow writes in pieces of some hundred bytes is gathered before Python sees it.
_BUFFER_BYTES = 1 << 20


class _Measured(io.BufferedWriter):
    """A file for Arrow to write, whose size and checksum are known when it is closed."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "w"))
        self.bytes = 0
        self.crc32 = 0
        self.is_lost = False

    def write(self, data: Any, /) -> int:
        """Write bytes; Arrow tries that again, aloud, with a file that could not be written."""
        if self.is_lost:
            return len(data)
        super().write(data)
        self.crc32 = zlib.crc32(data, self.crc32)
        self.bytes += len(data)
        return len(data)


class PartFile:
    """A part that is being written: whole after ``close``, or not there.

    Args:
        path: the file.
        table: whose rows they are.
        schema: of the rows.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, table: str, schema: pa.Schema) -> None:
        self.path = path
        self.rows = 0
        self._open = ExitStack()
        self._file = _Measured(path)
        self._writer: pq.ParquetWriter = self._attempt(lambda: self._begin(table, schema))

    def _begin(self, table: str, schema: pa.Schema) -> pq.ParquetWriter:
        self._open.callback(self._file.close)
        stream = pa.BufferedOutputStream(pa.PythonFile(self._file, "w"), _BUFFER_BYTES)
        self._open.callback(stream.close)
        return self._open.enter_context(part_writer(stream, table, schema))

    def write(self, rows: pa.Table) -> None:
        """Compress and write rows, as one row group if they are not very many."""
        if not len(rows):  # a group of none has a compressor for each column
            return
        self._attempt(lambda: self._writer.write_table(rows, row_group_size=1 << 20))
        self.rows += len(rows)

    def close(self) -> Entry:
        """Finish the part; returns what is known of it."""
        self._attempt(self._open.close)
        return Entry(self.rows, self._file.bytes, self._file.crc32)

    def _attempt(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except BaseException:
            self.give_up()
            raise

    def give_up(self) -> None:
        """Let go of a part that will not be whole."""
        self._file.is_lost = True
        with suppress(Exception):  # the same again, most likely
            self._open.close()
        self.path.unlink(missing_ok=True)  # a full disk is not made fuller


def write_part(path: Path, table: str, rows: pa.Table) -> Entry:
    """Write one part: whole, or not there at all; returns what is known of it."""
    part = PartFile(path, table, rows.schema)
    part.write(rows)
    return part.close()


@contextmanager
def part_writer(
    where: Path | pa.NativeFile, table: str, columns: pa.Schema, schema: pa.Schema | None = None
) -> Iterator[pq.ParquetWriter]:
    """Write a part in pieces.

    Text is written as text, also where it comes as dictionaries, because some engines refuse
    those.  Parquet's own types are enough to read a part back; what its columns mean stands in
    the trace's ``schema.json``.

    Args:
        where: the file; one that is open stays so.
        table: whose rows they are.
        columns: the schema of the rows.
        schema: one with documentation for the file to carry, which is to stand alone.
    """
    known = TABLES[table].columns if table in TABLES else ()
    # Columns that mostly grow from row to row: times, ids of calls and of launches.
    delta = [c.name for c in known if c.type in (timestamp, correlation) or c.name == "grid_id"]
    with pq.ParquetWriter(
        where,
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
        writer.add_key_value_metadata(_documentation(schema) if schema else footer(table))


def footer(table: str) -> dict[str, str]:
    """What a part says of itself: whose rows they are, and in which layout."""
    return {"cupti_etl.table": table, "cupti_etl.schema_version": str(SCHEMA_VERSION)}


def _documentation(schema: pa.Schema) -> dict[bytes, bytes]:
    columns = {field.name: _about(field) for field in schema if field.metadata}
    return {
        **(schema.metadata or {}),
        b"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()),
        b"cupti_etl.columns": json.dumps(columns).encode(),
    }


def _about(field: pa.Field) -> dict[str, str]:
    return {key: field.metadata[key.encode()].decode() for key in ("doc", "unit")}
