"""The views of a part of a trace, beside those of the whole trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from cupti_etl.errors import UsageError
from cupti_etl.queries import part_sums
from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.header import Query
from cupti_etl.queries.materialize import Operator, Operators
from cupti_etl.queries.scope import WHOLE, Choice, reads_whole
from cupti_etl.queries.views import Views
from cupti_etl.storage.sources import Source, identifier

if TYPE_CHECKING:
    import duckdb

_T = TypeVar("_T")


class _Whole(Views):
    """What can be asked of the whole trace, where it is not the current database."""

    def need(self, con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """Make what is not there yet."""
        with _in_whole(con):
            self._need(con, names)

    def _renew(
        self, con: duckdb.DuckDBPyConnection, filled: Sequence[str], stale: Sequence[str]
    ) -> None:
        with _in_whole(con):
            super()._renew(con, filled, stale)


class PartViews(Views):
    """What can be asked of the times that a choice has.

    The whole trace is a database of its own, which has what a header says to compute there; what
    is made there once serves every scope.
    """

    def __init__(self, catalog: Catalog, operators: Operators, choice: Choice) -> None:
        def ours() -> dict[str, Operator]:
            given = operators().items()
            found = {name: each for name, each in given if _will_do(catalog[name], each)}
            return {**found, **part_sums.operators(catalog, choice, self._whole.need)}

        super().__init__(catalog, ours, choice)
        who = replace(choice, windows=()) if choice.is_of_some else None
        self._whole = _Whole(catalog, operators, who)
        self._times = choice

    def open(self, sources: Sequence[Source]) -> None:
        """Say where the rows are, before anything is asked."""
        super().open(sources)
        self._whole.open(sources)

    def bind(
        self, con: duckdb.DuckDBPyConnection, action: Callable[[], _T], *, is_inside: bool = False
    ) -> _T:
        """Bind a statement, but in no transaction: DuckDB lets one write to one database, not two.

        Raises:
            UsageError: it begins one.
        """
        if is_inside:
            raise UsageError(
                "a part of a trace knows no transactions",
                "leave BEGIN out, or ask the whole trace",
            )
        return super().bind(con, action)

    def _refresh(self, con: duckdb.DuckDBPyConnection) -> None:
        super()._refresh(con)
        self._whole._refresh(con)

    def _define(self, con: duckdb.DuckDBPyConnection, query: Query) -> None:
        if query.is_of_whole:
            self._whole.need(con, (query.name,))
            con.execute(f"CREATE OR REPLACE VIEW {query.name} AS\n{self._times.query(query)}")
            return
        if query.lookup:
            self._whole.need(con, query.lookup)
        super()._define(con, replace(query, sql=reads_whole(query)))

    def _make_tables(self, con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
        missing = [table for table in tables if table not in self._made]
        self._whole.need(con, missing)
        for table in missing:
            con.execute(
                f"CREATE OR REPLACE VIEW {identifier(table)} AS\n{self._times.table(table)}"
            )
        self._made.update(missing)


@contextmanager
def _in_whole(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    (here,) = con.execute("SELECT current_database()").fetchall()[0]
    con.execute(f"USE {WHOLE}.main")
    try:
        yield
    finally:
        con.execute(f"USE {identifier(here)}.main")


def _will_do(query: Query, operator: Operator) -> bool:
    """Whether an operator reads what its query reads, so that it computes the same of a part."""
    if query.native:
        return True
    return not query.lookup and set(operator.reads) <= set(query.needs)
