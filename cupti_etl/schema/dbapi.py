"""DuckDB behind the parts of PEP 249 that SQLAlchemy uses.

DuckDB's own cursors differ in two ways that SQLAlchemy cannot live with:
``DuckDBPyConnection.cursor()`` is a second connection with a transaction of its own,
and one open result blocks its connection.  Here cursors share their connection's
transaction, and a result is read into memory when its statement is executed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import duckdb

# What DuckDB reports as the columns of a statement that has no rows to return.
STATUS_COLUMNS = (["Count"], ["Success"])


class Cursor:
    """One statement at a time, with its result."""

    arraysize = 1

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self._next = 0
        self.description: Sequence[Any] | None = None
        self.rowcount = -1

    def execute(self, operation: str, parameters: Sequence[Any] | None = None) -> None:
        """Run a statement and read its whole result."""
        self._connection.execute(operation, parameters or None)
        rows, self._next = self._connection.fetchall(), 0
        self._rows, self.description, self.rowcount = rows, self._connection.description, -1
        names = [column[0] for column in self.description or ()]
        if names in STATUS_COLUMNS and not self._is_query(operation):
            self.rowcount = rows[0][0] if rows else -1
            self._rows, self.description = [], None

    def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each set of parameters, without results."""
        self._connection.executemany(operation, parameters)
        self._rows, self._next, self.description, self.rowcount = [], 0, None, -1

    def _is_query(self, operation: str) -> bool:
        last = self._connection.extract_statements(operation)[-1]
        return bool(last.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT])

    def fetchone(self) -> Any | None:
        """The next row; None behind the last one."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int = 1) -> list[Any]:
        """The next ``size`` rows."""
        rows = self._rows[self._next : self._next + size]
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        return self.fetchmany(len(self._rows))

    def close(self) -> None:
        """Drop the result."""
        self._rows = []


class Connection:
    """A connection that begins a transaction when it is told to, and then only."""

    def __init__(self, driver_connection: duckdb.DuckDBPyConnection) -> None:
        self.driver_connection = driver_connection
        self._in_transaction = False

    def cursor(self) -> Cursor:
        """A cursor in this connection's transaction."""
        return Cursor(self.driver_connection)

    def begin(self) -> None:
        """Start a transaction, if there is none."""
        if not self._in_transaction:
            self.driver_connection.begin()
            self._in_transaction = True

    def commit(self) -> None:
        """End the transaction, if there is one."""
        if self._in_transaction:
            self._in_transaction = False
            self.driver_connection.commit()

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""
        if self._in_transaction:
            self._in_transaction = False
            # A COMMIT that failed, or that was sent as a statement, has ended it.
            with contextlib.suppress(duckdb.TransactionException):
                self.driver_connection.rollback()

    def close(self) -> None:
        """Close the connection; DuckDB then lets go of the file."""
        self.driver_connection.close()
