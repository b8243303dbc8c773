"""The statements of an opened trace: where they run, and what their errors mean."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from cupti_etl.errors import EtlError, UsageError
from cupti_etl.queries.failure import may_pass, translate
from cupti_etl.queries.interruptible import interruptible
from cupti_etl.queries.views import Views
from cupti_etl.storage.sources import quoted

if TYPE_CHECKING:
    import duckdb

_T = TypeVar("_T")
# A capture exchanges a table's folder in one step, so the next look succeeds.
_ATTEMPTS = 8
_PAUSE_S = 0.05


class Connection:
    """Where the statements of a trace run; safe to use from several threads.

    Args:
        con: of the database that has the views.
        views: what can be asked.

    Attributes:
        folders: those of the trace, which errors may be about.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, views: Views) -> None:
        self.con = con
        self.views = views
        self.folders: tuple[Path, ...] = ()
        self._own: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()
        self._sessions: WeakSet[Connection] = WeakSet()
        self._closed = False
        self._in_transaction = False

    def session(self) -> Connection:
        """The same for one thread, whose statements all run on one connection of its own."""
        self._check_open()
        other = copy.copy(self)
        other.con = other._own = self.views.cursor(self.con)
        other._sessions = WeakSet()
        other._in_transaction = False
        with self._lock:
            self._sessions.add(other)
        return other

    def interrupt(self) -> None:
        """Stop the statement that runs here, and those of the sessions, from another thread."""
        import duckdb

        # One may have been closed by now.
        with contextlib.suppress(duckdb.ConnectionException):
            self.con.interrupt()
        with self._lock:
            sessions = list(self._sessions)
        for each in sessions:
            each.interrupt()

    def close(self) -> None:
        """Let go of everything; results that are still being read fail."""
        import duckdb

        if not self._closed:
            self._closed = True
            # Where others run statements it is closed with the last of them.
            with contextlib.suppress(duckdb.Error):
                if not self._own:
                    self.views.close(self.con)
                self.con.close()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection for one statement."""
        self._check_open()
        return self._own or self.views.cursor(self.con)

    def _check_open(self) -> None:
        if self._closed:
            raise _closed()

    def failure(self, error: Exception) -> EtlError:
        """Why a statement failed, in terms of our errors."""
        return _closed() if self._closed else translate(error, self.folders)

    def bind(
        self,
        con: duckdb.DuckDBPyConnection,
        statement: str,
        action: Callable[[], _T],
        reads: Sequence[str] = (),
    ) -> _T:
        """Bind, or run, a statement, with what it needs.

        Args:
            con: the connection of the statement.
            statement: its text.
            action: binds or runs it.
            reads: queries that it is known to read.
        """
        import duckdb

        def prepared() -> _T:
            # The first time that DuckDB lacks a name it lists all that it has, for milliseconds.
            if self.views.lacks(reads):
                with contextlib.suppress(duckdb.CatalogException):  # somebody's table of that name
                    interruptible(partial(self.views.need, con, reads), self.views.stop)
            return action()

        is_inside = self._in_transaction
        if con.extract_statements(statement)[0].type == duckdb.StatementType.TRANSACTION:
            is_inside, self._in_transaction = (
                statement.lower().startswith(("begin", "start")),
                False,
            )
        bound = prepared if reads and not is_inside else action
        found = self.views.bind(con, bound, is_inside=is_inside)
        self._in_transaction = is_inside
        return found

    def show_tables(self) -> str:
        """What SHOW TABLES means: what can be asked, and what was created here."""
        names = ", ".join(f"({quoted(name)})" for name in self.views.names())
        return (
            f"SELECT name FROM (VALUES {names}) AS known(name) UNION SELECT table_name"
            " FROM information_schema.tables WHERE NOT starts_with(table_name, '_')"
            " AND table_catalog IN (current_database(), 'temp') ORDER BY name"
        )

    def attempt(self, action: Callable[[], _T]) -> _T:
        """Do it, once more where parts were exchanged meanwhile, in terms of our errors."""
        import duckdb
        import pyarrow as pa

        self._check_open()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return action()
            except RuntimeError as error:
                if str(error) == "Query interrupted":
                    # That is how DuckDB passes on the Ctrl-C that it noticed.
                    raise KeyboardInterrupt from error
                raise
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                if attempt == _ATTEMPTS or not self._may_pass(error):
                    raise self.failure(error) from error
                time.sleep(_PAUSE_S * attempt)
                self.views.look.again()
        raise AssertionError("unreachable")

    def _may_pass(self, error: Exception) -> bool:
        return may_pass(error, self.folders) or self.views.was_forgotten(error)


def _closed() -> UsageError:
    return UsageError("the trace is closed", "open it again")
