"""Building blocks that are made once for an opened trace, instead of in every query anew.

A query that says ``stored`` is a view like any other for plain DuckDB.  In an opened trace its
rows are kept in a table of the same database in memory, which the view then reads; when parts of
a capture that still runs come or go, they are made again.  What is ``native`` is made by a
function that is given, and by its SELECT where this installation has no native part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.queries.catalog import Catalog, Query
from cupti_etl.queries.sources import PARTS

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"[a-z_][a-z0-9_]*")
# The name of a part, its size and its time: a part is replaced, never changed.
_Parts = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Maker:
    """Makes the rows of a query faster than its SELECT does.

    Attributes:
        reads: the tables and queries that it reads.
        make: makes them in a database, as a table of the given name.
    """

    reads: tuple[str, ...]
    make: Callable[[duckdb.DuckDBPyConnection, str], None]


class Stored:
    """What is kept for one trace; the caller sees to it that one thread uses it at a time."""

    def __init__(self, catalog: Catalog, makers: Mapping[str, Maker] | None = None) -> None:
        self._catalog = catalog
        self._makers = makers or {}
        self._made: dict[str, _Parts] = {}

    def prepare(self, con: duckdb.DuckDBPyConnection, sql: str, folders: Sequence[Path]) -> None:
        """Make, or make again, what the statement can read of them.

        Raises:
            duckdb.Error: a part cannot be read; the views stay as they were.
        """
        wanted = self._catalog.stored_for(
            _WORD.findall(sql.lower()), {name: made.reads for name, made in self._makers.items()}
        )
        if not wanted:
            return
        parts = _parts(folders)
        for query in wanted:
            if self._made.get(query.name) == parts:
                continue
            table = f"_stored_{query.name}"
            self._make(con, query, table)
            con.execute(f"CREATE OR REPLACE VIEW {query.name} AS FROM {table}")
            self._made[query.name] = parts

    def _make(self, con: duckdb.DuckDBPyConnection, query: Query, table: str) -> None:
        try:
            if query.name in self._makers:
                self._makers[query.name].make(con, table)
                return
        except NativeError:
            pass
        con.execute(f"CREATE OR REPLACE TABLE {table} AS\n{query.sql}")

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
