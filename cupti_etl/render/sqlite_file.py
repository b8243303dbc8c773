"""The tables of a trace in one file of SQLite, for programs that read nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.api import Trace
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.place import new_output, not_written
from cupti_etl.storage.sources import identifier

if TYPE_CHECKING:
    import pyarrow as pa

# What the columns are: the schema of a file of SQLite has no room for it.
_ABOUT = "CREATE TABLE _column (table_name TEXT, column_name TEXT, type TEXT, unit TEXT, doc TEXT)"


def export_sqlite(
    trace: Trace, tables: Sequence[str], out: Path, *, overwrite: bool = False
) -> None:
    """Write tables into a new file, which appears when it is complete.

    Args:
        trace: what to write.
        tables: which of its tables.
        out: the file.
        overwrite: whether a file of that name is replaced.

    Raises:
        UsageError: the file exists already.
        EtlError: it cannot be written, or a part of the trace cannot be read.
    """
    with new_output(out, overwrite=overwrite) as partial:
        try:
            with closing(sqlite3.connect(partial, isolation_level=None)) as con:
                # Who breaks off leaves no file, so there is nothing to come back to.
                con.execute("PRAGMA journal_mode = OFF")
                con.execute("PRAGMA synchronous = OFF")
                con.execute("BEGIN")
                con.execute(_ABOUT)
                for table in tables:
                    _copy(trace, con, table)
                con.execute("COMMIT")
        except sqlite3.Error as error:
            raise not_written(out, str(error)) from error


def _copy(trace: Trace, con: sqlite3.Connection, table: str) -> None:
    described = {each.name: each for each in TABLES[table].columns} if table in TABLES else {}
    reader = trace.sql(f"FROM {identifier(table)}").reader()
    names = reader.schema.names
    types = [_type(field.type) for field in reader.schema]
    columns = ", ".join(
        f"{identifier(name)} {kind}" for name, kind in zip(names, types, strict=True)
    )
    con.execute(f"CREATE TABLE {identifier(table)} ({columns})")
    con.executemany(
        "INSERT INTO _column VALUES (?, ?, ?, ?, ?)",
        (
            (table, name, kind, known.unit if known else None, known.doc if known else None)
            for name, kind in zip(names, types, strict=True)
            for known in (described.get(name),)
        ),
    )
    places = ", ".join("?" * len(names))
    con.executemany(f"INSERT INTO {identifier(table)} VALUES ({places})", _rows(reader))


def _rows(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, of which a batch is in memory."""
    for batch in reader:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _type(kind: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"
