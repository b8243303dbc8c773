"""A trace as one self-contained ``.duckdb`` file, and such a file brought up to date.

The tables come from the migrations, so that later ones can go on from there; the query
library stands beside them as views and macros, for any DuckDB.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.api import Trace
from cupti_etl.api import open as open_trace
from cupti_etl.errors import EtlError, TraceError
from cupti_etl.queries.bound_library import library_files
from cupti_etl.queries.catalog import TABLE_EXTENT, library
from cupti_etl.queries.plain_library import library_views
from cupti_etl.queries.tables import table_extent
from cupti_etl.render.beside import ROWS, beside, feed
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.revisions import TABLE as REVISION
from cupti_etl.schema.revisions import migrations_path
from cupti_etl.storage.made_once import kept_file, use
from cupti_etl.storage.place import new_output
from cupti_etl.storage.sources import identifier, quoted

if TYPE_CHECKING:
    import duckdb

_DATABASE = "_export"


def export_duckdb(trace: Trace, out: Path, *, overwrite: bool = False) -> list[str]:
    """Write everything that a trace holds into one new file; rows are streamed.

    Returns:
        Tables and columns that were left out, because this version does not know them.

    Raises:
        UsageError: the file exists already.
        TraceError: a part of the trace cannot be read, or the file cannot be written.
    """
    with new_output(out, overwrite=overwrite) as partial:
        _make(partial)
        return _fill(trace, partial)


def _make(file: Path) -> None:
    """Make a file of the present schema, with the query library, that has no rows.

    The migrations and the binding of the library take over a second, for the same file each time.
    """
    kept = _kept_file()
    if not use(kept, _migrate_and_install, lambda: _copy_file(kept, file)):
        file.unlink(missing_ok=True)
        _migrate_and_install(file)


def _copy_file(kept: Path, file: Path) -> None:
    import duckdb

    shutil.copyfile(kept, file)
    with duckdb.connect(file, read_only=True) as con:  # which reads all of it
        con.execute(f"FROM {REVISION}")


def _kept_file() -> Path:
    files = (*library_files(), *migrations_path().rglob("*.py"))
    return kept_file("file", (table_extent(),), files)


def _migrate_and_install(file: Path) -> str:
    from cupti_etl.storage.migrations import upgrade

    return upgrade(file, then=_install)


def _fill(trace: Trace, file: Path) -> list[str]:
    left_out = []
    # Most tables of most traces have no rows.  This makes the tables known all at once, too.
    extent = trace.sql(f"SELECT table_name, rows FROM {TABLE_EXTENT}")
    filled = {row["table_name"] for row in extent if row["rows"]}
    with beside(trace, (file.parent,)) as con:
        con.execute(f"ATTACH {quoted(file)} AS {_DATABASE}")
        for table in trace.tables:
            if table not in TABLES:
                left_out.append(table)
                continue
            there = trace.sql(f"FROM {identifier(table)}").columns
            known = [column.name for column in TABLES[table].columns]
            more = [name for name in there if name not in known]
            if TABLES[table].more is None:
                left_out += sorted(f"{table}.{column}" for column in more)
                more = []
            _add_columns(con, table, more)
            if table in filled:
                _copy(trace, con, table, [*known, *more])
        con.execute(f"DETACH {_DATABASE}")  # which writes what its log still holds
    return left_out


def _into(table: str) -> str:
    return f"{_DATABASE}.main.{identifier(table)}"


def _add_columns(con: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]) -> None:
    """Give a table the columns that this trace has more."""
    for name in names:
        added = TABLES[table].more
        assert added is not None
        con.execute(f"ALTER TABLE {_into(table)} ADD COLUMN {identifier(name)} {added.sql}")


def _copy(trace: Trace, con: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]) -> None:
    """Copy the rows of a table."""
    columns = ", ".join(map(identifier, names))
    with feed(con, trace.sql(f"SELECT {columns} FROM {identifier(table)}").reader()):
        con.execute(f"INSERT INTO {_into(table)} ({columns}) SELECT {columns} FROM {ROWS}")


def convert(folder: Path, out: Path) -> None:
    """Write the trace of a finished capture into one file, and see that no row is missing.

    Raises:
        EtlError: that failed, and there is no file.
    """
    with open_trace(folder, confined=True) as trace:
        left_out = export_duckdb(trace, out)
        with open_trace(out, confined=True) as file:
            missing = [each for each in TABLES if _count(trace, each) != _count(file, each)]
    if left_out or missing:
        out.unlink()
        raise EtlError(f"{out} would lack rows of {', '.join(left_out + missing)}")


def _count(trace: Trace, table: str) -> int:
    return trace.sql(f"FROM {identifier(table)}").count()


def migrate_file(path: Path) -> tuple[str, list[str]]:
    """Bring a file to the present schema and the present query library, or leave it as it is.

    Returns:
        The revision that it had, and a line for each migration that was missing.

    Raises:
        TraceError: see ``cupti_etl.storage.migrations.upgrade``; also if there is no file.
    """
    from cupti_etl.storage.migrations import missing

    _refuse_none(path)
    before = _migrate_and_install(path)
    return before, missing(before)


def pending_migrations(path: Path) -> tuple[str, list[str]]:
    """What ``migrate_file`` would do; the file is opened for reading only.

    Returns:
        The revision that it has, and a line for each migration that is missing.

    Raises:
        TraceError: it could not be migrated, as far as can be told before.
    """
    from cupti_etl.storage.migrations import pending

    _refuse_none(path)
    return pending(path)


def _refuse_none(path: Path) -> None:
    from cupti_etl.storage.migrations import GIVE

    if not path.exists():
        raise TraceError(f"there is no file {path}", GIVE)


def _install(con: duckdb.DuckDBPyConnection) -> None:
    for statement in library_views(library()):
        con.execute(statement)
