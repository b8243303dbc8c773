"""Opening a trace and asking it: ``cupti_etl.open("run42").sql("FROM kernel_summary")``.

A trace is the folder of Parquet parts that a capture writes, also while it is still
writing, or a self-contained ``.duckdb`` file; several are opened as one.  Every table and
every query of the library is a view; answers are Arrow.
"""

from __future__ import annotations

import copy
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from cupti_etl.errors import TraceError, UsageError
from cupti_etl.pm import attribution
from cupti_etl.queries import operators
from cupti_etl.queries.catalog import library
from cupti_etl.queries.failure import may_pass, translate
from cupti_etl.queries.materialize import DERIVED
from cupti_etl.queries.runner import call, check_values, connect
from cupti_etl.queries.tables import empty_table, found_tables, table_view
from cupti_etl.queries.views import Views
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.storage.sources import Folder, Given, Source, expand, globs, open_sources, quoted

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_T = TypeVar("_T")
# A capture exchanges a table's folder in one step, so the next look succeeds.
_ATTEMPTS = 8
_PAUSE_S = 0.05
_BATCH_ROWS = 65536
_SHOW_TABLES = re.compile(r"show\s+tables", re.IGNORECASE)


def open(*paths: Given | Iterable[Given], confined: bool = False) -> Trace:
    """Open a trace, or several as one: ``open("run42")``, ``open("node1", "node2.duckdb")``.

    Args:
        paths: folders and self-contained files, patterns such as ``"run-*"``, lists of them.
        confined: statements reach no file but the trace's, and no setting, for those that
            nobody has typed; else ``sql`` reads and writes whatever it names.

    Raises:
        TraceError: a path does not exist, is not a trace, is of a newer version of
            cupti-etl, or holds a part that cannot be read.
        UsageError: two of them hold the same capture.
    """
    return Trace(tuple(expand(paths)), confined)


@dataclass(frozen=True)
class Indexed:
    """What ``Trace.index`` did.

    Attributes:
        queries: how many are computed now.
        bytes: of the folder ``derived``.
        refused: why nothing was computed; "" if it was.
    """

    queries: int
    bytes: int
    refused: str


