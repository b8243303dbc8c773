"""The answer to a statement."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cupti_etl.errors import UsageError, need
from cupti_etl.queries.connection import Connection
from cupti_etl.queries.interruptible import interruptible
from cupti_etl.units import counted

if TYPE_CHECKING:
    import altair
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from cupti_etl.queries.query import Query
    from cupti_etl.render.columns import Shape
    from cupti_etl.render.rows import Rows

_T = TypeVar("_T")
_BATCH_ROWS = 65536
_SHOW_TABLES = re.compile(r"show\s+tables", re.IGNORECASE)


class Result:
    """The answer to a statement, as Arrow; anything that reads Arrow streams can take it."""

    def __init__(
        self,
        connection: Connection,
        query: str,
        params: Mapping[str, Any],
        header: Query | None = None,
        why: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._connection = connection
        self._sql = query
        self._params = dict(params)
        self._header = header
        self._why = why
        self._table: pa.Table | None = None
        self._bound: tuple[duckdb.DuckDBPyConnection, Any] | None = None
        self._notes: tuple[str, ...] = ()
        connection.attempt(self._start)

    @classmethod
    def of_rows(
        cls,
        connection: Connection,
        rows: pa.Table,
        header: Query,
        notes: tuple[str, ...],
        why: Callable[[], Iterable[str]] = tuple,
    ) -> Result:
        """An answer that was computed elsewhere, and what belongs beside it."""
        result = cls.__new__(cls)
        result._connection, result._header, result._notes = connection, header, notes
        result._table, result._columns, result._why = rows, tuple(rows.column_names), why
        return result

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that belong beside the rows: what workers estimated, and what befell them."""
        return self._notes

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._columns

    @property
    def shape(self) -> Shape:
        """What the columns are: units, labels, and which people want first."""
        from cupti_etl.render.columns import shape

        return replace(shape(self.columns, self._header), why=self._why)

    def ask(self, sql: str) -> Result:
        """More of the same trace."""
        return Result(self._connection, sql, {})

    def refined(self, clauses: str) -> Rows:
        """The rows that the clauses of a SELECT, such as WHERE and LIMIT, leave over.

        Raises:
            UsageError: DuckDB refuses them.
        """
        if self._table is not None:
            from cupti_etl.render.output import InMemory

            rows = InMemory(self._table).refined(clauses)
            if self._header is None:
                return rows
            return Result.of_rows(self._connection, rows.table, self._header, self._notes)
        sql = f"SELECT * FROM (\n{self._statement}\n) {clauses}"
        return Result(self._connection, sql, self._params, self._header)

    def arrow(self) -> pa.Table:
        """All rows, in memory."""
        if self._table is not None:
            return self._table
        return self._connection.attempt(lambda: self._relation()[1].to_arrow_table())

    def reader(self, batch_rows: int = _BATCH_ROWS) -> pa.RecordBatchReader:
        """The rows in batches, without ever holding all of them.

        Raises:
            TraceError: while reading, parts vanished or turned out to be damaged.
        """
        import pyarrow as pa

        if self._table is not None:
            return self._table.to_reader(max_chunksize=batch_rows)
        # Once a batch is handed out nothing can be tried again, so the first one is fetched here.
        con, stream, first = self._connection.attempt(lambda: self._begin(batch_rows))
        return pa.RecordBatchReader.from_batches(stream.schema, self._batches(con, stream, first))

    def count(self) -> int:
        """How many rows there are; far cheaper than reading them."""
        if self._table is not None:
            return int(self._table.num_rows)
        count = f"SELECT count(*) AS n FROM (\n{self._statement}\n)"
        counted = Result(self._connection, count, self._params)
        return int(counted.arrow()["n"][0].as_py())

    def df(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame.

        Raises:
            UsageError: pandas is not installed.
        """
        need("pandas", todo="pip install pandas; or use .arrow()")
        return self.arrow().to_pandas()

    def pl(self) -> pl.DataFrame:
        """All rows as a polars DataFrame.

        Raises:
            UsageError: polars is not installed.
        """
        need("polars", todo="pip install polars; or use .arrow()")
        import polars

        frame = polars.from_arrow(self.arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def show(
        self, *, wide: bool = False, raw: bool = False, time_unit: str = "auto", limit: int = 40
    ) -> None:
        """Print the first rows as ``cupti-etl query`` does.

        Args:
            wide: every column.
            raw: values as they are.
            time_unit: of durations: auto, ns, us, ms or s.
            limit: how many rows.
        """
        from cupti_etl.render.table import View
        from cupti_etl.render.text import show

        show(self, View(wide, raw, time_unit, limit))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all rows to a file; its suffix says how: .csv, .json, .arrow, .parquet, .md, .html.

        Raises:
            UsageError: it is not the suffix of a format, or the file cannot be written.
        """
        from cupti_etl.render.output import Output, write

        write(self, Output(path=Path(path)))

    def plot(self) -> altair.Chart:
        """The chart that suits the query, by Altair.

        Raises:
            UsageError: none suits, or Altair is not installed.
        """
        from cupti_etl.render.chart import chart

        return chart(self)

    def _repr_html_(self) -> str:
        from cupti_etl.render.html import notebook_html
        from cupti_etl.render.table import View

        return notebook_html(self, View())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, one dictionary each."""
        for batch in self.reader():
            yield from batch.to_pylist()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Result of {counted(len(self.columns), 'column')}: {', '.join(self.columns)}>"

    def _start(self) -> None:
        """Check the statement; run it, unless it is a SELECT."""
        import duckdb
        import pyarrow as pa

        con = self._connection.cursor()
        statements = [each.query for each in con.extract_statements(self._sql)]
        if not statements:
            raise UsageError("there is no statement to run")
        if not all(statements):  # DuckDB 1.5 makes several of one PIVOT, some without a text
            statements = [self._sql]
        for statement in statements[:-1]:
            params = {name: self._params[name] for name in _named(con, statement, self._params)}
            self._connection.bind(con, statement, partial(con.execute, statement, params or None))
            while con.fetchmany(_BATCH_ROWS):
                pass
        self._statement = statements[-1].strip().rstrip(";")
        if _SHOW_TABLES.fullmatch(self._statement):
            self._statement = self._connection.show_tables()
        last = con.extract_statements(self._statement)
        relation = self._bind(con)
        is_select = len(last) == 1 and last[0].type == duckdb.StatementType.SELECT
        if is_select and len(set(relation.columns)) < len(relation.columns):
            # Of a subquery DuckDB gives each column a name of its own.
            self._statement = f"FROM (\n{self._statement}\n)"
            relation = self._bind(con)
        if is_select and len(statements) == 1:
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
        reads = (self._header.name,) if self._header else ()
        return self._connection.bind(con, self._statement, sql, reads)

    def _relation(self) -> tuple[duckdb.DuckDBPyConnection, Any]:
        """The statement, ready to run: the one that was checked, or a fresh one thereafter."""
        bound, self._bound = self._bound, None
        if bound is not None:
            return bound
        con = self._connection.cursor()
        return con, self._bind(con)

    def _begin(
        self, batch_rows: int
    ) -> tuple[duckdb.DuckDBPyConnection, pa.RecordBatchReader, pa.RecordBatch | None]:
        con, relation = self._relation()

        def begin() -> tuple[pa.RecordBatchReader, pa.RecordBatch | None]:
            stream = relation.to_arrow_reader(batch_rows)
            return stream, next(iter(stream), None)

        return con, *interruptible(begin, con.interrupt)

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
                batch = interruptible(lambda: next(iter(stream), None), con.interrupt)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._connection.failure(error) from error


def _named(
    con: duckdb.DuckDBPyConnection, statement: str, params: Mapping[str, Any]
) -> Iterator[str]:
    """The parameters that a statement, one of several, has."""
    (parsed,) = con.extract_statements(statement)
    return (name for name in params if name in parsed.named_parameters)
