"""Building blocks that are made once for an opened trace, instead of in every query anew.

A query that says ``stored`` is a view like any other for plain DuckDB.  In an opened trace its
rows are kept in tables of the same database in memory, which the view then reads; when parts of
a capture that still runs come or go, they are made again.  What has a maker, which is given, is
made by that, and by its SELECT where this installation has no native part.  Of a large trace
they are kept for the next time that it is opened, too.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.queries.catalog import Catalog, Query
from cupti_etl.queries.kept import Kept, State, state
from cupti_etl.storage.sources import Source

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True)
class Maker:
    """Makes the rows of queries faster than their SELECTs do.

    Attributes:
        name: of what it makes.
        reads: the tables and queries that it reads.
        keeps: the tables that it makes.
        make: makes them.  A NativeError leaves it to the SELECT.
        makes: by the name of each query, the SELECT over what is kept; a query that is not here
            is the table ``_stored_QUERY``.
    """

    name: str
    reads: tuple[str, ...]
    keeps: tuple[str, ...]
    make: Callable[[duckdb.DuckDBPyConnection], None]
    makes: Mapping[str, str] = field(default_factory=dict)


class Stored:
    """What is kept for one trace; the caller sees to it that one thread uses it at a time."""

    def __init__(self, catalog: Catalog, makers: Mapping[str, Maker] | None = None) -> None:
        self._catalog = catalog
        self._makers = makers or {}
        self._made: dict[str, State] = {}

    def prepare(self, con: duckdb.DuckDBPyConnection, sql: str, sources: Sequence[Source]) -> None:
        """Make, or make again, what the statement can read of them.

        Raises:
            duckdb.Error: a part cannot be read; the views stay as they were.
        """
        wanted = self._catalog.stored_for(_WORD.findall(sql.lower()))
        if wanted:
            parts = state(sources)
            self._see_to(con, wanted, parts, Kept(sources, parts))

    def _see_to(
        self, con: duckdb.DuckDBPyConnection, wanted: Iterable[Query], parts: State, kept: Kept
    ) -> None:
        for query in wanted:
            if self._made.get(query.name) != parts:
                for name in self._make(con, query, parts, kept):
                    con.execute(f"CREATE OR REPLACE VIEW {name} AS FROM _stored_{name}")
                    self._made[name] = parts

    def _make(
        self, con: duckdb.DuckDBPyConnection, query: Query, parts: State, kept: Kept
    ) -> Iterable[str]:
        """Make the rows of a query; the names of those that are there now."""
        table = f"_stored_{query.name}"
        if maker := self._makers.get(query.name):
            # Also where what it keeps is found: its queries may read what is kept of those.
            self._see_to(con, self._catalog.stored_for(maker.reads), parts, kept)
            with contextlib.suppress(NativeError):
                _fill(con, kept, maker.name, maker.keeps, maker.make)
                for name, select in maker.makes.items():
                    _drop(con, f"_stored_{name}")
                    con.execute(f"CREATE VIEW _stored_{name} AS\n{select}")
                return {query.name, *maker.makes}

        def ask(con: duckdb.DuckDBPyConnection) -> None:
            self._see_to(con, self._catalog.stored_for(query.needs), parts, kept)
            con.execute(f"CREATE TABLE {table} AS\n{query.sql}")

        _fill(con, kept, query.name, (table,), ask)
        return (query.name,)

    def forget(self) -> None:
        """The views were made anew over the files: what is kept is no longer read."""
        self._made.clear()


def _fill(
    con: duckdb.DuckDBPyConnection,
    kept: Kept,
    unit: str,
    tables: Sequence[str],
    make: Callable[[duckdb.DuckDBPyConnection], None],
) -> None:
    """Take the tables from where they are kept, or make them and keep them."""
    for table in tables:
        _drop(con, table)
    if not kept.load(con, unit, tables):
        for table in tables:
            _drop(con, table)
        make(con)
        kept.save(con, unit, tables)


def _drop(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Drop the table or view of that name, if there is one."""
    found = con.execute(
        "SELECT table_type FROM information_schema.tables"
        " WHERE table_catalog = current_database() AND table_name = ?",
        [name],
    ).fetchall()
    for (kind,) in found:
        con.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} {name}")