class Trace:
    """A trace that can be asked; safe to use from several threads.

    Use it as a context manager, or call ``close``.  Statements that create something
    (``CREATE TABLE``, ``SET``) last as long as the trace is open and never change its files.
    """

    def __init__(self, paths: tuple[Path, ...], confined: bool = False) -> None:
        self._lock = threading.Lock()
        self._con = connect(paths if confined else None)
        self._session: duckdb.DuckDBPyConnection | None = None
        self._views = Views(library(), {**attribution.OPERATORS, **operators.OPERATORS})
        self._closed = False
        self._in_transaction = False
        self._sources: tuple[Source, ...] = ()
        self._folders: tuple[Path, ...] = ()
        try:
            self._sources = open_sources(self._con, paths)
            self._folders = tuple(s.path for s in self._sources if isinstance(s, Folder))
            self._attempt(self._check_version)
            if len(paths) > 1:
                self._sources = self._attempt(self._in_order)
            self._views.open(self._sources)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The first of ``paths``."""
        return self.paths[0]

    @property
    def paths(self) -> tuple[Path, ...]:
        """The trace's folders and files, as absolute paths, in the order of their captures."""
        return tuple(source.path for source in self._sources)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of the trace; each is there, with or without rows."""
        return tuple(found_tables(self._sources))

    def sql(self, query: str, **params: Any) -> Result:
        """Run SQL over the tables and queries of the trace.

        A SELECT runs when its rows are asked for, and again each time they are; anything
        else runs at once.  ``params`` are the values of ``$name`` in the text.

        Raises:
            UsageError: DuckDB refuses the statement; the message is DuckDB's.
            TraceError: a part is damaged, or has vanished.
        """
        return Result(self, query, params)

    def query(self, name: str, **params: Any) -> Result:
        """Run a query of the library, with values for its parameters.

        Raises:
            UsageError: there is no such query or parameter, or a parameter is missing or of another
                type.
            TraceError: a part is damaged, or has vanished.
        """
        query = library()[name]
        text = call(query, params)
        if params:
            check_values(self._connection(), query, params)
        return self.sql(text, **params)

    def session(self) -> Trace:
        """The same trace on one connection of its own, as a shell needs it.

        There, temporary tables and transactions last from one statement to the next; it is
        for one thread, and each result must be read before the next statement.
        """
        other = copy.copy(self)
        other._con = other._session = self._con.cursor()
        return other

    def index(self) -> Indexed:
        """Compute now what is otherwise computed when a query first needs it.

        Raises:
            TraceError: a part is damaged, or has vanished.
        """
        refused = self._attempt(lambda: self._views.refusal(self._connection()))
        names = [] if refused else [query.name for query in library() if query.materialized]
        for name in names:
            self.sql(f"FROM {name}")
        folder = self.path / DERIVED
        size = 0 if refused else sum(file.stat().st_size for file in folder.glob("*/*"))
        return Indexed(len(names), size, refused)

    def close(self) -> None:
        """Let go of everything; results that are still being read fail."""
        self._closed = True
        self._con.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"cupti_etl.open({', '.join(repr(str(path)) for path in self.paths)})"

    def _connection(self) -> duckdb.DuckDBPyConnection:
        """A connection for one statement."""
        if self._closed:
            raise UsageError("the trace is closed", "open it again")
        return self._session or self._con.cursor()

    def _bind(self, con: duckdb.DuckDBPyConnection, statement: str, action: Callable[[], _T]) -> _T:
        """Bind, or run, a statement, with what it needs."""
        import duckdb

        (parsed,) = con.extract_statements(statement)
        if parsed.type == duckdb.StatementType.TRANSACTION:
            self._in_transaction = statement.split()[0].lower() in ("begin", "start")
        if self._in_transaction:
            self._views.prepare(con, statement)
        return self._views.bind(con, action)

    def _show_tables(self) -> str:
        """What SHOW TABLES means: what can be asked, and what was created here."""
        names = ", ".join(f"({quoted(name)})" for name in self._views.names())
        return (
            f"SELECT name FROM (VALUES {names}) AS known(name) UNION SELECT table_name"
            " FROM information_schema.tables WHERE NOT starts_with(table_name, '_')"
            " AND table_catalog IN (current_database(), 'temp') ORDER BY name"
        )

    def _attempt(self, action: Callable[[], _T]) -> _T:
        """Do it, once more where parts were exchanged meanwhile, in terms of our errors."""
        import duckdb
        import pyarrow as pa

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return action()
            except RuntimeError as error:
                if str(error) == "Query interrupted":
                    # That is how DuckDB passes on the Ctrl-C that it noticed.
                    raise KeyboardInterrupt from error
                raise
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                if attempt == _ATTEMPTS or not may_pass(error, self._folders):
                    raise translate(error, self._folders) from error
                time.sleep(_PAUSE_S * attempt)
        raise AssertionError("unreachable")

    def _check_version(self) -> None:
        patterns = [each for table in TABLES for each in globs(self._folders, table)]
        if not patterns:
            return
        newest = self._con.sql(
            "SELECT file_name, decode(value) AS version"
            f" FROM parquet_kv_metadata([{', '.join(map(quoted, patterns))}])"
            " WHERE decode(key) = 'cupti_etl.schema_version'"
            f" AND try_cast(decode(value) AS INTEGER) > {SCHEMA_VERSION} LIMIT 1"
        ).fetchall()
        for part, version in newest:
            raise TraceError(
                f"{part} has table layout {version}; this cupti-etl knows {SCHEMA_VERSION}",
                "open it with the version of cupti-etl that wrote it, or a newer one",
            )

    def _in_order(self) -> tuple[Source, ...]:
        """The sources by the start of their captures; no capture may be in two of them."""
        started: dict[Source, int] = {}
        held: dict[int, Source] = {}
        for source in self._sources:
            rows = table_view((source,), "capture") or empty_table("capture")
            found = self._con.sql(f"SELECT capture_id, start_ns FROM ({rows})").fetchall()
            started[source] = max((start or 0 for _, start in found), default=0)
            for capture_id, _ in found:
                if held.setdefault(capture_id, source) is not source and capture_id is not None:
                    raise UsageError(
                        f"{held[capture_id].path} and {source.path} hold the same capture",
                        "every row would be there twice: give one of them",
                    )
        return tuple(sorted(self._sources, key=lambda source: started[source]))


class Result:
    """The answer to a statement, as Arrow; anything that reads Arrow streams can take it."""

    def __init__(self, trace: Trace, query: str, params: Mapping[str, Any]) -> None:
        self._trace = trace
        self._sql = query
        self._params = dict(params)
        self._table: pa.Table | None = None
        self._bound: tuple[duckdb.DuckDBPyConnection, Any] | None = None
        trace._attempt(self._start)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._columns

    def arrow(self) -> pa.Table:
        """All rows, in memory."""
        if self._table is not None:
            return self._table
        return self._trace._attempt(lambda: self._relation()[1].to_arrow_table())

    def reader(self, batch_rows: int = _BATCH_ROWS) -> pa.RecordBatchReader:
        """The rows in batches, without ever holding all of them.

        Raises:
            TraceError: while reading, parts vanished or turned out to be damaged.
        """
        import pyarrow as pa

        if self._table is not None:
            return self._table.to_reader(max_chunksize=batch_rows)
        # Once a batch is handed out nothing can be tried again, so the first one is fetched here.
        con, stream, first = self._trace._attempt(lambda: self._begin(batch_rows))
        return pa.RecordBatchReader.from_batches(stream.schema, self._batches(con, stream, first))

    def count(self) -> int:
        """How many rows there are; far cheaper than reading them."""
        if self._table is not None:
            return int(self._table.num_rows)
        counted = self._trace.sql(
            f"SELECT count(*) AS n FROM (\n{self._statement}\n)", **self._params
        )
        return int(counted.arrow()["n"][0].as_py())

    def df(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame.

        Raises:
            UsageError: pandas is not installed.
        """
        _need("pandas")
        return self.arrow().to_pandas()

    def pl(self) -> pl.DataFrame:
        """All rows as a polars DataFrame.

        Raises:
            UsageError: polars is not installed.
        """
        _need("polars")
        import polars

        frame = polars.from_arrow(self.arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, one dictionary each."""
        for batch in self.reader():
            yield from batch.to_pylist()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Result of {len(self.columns)} columns: {', '.join(self.columns)}>"

    def _start(self) -> None:
        """Check the statement; run it, unless it is a SELECT."""
        import duckdb
        import pyarrow as pa

        con = self._trace._connection()
        statements = [each.query for each in con.extract_statements(self._sql)]
        if not statements:
            raise UsageError("there is no statement to run")
        for statement in statements[:-1]:
            params = {name: self._params[name] for name in _named(con, statement, self._params)}
            self._trace._bind(con, statement, partial(con.execute, statement, params or None))
            while con.fetchmany(_BATCH_ROWS):
                pass
        self._statement = statements[-1].strip().rstrip(";")
        if _SHOW_TABLES.fullmatch(self._statement):
            self._statement = self._trace._show_tables()
        (last,) = con.extract_statements(self._statement)
        relation = self._bind(con)
        if last.type == duckdb.StatementType.SELECT and len(statements) == 1:
            self._bound = (con, relation)
            self._columns = tuple(relation.columns)
            return
        table = pa.table({}) if relation is None else relation.to_arrow_table()
        # DuckDB 2 answers a statement without rows with how it went.
        silent = table.column_names in (["Count"], ["Success"])
        self._table = pa.table({}) if silent else table
        self._columns = tuple(self._table.column_names)

    def _bind(self, con: duckdb.DuckDBPyConnection) -> Any:
        """The statement, ready to run, or what came of it if it is no SELECT."""
        sql = partial(con.sql, self._statement, params=self._params or None)
        return self._trace._bind(con, self._statement, sql)

    def _relation(self) -> tuple[duckdb.DuckDBPyConnection, Any]:
        """The statement, ready to run: the one that was checked, or a fresh one thereafter."""
        bound, self._bound = self._bound, None
        if bound is not None:
            return bound
        con = self._trace._connection()
        return con, self._bind(con)

    def _begin(
        self, batch_rows: int
    ) -> tuple[duckdb.DuckDBPyConnection, pa.RecordBatchReader, pa.RecordBatch | None]:
        con, relation = self._relation()

        def begin() -> tuple[pa.RecordBatchReader, pa.RecordBatch | None]:
            stream = relation.to_arrow_reader(batch_rows)
            return stream, next(iter(stream), None)

        return con, *_interruptible(con, begin)

    def _batches(
        self,
        con: duckdb.DuckDBPyConnection,
        stream: pa.RecordBatchReader,
        batch: pa.RecordBatch | None,
    ) -> Iterator[pa.RecordBatch]:
        import duckdb
        import pyarrow as pa

        try:
            while batch is not None:
                yield batch
                batch = _interruptible(con, lambda: next(iter(stream), None))
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise translate(error, self._trace._folders) from error


def _named(
    con: duckdb.DuckDBPyConnection, statement: str, params: Mapping[str, Any]
) -> Iterator[str]:
    """The parameters that a statement, one of several, has."""
    (parsed,) = con.extract_statements(statement)
    return (name for name in params if name in parsed.named_parameters)


def _interruptible(con: duckdb.DuckDBPyConnection, action: Callable[[], _T]) -> _T:
    """Do it in such a way that Ctrl-C stops it.

    While the main thread waits inside Arrow for DuckDB's next batch, Python cannot act on
    a signal; so another thread waits there.
    """
    if threading.current_thread() is not threading.main_thread():
        return action()
    outcome: Future[_T] = Future()

    def work() -> None:
        try:
            outcome.set_result(action())
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        con.interrupt()
        thread.join()
        raise


def _need(module: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise UsageError(f"{module} is not installed", f"pip install {module}; or use .arrow()")
