"""The query library over empty tables, kept in a file of the user's cache.

DuckDB binds each view when it is created, which takes half a second for the whole library; to
copy the views out of a file takes a twentieth of that.  The file's name says what is in it, so
one of another version is never taken.  Nothing depends on it: without a place for it, or with a
damaged one, the library is made in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.queries import cache
from cupti_etl.schema.revisions import STORAGE_VERSION
from cupti_etl.storage.sources import quoted

if TYPE_CHECKING:
    import duckdb


def load(con: duckdb.DuckDBPyConnection, statements: Sequence[str]) -> bool:
    """Copy the result of the statements into the current database, which is empty.

    Returns:
        Whether that was done; if not, the database is as it was.
    """
    import duckdb

    path = _path(statements, duckdb.__version__)
    if path is None or not (cache.is_there(path) or _make(path, statements)):
        return False
    try:
        con.execute(f"ATTACH {quoted(path)} AS _prepared (READ_ONLY)")
    except duckdb.Error:  # damaged, or on a file system without locks
        return False
    try:
        con.begin()
        (into,) = con.execute("SELECT current_database()").fetchall()[0]
        con.execute(f'COPY FROM DATABASE _prepared TO "{into}" (SCHEMA)')
        con.commit()
    except duckdb.Error:  # damaged further on
        con.rollback()
        return False
    finally:
        con.execute("DETACH _prepared")
    return True


def _path(statements: Sequence[str], version: str) -> Path | None:
    folder = cache.folder()
    return folder / f"library-{cache.key((version, *statements))}.duckdb" if folder else None


def _make(path: Path, statements: Sequence[str]) -> bool:
    import duckdb

    try:
        with cache.whole(path) as partial, duckdb.connect(":memory:") as con:
            con.execute(f"ATTACH {quoted(partial)} AS made (STORAGE_VERSION '{STORAGE_VERSION}')")
            con.execute("USE made")
            for statement in statements:
                con.execute(statement)
            con.execute("USE memory")
            con.execute("DETACH made")
        cache.forget(path.parent.glob("library-*.duckdb"))
    except (OSError, duckdb.Error):  # a full disk fails wherever DuckDB writes
        return False
    return True
