"""The query library over empty tables, as a DuckDB file that is copied into those of traces.

To bind the library takes longer than all else that is done for a small trace, and it is the same
for every trace.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import LIBRARY, library
from cupti_etl.queries.plain_library import library_views
from cupti_etl.queries.runner import connect, empty_views
from cupti_etl.queries.tables import table_extent
from cupti_etl.schema.revisions import STORAGE_VERSION
from cupti_etl.storage.made_once import kept_file, use
from cupti_etl.storage.sources import quoted

if TYPE_CHECKING:
    import duckdb


@contextlib.contextmanager
def new_file(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of which a new file is the current database, for as long as it is written."""
    with connect() as con:
        con.execute(f"ATTACH {quoted(file)} AS made (STORAGE_VERSION '{STORAGE_VERSION}')")
        con.execute("USE made")
        yield con
        con.execute("USE memory")
        con.execute("DETACH made")  # which writes what its log still holds


def copy_library(con: duckdb.DuckDBPyConnection) -> None:
    """Make the library, and an empty view for each table, in a new file.

    Raises:
        duckdb.Error: a query of the library is wrong.
    """
    kept = _kept_file()
    if use(kept, _make, lambda: con.execute(f"ATTACH {quoted(kept)} AS library (READ_ONLY)")):
        con.execute("COPY FROM DATABASE library TO made (SCHEMA)")
    else:
        _bind(con)


def _bind(con: duckdb.DuckDBPyConnection) -> None:
    con.begin()  # else the file is brought to the disk after each statement
    for statement in (*empty_views(), *library_views(library())):
        con.execute(statement)
    con.commit()


def _make(file: Path) -> None:
    with new_file(file) as con:
        _bind(con)


def _kept_file() -> Path:
    return kept_file("library", (table_extent(), *empty_views()), library_files())


def library_files() -> Iterator[Path]:
    """The queries, and the modules that make statements of them; no query has to be parsed."""
    yield from LIBRARY.glob("*/*.sql")
    yield from LIBRARY.parent.glob("*.py")
