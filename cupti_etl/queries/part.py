"""The views of a part of a trace, beside those of the whole trace."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from cupti_etl.errors import UsageError
from cupti_etl.queries import part_gaps, part_sums
from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.materialize import Operator, Operators
from cupti_etl.queries.query import Query
from cupti_etl.queries.scope import WHOLE, Choice, reads_whole
from cupti_etl.queries.views import Views
from cupti_etl.storage.sources import Source, identifier
from cupti_etl.storage.state import State

if TYPE_CHECKING:
    import duckdb

_T = TypeVar("_T")
_NUMBERS = itertools.count(1)


class PartViews(Views):
    """What can be asked of the times that a choice has.

    They lie in a database of their own beside that of the whole trace, or of the processes and
    GPUs of it that are asked.  What a header says to compute there is made there once, and serves
    all parts and the whole.

    Args:
        catalog: the queries.
        operators: gives them, by the name of the query that each computes.
        choice: the times.
        whole: the views that the others are over.
    """

    def __init__(
        self, catalog: Catalog, operators: Operators, choice: Choice, whole: Views
    ) -> None:
        def ours() -> dict[str, Operator]:
            given = operators().items()
            found = {name: each for name, each in given if _will_do(catalog[name], each)}
            sums = part_sums.operators(catalog, choice, whole.need)
            return {**found, **sums, **part_gaps.operators(catalog, whole.need)}

        # What is given is of the whole, and chosen from it as all else.
        super().__init__(catalog, ours, replace(choice, given={}))
        self._whole, self._times = whole, choice
        self._is_all = whole._is_all
        # The renewals of the whole that this has followed.
        self._seen = whole.renewals
        self._database = f"part_{next(_NUMBERS)}"

    def open(self, sources: Sequence[Source]) -> None:
        """Say where the rows are, which is looked at for the whole."""
        super().open(sources)
        self.look = self._whole.look

    def stop(self) -> None:
        """Stop what is being made, here and of the whole, from another thread."""
        super().stop()
        self._whole.stop()

    def begin(self, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Make the database; a connection to it."""
        con.execute(f"ATTACH ':memory:' AS {self._database}")
        own = self.cursor(con)
        self._times.begin(own)
        return own

    def close(self, con: duckdb.DuckDBPyConnection) -> None:
        """Drop the database, and with it the rows that it holds."""
        con.execute(f"USE {WHOLE}.main")
        con.execute(f"DETACH {self._database}")

    def cursor(self, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Another connection, on which names mean these views."""
        own = con.cursor()
        own.execute(f"USE {self._database}.main")
        return own

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

    def _refresh(self, con: duckdb.DuckDBPyConnection, now: State | None = None) -> None:
        now = self.look() if now is None else now
        super()._refresh(con, now)
        self._whole._refresh(con, now)
        if self._seen != self._whole.renewals:
            self._forget_without_whole(con)

    def _forget_without_whole(self, con: duckdb.DuckDBPyConnection) -> None:
        """Have what reads what the whole has forgotten made anew, and that with it."""
        with self._making.alone(con):
            seen, there = self._whole.renewals, set(self._whole._made)
            gone: set[str] = set()
            for query in self._catalog:
                from_whole = (*query.lookup, *((query.name,) if query.is_of_whole else ()))
                if not there.issuperset(from_whole) or gone.intersection(query.needs):
                    gone.add(query.name)
            for name in gone:
                self._made.pop(name, None)
            self._seen = seen

    def _define(self, con: duckdb.DuckDBPyConnection, query: Query) -> None:
        if query.is_of_whole:
            self._whole.need(con, (query.name,))
            con.execute(f"CREATE OR REPLACE VIEW {query.name} AS\n{self._times.query(query)}")
            return
        if query.lookup:
            self._whole.need(con, query.lookup)
        super()._define(con, replace(query, sql=reads_whole(query)))

    # What a part lacks may be looked up in the whole; what that lacks, the part lacks, too.
    def _is_unanswerable(self, con: duckdb.DuckDBPyConnection, query: Query) -> bool:
        with self._whole._making.connection(con) as beside:
            return self._whole._is_unanswerable(beside, query)

    def _table_bytes(self, table: str) -> int:
        return self._whole._table_bytes(table)

    def _rowless(self) -> set[str]:
        return super()._rowless() | self._whole._rowless()

    def _read_tables(self, con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
        self._whole.need(con, tables)
        for table in tables:
            con.execute(
                f"CREATE OR REPLACE VIEW {identifier(table)} AS\n{self._times.table(table)}"
            )


def _will_do(query: Query, operator: Operator) -> bool:
    """Whether an operator reads what its query reads, so that it computes the same of a part."""
    if query.native:
        return True
    return not query.lookup and set(operator.reads) <= set(query.needs)
