"""Tables of an SQLite file: what there is by sqlite3, rows straight from the pages."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from cupti_etl.errors import ForeignError
from cupti_etl.native.loader import error_buffer, load, text

_ROWS = 1 << 16
TYPES = {"i": pa.int64(), "d": pa.float64(), "s": pa.dictionary(pa.int32(), pa.string())}
# The words of an error can be of the file, and no text.
_FAILURES = (sqlite3.Error, UnicodeDecodeError)
# How PRAGMA table_xinfo calls a generated column that is not stored.
_VIRTUAL = 2
_AGAIN = "export it again, or copy it again completely"


class _Column(NamedTuple):
    """A column of a table; ``place`` is that of its value in a record."""

    place: int
    name: str
    is_integer: bool
    has_default: bool
    is_key: bool


class SqliteTables:
    """An SQLite file that nobody writes.

    Raises:
        ForeignError: it is damaged or truncated, or a program still has it open for writing.
    """

    kind = "SQLite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfit: dict[str, int] = {}
        self._check(path)
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            self._con = sqlite3.connect(uri, uri=True, check_same_thread=False)
            weakref.finalize(self, self._con.close)  # Python 3.13 warns of those that are open
            self._con.text_factory = lambda raw: raw.decode("utf-8", "replace")
            found = self._con.execute(
                "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
            ).fetchall()
            self._roots: dict[str, int] = dict(found)
        except _FAILURES as error:
            raise self._damaged(error) from None

    def _check(self, path: Path) -> None:
        with path.open("rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
        page = int.from_bytes(header[16:18], "big")
        pages = int.from_bytes(header[28:32], "big")
        if len(header) < 100 or pages * (65536 if page == 1 else page) > size:
            raise ForeignError(f"{path} is truncated", _AGAIN)
        for suffix in ("-wal", "-journal"):
            beside = path.with_name(path.name + suffix)
            if beside.is_file() and beside.stat().st_size:
                raise ForeignError(
                    f"{path} is not complete: {beside.name} holds changes to it",
                    f"close the program that writes it, or: sqlite3 {path} VACUUM",
                )

    def _damaged(self, error: object) -> ForeignError:
        if isinstance(error, UnicodeDecodeError):
            error = "its schema is not in UTF-8"
        return ForeignError(f"{self.path} is damaged: {error}", _AGAIN)

    def _ask(self, sql: str) -> list[Any]:
        try:
            return self._con.execute(sql).fetchall()
        except _FAILURES as error:
            raise self._damaged(error) from None

    def names(self) -> list[str]:
        """All tables."""
        return sorted(self._roots)

    def columns(self, table: str) -> list[str]:
        """The columns of a table; none if there is no such table."""
        return [column.name for column in self._info(table)]

    def _info(self, table: str) -> list[_Column]:
        """The columns, but for those that are computed when they are asked for."""
        if table not in self._roots:
            return []
        rows = self._ask(f"PRAGMA table_xinfo({_quoted(table)})")
        stored = [row for row in rows if row[6] != _VIRTUAL]
        return [
            _Column(place, name, kind.upper() == "INTEGER", default is not None, key > 0)
            for place, (_, name, kind, _, default, key, _) in enumerate(stored)
        ]

    def count(self, table: str) -> int:
        """Rows of a table."""
        return int(self._ask(f"SELECT count(*) FROM {_quoted(table)}")[0][0])

    def filled(self, table: str, column: str) -> int:
        """Rows of a table in which a column is not NULL; 0 if there is no such column."""
        if column not in self.columns(table):
            return 0
        return int(self._ask(f"SELECT count({_quoted(column)}) FROM {_quoted(table)}")[0][0])

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A small table as a whole; empty if there is none."""
        if table not in self._roots:
            return []
        try:
            cursor = self._con.execute(f"SELECT * FROM {_quoted(table)}")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]
        except _FAILURES as error:
            raise self._damaged(error) from None

    def batches(self, table: str, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """The wanted columns of a table; one that it lacks is NULL.

        Args:
            table: the table; without it there are no batches.
            wanted: a letter of ``TYPES`` for each column.

        Raises:
            ForeignError: the file is damaged.
        """
        info = {column.name.lower(): column for column in self._info(table)}
        present = {name: info[name.lower()] for name in wanted if name.lower() in info}
        if not present:
            return
        schema = pa.schema([(name, TYPES[wanted[name]]) for name in present])
        if any(column.has_default for column in present.values()):
            found = self._select(table, schema)
        else:
            keys = [column for column in info.values() if column.is_key]
            fields = [
                # The one integer primary key is the row's id, and not in its record.
                -1 if keys == [column] and column.is_integer else column.place
                for column in present.values()
            ]
            found = self._read(table, [wanted[name] for name in present], fields, schema)
        for batch in found:
            yield pa.RecordBatch.from_arrays(
                [
                    batch[name] if name in present else pa.nulls(batch.num_rows, TYPES[letter])
                    for name, letter in wanted.items()
                ],
                schema=pa.schema([(name, TYPES[letter]) for name, letter in wanted.items()]),
            )

    def _select(self, table: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """By SQL: rows that are older than a column hold no value of it, and have its default."""
        try:
            names = ", ".join(map(_quoted, schema.names))
            cursor = self._con.execute(f"SELECT {names} FROM {_quoted(table)}")
            while rows := cursor.fetchmany(_ROWS):
                columns = zip(schema, zip(*rows, strict=True), strict=True)
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array([_value(v, f.type) for v in values], f.type)
                        for f, values in columns
                    ],
                    schema=schema,
                )
        except _FAILURES as error:
            raise self._damaged(f"table {table}: {error}") from None

    def _read(
        self, table: str, letters: list[str], fields: list[int], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        ffi, lib = load()
        error = error_buffer(ffi)
        with self.path.open("rb") as file:
            places = ffi.new("int32_t[]", fields)
            handle = lib.etl_sqlite_new(
                file.fileno(), self._roots[table], "".join(letters).encode(), places, error
            )
            if handle == ffi.NULL:
                raise self._damaged(text(ffi, error.message))
            handle = ffi.gc(handle, lib.etl_sqlite_free)
            while rows := lib.etl_sqlite_read(handle, _ROWS, error):
                if rows < 0:
                    raise self._damaged(f"table {table}: {text(ffi, error.message)}")
                array = ffi.new("struct ArrowArray *")
                if lib.etl_sqlite_take(handle, array) < 0:
                    raise MemoryError
                yield pa.RecordBatch._import_from_c(int(ffi.cast("uintptr_t", array)), schema)
            for column, name in enumerate(schema.names):
                self.unfit[f"{table}.{name}"] = int(lib.etl_sqlite_unfit(handle, column))


def _value(value: Any, kind: pa.DataType) -> Any:
    """A value as ``rows_append`` in ``native/imports/rows.c`` takes it."""
    if pa.types.is_dictionary(kind):
        if isinstance(value, float):
            return f"{value:.17g}"
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return None if value is None else str(value)
    if not isinstance(value, (int, float)):
        return None
    if pa.types.is_floating(kind):
        return float(value)
    return int(value) if value == value // 1 and abs(value) < 1 << 63 else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
