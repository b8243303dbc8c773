"""Building blocks whose rows are computed once for a trace.

A query that says ``materialized`` is a view like any other for plain DuckDB.  In an opened trace
its rows are computed at their first use, by its operator if it has one and by its SELECT if not,
and stay as Parquet in the trace's folder ``derived``, where whoever asks next finds them; the
folder's name says of which parts and by which code, so that what is out of date is never taken,
and a copy of the trace keeps what is right.  Deleting the folder loses nothing.  Of a trace that
still grows, of several that were opened as one, of a small one and where nothing can be written
the rows are in memory instead.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.derived import Indexed, drop, no_room, take, writing
from cupti_etl.queries.failure import is_interrupt
from cupti_etl.queries.keeping import Keeping
from cupti_etl.queries.query import Query
from cupti_etl.queries.tables import row_group_begins
from cupti_etl.storage.sources import Source
from cupti_etl.storage.state import State, state_bytes

if TYPE_CHECKING:
    import duckdb

# All of a smaller trace takes longer to compute in advance than most of its users ask for.
LARGE_BYTES = 4 << 20

# Takes a table with the SELECT of its rows; from then on it can be read.
Put = Callable[[str, str], None]
# Tells where row groups of some tables begin along a column, as far as that is known.
Begins = Callable[[Sequence[str], str], Sequence[int]]


@dataclass(frozen=True)
class Operator:
    """Computes the rows of queries faster than their SELECTs do.

    Attributes:
        name: of what it computes.
        reads: the tables and queries that it reads.
        tables: those that it makes; their names begin with ``_derived_``.
        compute: makes them, or gives each with the SELECT of its rows to what it gets.  A
            NativeError leaves it to the SELECTs.  None where ``select`` does it.
        counts: the tables by whose rows it cuts its work in slices, if it does.
        queries: by name, each as a SELECT over these tables; a query that is not here is the
            table ``_derived_QUERY``.
        select: the rows of its one table, where they are those of a SELECT, of one query.
    """

    name: str
    reads: tuple[str, ...]
    tables: tuple[str, ...]
    compute: Callable[[duckdb.DuckDBPyConnection, Put, Begins], None] | None
    queries: Mapping[str, str] = field(default_factory=dict)
    counts: Sequence[str] = ()
    select: str = ""


Operators = Callable[[], Mapping[str, Operator]]


class Materialized:
    """The materialized queries of one trace.

    Several threads may use it; the caller sees to it that they make different ones, and that none
    is forgotten meanwhile.

    Args:
        catalog: the queries.
        operators: gives them, by the name of the query that each computes, when one is needed.
        need: makes tables and queries that are not there yet.
        execute: runs a statement, and makes what it lacks all the same.
        is_part: whether not all rows of the trace are asked.
    """

    def __init__(
        self,
        catalog: Catalog,
        operators: Operators,
        need: Callable[[duckdb.DuckDBPyConnection, Sequence[str]], None],
        execute: Callable[[duckdb.DuckDBPyConnection, str], None],
        parts: Callable[[], State],
        *,
        is_part: bool = False,
    ) -> None:
        self._catalog = catalog
        self._operators = operators
        self._need = need
        self._execute = execute
        self._parts = parts
        self._keeping = Keeping(catalog, need, is_part=is_part)
        # Gets the name of the query whose rows are being computed, and "" when none are any more.
        self.tell: Callable[[str], None] = lambda name: None
        self._told: list[str] = []
        self._sources: tuple[Source, ...] = ()
        self._made: dict[str, State] = {}
        # The parts as they were when something began to be made, with all that it needs.
        self._then: State = ()
        self._looking = 0
        self._lock = threading.Lock()
        self._known: State = ()

    def open(self, sources: tuple[Source, ...]) -> None:
        """Say where the rows are."""
        self._sources = sources
        self._keeping.open(sources)

    @property
    def names(self) -> list[str]:
        """The queries that were made."""
        return list(self._made)

    def is_one(self, name: str) -> bool:
        """Whether something is a materialized query."""
        return name in self._catalog and bool(self._catalog[name].materialized)

    def told_late(self, name: str) -> tuple[bool, bool, bool]:
        """How late it is known whether something has a row: of tables first, then what is rare."""
        is_query = name in self._catalog
        return is_query, is_query and not self._catalog[name].rare, self.is_one(name)

    def takes_long(self) -> bool:
        """Whether to compute one of this trace takes time."""
        with self.parts_looked_at() as now:
            return state_bytes(now) >= LARGE_BYTES

    def reads(self, query: Query) -> Sequence[str]:
        """The tables and queries that a query, or what computes it, reads."""
        operator = self._operators().get(query.name) if self.is_one(query.name) else None
        return operator.reads if operator else query.needs

    def stale(self, now: State) -> list[str]:
        """The queries whose parts are no longer those of the trace."""
        now = self._as_known(now)
        made = list(self._made.items())
        return [name for name, then in made if then is not now and then != now]

    def _as_known(self, now: State) -> State:
        """The same, as one object for as long as it is the same: to compare it takes time."""
        if now != self._known:
            self._known = now
        return self._known

    def forget(self, con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """Take the views over such rows away, so that they are made again when asked for."""
        for name in names:
            drop(con, name)
            del self._made[name]

    def made_with(self, name: str) -> str:
        """What makes a query and others with it; the same name if it is a table, or alone."""
        operator = self._operators().get(name) if self.is_one(name) else None
        return operator.name if operator else name

    def make(self, con: duckdb.DuckDBPyConnection, query: Query) -> Sequence[str]:
        """Make a query a view over its rows, which are computed now if nobody did before.

        Returns:
            The queries that were made: its own, and others of the same operator.

        Raises:
            duckdb.Error: a part cannot be read.
        """
        operator = self._operators().get(query.name) or self._select(query)
        with self.parts_looked_at() as now:
            try:
                made = self._views(con, operator, query)
            except NativeError:
                made = self._views(con, self._select(query), query)
        self._made.update(dict.fromkeys(made, now))
        return made

    @contextlib.contextmanager
    def parts_looked_at(self) -> Iterator[State]:
        """The parts as they are; for what is made meanwhile, too, which is stale if they change."""
        with self._lock:
            if not self._looking:
                self._then = self._as_known(self._parts())
            self._looking += 1
            now = self._then
        try:
            yield now
        finally:
            with self._lock:
                self._looking -= 1

    def _views(
        self, con: duckdb.DuckDBPyConnection, operator: Operator, query: Query
    ) -> Sequence[str]:
        """Make the queries of an operator views over its tables; their names.

        Its tables are those that the trace's folder has, if they are what they should be.
        """
        import duckdb

        queries = operator.queries or {query.name: f"FROM {_table(query.name)}"}

        def views() -> None:
            for name, select in queries.items():
                self._execute(con, f"CREATE OR REPLACE VIEW {name} AS\n{select}")

        folder = self._folder(con, operator)
        if folder is not None and folder.is_dir():
            # Its queries may read what those made.
            self._need(con, list(filter(self.is_one, operator.reads)))
            if take(con, folder, operator.tables):
                with contextlib.suppress(duckdb.BinderException):
                    views()
                    if all(self._has_its_columns(con, name) for name in queries):
                        return list(queries)
                shutil.rmtree(folder, ignore_errors=True)
        with self._telling(query.name):
            self._need(con, (*operator.reads, *operator.counts))
            # Read from there, they take no memory.
            is_kept = (
                folder is not None
                and self._keep(con, operator, folder)
                and take(con, folder, operator.tables)
            )
            if operator.select and not is_kept:
                # A view over the table would be bound by each that reads it.
                self._hold_as(con, query, operator.select)
                return list(queries)
            if not is_kept:
                self._compute(con, operator, partial(self._hold, con))
        views()
        return list(queries)

    @contextlib.contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        # What is computed only as it is small takes no time.
        if not (self.is_one(name) and self.takes_long()):
            yield
            return
        self._told.append(name)
        self._tell_last()
        try:
            yield
        finally:
            self._told.remove(name)
            self._tell_last()

    def _tell_last(self) -> None:
        # While one tells it, others may begin or end: what is told last has to be right.
        last = None
        while last != (now := self._told[-1:]):
            self.tell(now[0] if now else "")
            last = now

    def _compute(self, con: duckdb.DuckDBPyConnection, operator: Operator, put: Put) -> None:
        for table in operator.tables:
            drop(con, table)
        if operator.compute is None:
            put(operator.tables[0], operator.select)
        else:
            operator.compute(con, put, partial(row_group_begins, con, self._sources))

    def _hold(self, con: duckdb.DuckDBPyConnection, table: str, select: str) -> None:
        """Hold rows in memory."""
        self._execute(con, f"CREATE TABLE {table} AS\n{select}")

    def _hold_as(self, con: duckdb.DuckDBPyConnection, query: Query, select: str) -> None:
        """Hold the rows of a query under its name, unless that is the name of somebody's table."""
        import duckdb

        if query.name in self._made:
            drop(con, query.name)
        try:
            self._hold(con, query.name, select)
        except duckdb.CatalogException:  # a transaction has made a view
            con.execute(f"DROP VIEW IF EXISTS {query.name}")
            self._hold(con, query.name, select)

    def _keep(self, con: duckdb.DuckDBPyConnection, operator: Operator, folder: Path) -> bool:
        """Write the rows of an operator to a folder, without holding those that it puts.

        It appears when it is complete.

        Returns:
            Whether it is there now.
        """
        import duckdb

        if no_room(folder.parent.parent):
            return False
        try:
            with writing(con, self._execute, folder) as made:
                self._compute(con, operator, made.put)
                for table in operator.tables:
                    if table not in made.tables:
                        made.put(table, f"FROM {table}")
        except (OSError, duckdb.Error) as error:
            if is_interrupt(error):
                raise
            return folder.is_dir()  # somebody else was faster
        return True

    def _has_its_columns(self, con: duckdb.DuckDBPyConnection, name: str) -> bool:
        """Whether a view has the columns that its query says: anybody can have made a file."""
        found = con.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?"
            " AND database_name = current_database() AND schema_name = 'main'",
            [name],
        ).fetchall()
        return set(found) == {(each.name, each.type) for each in self._catalog[name].columns}

    def _select(self, query: Query) -> Operator:
        """The query by its own SELECT."""
        return Operator(query.name, query.needs, (_table(query.name),), None, select=query.sql)

    def index(self, con: duckdb.DuckDBPyConnection) -> Indexed:
        """Make all of them, if they can be kept in the trace's folder."""
        with self.parts_looked_at() as now:
            refused = self._keeping.refusal(con, now)
        if refused := refused or no_room(self._sources[0].path):
            return Indexed(0, 0, refused)
        queries = [query.name for query in self._catalog if query.materialized]
        self._need(con, queries)
        return Indexed(len(queries), self._keeping.bytes(), "")

    def _folder(self, con: duckdb.DuckDBPyConnection, operator: Operator) -> Path | None:
        """Where the rows are kept; None if only in memory."""
        if not any(map(self.is_one, (operator.name, *operator.queries))):
            return None
        depends_on = (operator.name, *operator.reads, *operator.queries)
        with self.parts_looked_at() as now:
            return self._keeping.folder(con, now, operator.name, depends_on)


def _table(query: str) -> str:
    return f"_derived_{query}"
