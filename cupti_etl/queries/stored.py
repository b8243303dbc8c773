"""Building blocks that are made once for an opened trace, instead of in every query anew.

A query that says ``stored`` is a view like any other for plain DuckDB.  In an opened trace its
rows are kept in a table of the same database in memory, which the view then reads; when parts of
a capture that still runs come or go, they are made again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.sources import PARTS

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"[a-z_][a-z0-9_]*")
# The name of a part, its size and its time: a part is replaced, never changed.
_Parts = tuple[tuple[str, int, int], ...]


class Stored:
    """What is kept for one trace; the caller sees to it that one thread uses it at a time."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._made: dict[str, _Parts] = {}

    def prepare(self, con: duckdb.DuckDBPyConnection, sql: str, folders: Sequence[Path]) -> None:
        """Make, or make again, what the statement can read of them.

        Raises:
            duckdb.Error: a part cannot be read; the views stay as they were.
        """
        wanted = self._catalog.stored_for(_WORD.findall(sql.lower()))
        if not wanted:
            return
        parts = _parts(folders)
        for query in wanted:
            if self._made.get(query.name) == parts:
                continue
            table = f"_stored_{query.name}"
            con.execute(f"CREATE OR REPLACE TABLE {table} AS\n{query.sql}")
            con.execute(f"CREATE OR REPLACE VIEW {query.name} AS FROM {table}")
            self._made[query.name] = parts

    def forget(self) -> None:
        """The views were made anew over the files: what is kept is no longer read."""
        self._made.clear()


def _parts(folders: Sequence[Path]) -> _Parts:
    found = []
    for folder in folders:
        for part in folder.glob(f"*/{PARTS}"):
            try:
                about = part.stat()
            except FileNotFoundError:
                continue
            found.append((str(part), about.st_size, about.st_mtime_ns))
    return tuple(sorted(found))
