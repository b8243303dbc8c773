"""Tables and queries of a trace as views, each made when a statement first asks for it.

DuckDB binds a statement before it runs it, and says which name it does not know: that one is
made, with what it needs, and the statement is bound again.  So opening a trace costs what the
question costs, and aliases, strings and names of people's own tables mean what they mean in SQL.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from cupti_etl.errors import UsageError
from cupti_etl.queries import small_tables
from cupti_etl.queries.catalog import TABLE_EXTENT, TABLE_ROWS, Catalog
from cupti_etl.queries.derived import Indexed
from cupti_etl.queries.interruptible import interruptible
from cupti_etl.queries.known_names import KnownNames
from cupti_etl.queries.making import Making
from cupti_etl.queries.materialize import Materialized, Operators
from cupti_etl.queries.query import Query
from cupti_etl.queries.rows_known import RowsKnown
from cupti_etl.queries.scope import Choice
from cupti_etl.queries.table_views import TableViews
from cupti_etl.queries.tables import table_rows
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.sources import Folder, Source, identifier
from cupti_etl.storage.state import Look, State, by_table

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_T = TypeVar("_T")


class Views:
    """What can be asked of some sources; safe to use from several threads.

    Args:
        catalog: the queries.
        operators: gives them, by the name of the query that each computes.
        choice: of whom rows are asked; None for all.
        is_part: whether not all parts of the trace are read.
    """

    def __init__(
        self,
        catalog: Catalog,
        operators: Operators,
        choice: Choice | None = None,
        *,
        is_part: bool = False,
    ) -> None:
        self._catalog = catalog
        self._choice = choice
        self._making, self._names = Making(self.cursor), KnownNames(catalog)
        self._tables = TableViews(choice)
        self._table_lock = threading.Lock()
        self._sources: tuple[Source, ...] = ()
        # The parts as they are now, and which rows they are known to have.
        self.look, self.rows_known = Look(()), RowsKnown(catalog)
        self._folders: tuple[Folder, ...] = ()
        # Queries without a row, as what they require is nowhere in the trace.
        self._unanswerable: set[str] = set()
        self.is_whole, self._is_all = choice is None, choice is None and not is_part
        # The parts when a statement was bound last.
        self._state: State = ()
        self.renewals = 0  # how often something was taken away
        self._parts: dict[str, State] = {}
        # What was made, and when.  A hint: where it is wrong, the binder says so.
        self._made: dict[str, int] = {}
        self._turns = itertools.count()
        self._materialized = Materialized(
            catalog, operators, self._need, self._execute, self._looked, is_part=not self._is_all
        )

    def open(self, sources: Sequence[Source]) -> None:
        """Say where the rows are, before anything is asked."""
        self._sources, self.look = tuple(sources), Look(sources)
        self._folders = tuple(each for each in sources if isinstance(each, Folder))
        self._state, self._parts = (), {}
        self._names.open(self._sources)
        self._tables.open(self._sources)
        self._materialized.open(self._sources)

    def close(self, con: duckdb.DuckDBPyConnection) -> None:
        """Let go of what was made; nothing is asked from now on."""

    def cursor(self, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Another connection, on which names mean these views."""
        return con.cursor()

    def reopen(self, con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
        """Say that the rows are of others from now on; what was made is of those, too."""
        with self._making.alone(con) as beside:
            self.open(sources)
            self._forget_unanswerable(beside)
            tables = sorted(self._made.keys() & TABLES.keys())
            self._renew(beside, tables, self._materialized.names)

    def names(self) -> list[str]:
        """What can be asked, whether it was made or not."""
        return self._names.all()

    def bind(
        self, con: duckdb.DuckDBPyConnection, action: Callable[[], _T], *, is_inside: bool = False
    ) -> _T:
        """Bind a statement, and make what it lacks.

        Args:
            con: the connection of the statement.
            action: binds, or runs, one statement; where a name is not known it has done nothing.
            is_inside: whether the connection is in a transaction.

        Raises:
            duckdb.Error: the statement is wrong, or a part cannot be read.
            TraceError: a part holds other types than the schema says.
        """
        import duckdb

        if not is_inside:
            self._refresh(con)
        before = ""
        while True:
            turn = next(self._turns)
            try:
                return action()
            except duckdb.CatalogException as error:
                name = self._names.missing(error)
                # Another thread may have noticed meanwhile that it is out of date.
                is_there = is_inside or self._made.get(name, turn) < turn
                if not name or (name == before and is_there):
                    raise
                if is_inside:
                    self._make_inside(con, name)
                else:
                    # Ctrl-C that comes between the short statements of it is heard, too.
                    interruptible(partial(self._make_beside, con, name, turn), self.stop)
                before = name

    def _make_beside(self, con: duckdb.DuckDBPyConnection, name: str, turn: int) -> None:
        with self._making.connection(con) as beside:
            self._make(beside, name, turn)

    def _make_inside(self, con: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make something in a transaction, which sees what was made in it and before it began.

        It is read by its SQL, also once that is committed, and not noted, as it may be rolled back.
        """
        if name in self._catalog:
            statement = self._catalog[name].create
        elif statement := self._names.statement(name, self._tables.without_rows):
            pass
        else:
            with self._making.connection(con), self._table_lock:
                self._read_tables(con, (name,))
            return
        self.bind(con, partial(con.execute, statement), is_inside=True)

    def tell(self, told: Callable[[str], None]) -> None:
        """Say what is computed: see ``Materialized``."""
        self._materialized.tell = told

    def index(self, con: duckdb.DuckDBPyConnection) -> Indexed:
        """Compute all that is computed once for a trace, if it can be kept in its folder."""
        self._refresh(con)
        with self._making.connection(con) as beside:
            return interruptible(partial(self._materialized.index, beside), self.stop)

    def prepare(self, con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """Make what statements are going to need."""
        self._refresh(con)
        interruptible(partial(self.need, con, names), self.stop)

    def need(self, con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """Make what is not there yet, for views over these."""
        with self._making.connection(con) as beside:
            self._need(beside, names)

    def lacks(self, names: Sequence[str]) -> bool:
        """Whether one of them is still to be made."""
        return not self._made.keys() >= set(names)

    def stop(self) -> None:
        """Stop what is being made, from another thread."""
        self._making.stop()

    def most_at_once(self, con: duckdb.DuckDBPyConnection) -> int:
        """How many statements have room for what they need."""
        with self._making.connection(con) as beside:
            return self._making.most_at_once(beside)

    def was_forgotten(self, error: Exception) -> bool:
        """Whether a statement that was bound lacks what was taken away since."""
        import duckdb

        return isinstance(error, duckdb.CatalogException) and bool(self._names.missing(error))

    def _refresh(self, con: duckdb.DuckDBPyConnection, now: State | None = None) -> None:
        """Forget what was made of parts that are no longer those of the trace.

        Args:
            now: the parts, if somebody has looked.
        """
        now = self.look() if now is None else now
        is_known = now == self._state and not self._tables.changed(self._parts)
        if is_known and not self._materialized.stale(now):
            return
        with self._making.alone(con) as beside:
            now = self.look()  # who waited has seen older ones
            if now != self._state:
                self._state, self._parts = now, by_table(now, self._folders)
                self._forget_unanswerable(beside)
            changed = self._tables.changed(self._parts)
            self._renew(beside, changed, self._materialized.stale(now))

    def _looked(self) -> State:
        return self._state

    def _forget_unanswerable(self, con: duckdb.DuckDBPyConnection) -> None:
        """Take away the queries without a row, so that they are made again when asked for."""
        for name in self._unanswerable:
            what = "MACRO TABLE" if self._catalog[name].parameters else "VIEW"
            con.execute(f"DROP {what} IF EXISTS {name}")
            self._made.pop(name, None)
        self._unanswerable.clear()

    def _renew(
        self, con: duckdb.DuckDBPyConnection, filled: Sequence[str], stale: Sequence[str]
    ) -> None:
        self._make_tables(con, filled, next(self._turns))
        for name in {TABLE_ROWS, TABLE_EXTENT} & self._made.keys() if filled else ():
            self._make(con, name, next(self._turns))
        # What reads them is there, but they have to be made anew before it is read.
        gone = set(stale)
        for query in self._catalog if stale else ():
            if gone.intersection(query.needs):
                gone.add(query.name)
        for name in gone:
            self._made.pop(name, None)
        self.renewals += 1
        self._materialized.forget(con, stale)

    def _make(self, con: duckdb.DuckDBPyConnection, name: str, turn: int = -1) -> None:
        """Make something, unless another thread has made it since.

        To make it again would take away what others read.
        """
        with self._making.taken(self._materialized.made_with(name)), self._making.taken(name):
            if self._made.get(name, -1) > turn:
                return
            self._need(con, tuple(TABLES) if name == TABLE_EXTENT else ())
            if self._choice and name in self._choice.given:
                self._give(con, name, self._choice.given[name])
            elif name in self._catalog:
                self._define(con, self._catalog[name])
            elif name not in TABLES and (
                statement := self._names.statement(name, self._tables.without_rows)
            ):
                self._execute(con, statement)
            else:
                self._make_tables(con, (name,), turn)
            self._note((name,))

    def _note(self, names: Iterable[str]) -> None:
        self._made.update(dict.fromkeys(names, next(self._turns)))

    def _give(self, con: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
        """Make a table or a query of rows that somebody else has found."""
        con.register("_rows", rows)
        con.execute(f"CREATE OR REPLACE TABLE _given_{name} AS FROM _rows")
        con.unregister("_rows")
        con.execute(f"CREATE OR REPLACE VIEW {identifier(name)} AS FROM _given_{name}")

    def _define(self, con: duckdb.DuckDBPyConnection, query: Query) -> None:
        """Make a query.

        Raises:
            UsageError: it is about the whole trace, and not all GPUs are asked.
        """
        if query.name == "capture_health" and self._choice and self._choice.some_gpus:
            raise UsageError(
                "capture_health is about the whole trace", "ask it without choosing GPUs"
            )
        if self._choice and (known := self._choice.known(query)):
            con.execute(f"CREATE OR REPLACE VIEW {query.name} AS\n{known}")
        elif query.name == TABLE_ROWS and self._folders == self._sources and not self._choice:
            there = TABLES.keys() & self._tables.there
            self._tables.without_parts.update(TABLES.keys() - there)
            rows = table_rows(self._folders, there)
            con.execute(f"CREATE OR REPLACE VIEW {TABLE_ROWS} AS\n{rows}")
        elif self._is_unanswerable(con, query):
            con.execute(replace(query, sql=query.no_rows).create)
            self._unanswerable.add(query.name)
        elif query.materialized:
            self._note(self._materialized.make(con, query))
        else:
            with self._materialized.parts_looked_at():
                self._need(con, query.needs)
                if not self._materialize_small(con, query):
                    self._execute(con, query.create)

    def _is_unanswerable(self, con: duckdb.DuckDBPyConnection, query: Query) -> bool:
        names = (name for name, _ in query.requires if self._is_all)
        ordered = sorted(names, key=self._materialized.told_late)
        return any(self._has_no_row(con, name, query) for name in ordered)

    def _has_no_row(
        self, con: duckdb.DuckDBPyConnection, name: str, reader: Query | None = None
    ) -> bool:
        """Whether a table or query, and with it a ``reader``, has no row, as far as is known."""
        if name in TABLES:
            self._need(con, (name,))
            return name in self._tables.without_rows
        query = self._catalog[name]
        if self._is_unanswerable(con, query):
            return True
        if not query.materialized:
            return False
        is_first = query.rare or name in self._made
        beside = self._beside(con, reader) if reader and not is_first else ()
        self._need(con, (name, *beside))
        return not self.rows_known.has_row(
            name, self._state, lambda sql: con.execute(sql).fetchall()
        )

    def _beside(self, con: duckdb.DuckDBPyConnection, query: Query) -> Sequence[str]:
        """What a query reads, if that is begun before the query is known to have rows."""
        if not self._materialized.takes_long() or not self._making.has_helpers(con):
            return ()
        return self._materialized.reads(query)

    def _materialize_small(self, con: duckdb.DuckDBPyConnection, query: Query) -> bool:
        """Materialize a query of few rows, in memory; whether that was done.

        To bind what it is made of takes longer than to compute it, and each that reads it would
        bind it again.
        """
        import duckdb

        size = small_tables.size(self._catalog, query.name, self._table_bytes, self._rowless())
        if query.parameters or size > self._tables.most_bytes:
            return False
        try:
            self._note(self._materialized.make(con, query))
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            # Whoever asks for what cannot be computed is told so; others may ask for less.
            return False
        return True

    def _table_bytes(self, table: str) -> int:
        return self._tables.bytes(table)

    def _rowless(self) -> set[str]:
        return set(self._unanswerable)

    def _need(self, con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """Make what is not there yet, before the binder has to ask for one after the other."""
        missing = [name for name in dict.fromkeys(names) if name not in self._made]
        given = self._choice.given if self._choice else {}
        if tables := [name for name in missing if name in TABLES and name not in given]:
            self._make_tables(con, tables)
        missing = [name for name in missing if name not in self._made]
        self._making.each(con, missing, self._make)

    def _execute(self, con: duckdb.DuckDBPyConnection, statement: str) -> None:
        """Run a statement of our own, and make what it lacks."""
        import duckdb

        before = ""
        while True:
            turn = next(self._turns)
            try:
                con.execute(statement)
                return
            except duckdb.CatalogException as error:
                name = self._names.missing(error)
                if name in ("", before):
                    raise
                self._make(con, name, turn)
                before = name

    def _make_tables(
        self, con: duckdb.DuckDBPyConnection, tables: Sequence[str], turn: int = -1
    ) -> None:
        """Make tables, but for those that another thread has made since."""
        with self._table_lock:
            tables = [table for table in tables if self._made.get(table, -1) <= turn]
            self._read_tables(con, tables)
            self._note(tables)

    def _read_tables(self, con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
        self._tables.make(con, tables)
