"""Threads that make the tables and queries of a trace: nothing twice, and several at once.

A thread that needs what another is making waits for it.  As nothing needs itself, one of them can
always go on.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from cupti_etl.units import size_bytes

if TYPE_CHECKING:
    import duckdb

# More of them would wait for one another.
MOST_THREADS = 4
# What one may need, of what DuckDB may have, beside that.
_EACH_BYTES = 2 << 30


class Making:
    """Who makes something of one trace at the moment.

    Args:
        cursor: gives another connection, beside one.
    """

    def __init__(
        self, cursor: Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyConnection]
    ) -> None:
        self._cursor = cursor
        # Guards all that follows.
        self._changed = threading.Condition()
        self._callers = 0
        # How many of them are, or wait to be, the only one.
        self._to_be_alone = 0
        # Threads that neither wait nor look for something to do, and how many there may be.
        self._busy = 0
        self._most = 0
        self._taken: set[str] = set()
        self._cursors: set[duckdb.DuckDBPyConnection] = set()
        # What a thread, or the one that it helps, has taken.
        self._here = threading.local()

    @contextlib.contextmanager
    def connection(self, con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
        """Where a caller makes something, when nobody is, or waits to be, ``alone``."""
        with self._entered(con, lambda: not self._to_be_alone) as own:
            yield own

    @contextlib.contextmanager
    def alone(self, con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
        """The same for who takes away what was made: no other caller makes anything meanwhile."""
        with self._changed:
            self._to_be_alone += 1
        try:
            with self._entered(con, lambda: not self._callers) as own:
                yield own
        finally:
            with self._changed:
                self._to_be_alone -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def _entered(
        self, con: duckdb.DuckDBPyConnection, may_enter: Callable[[], bool]
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._changed:
            self._changed.wait_for(may_enter)
            self._callers += 1
            self._busy += 1
        try:
            with self._another(con) as own:
                yield own
        finally:
            with self._changed:
                self._callers -= 1
                self._add_busy(-1)

    @contextlib.contextmanager
    def taken(self, name: str) -> Iterator[None]:
        """Make a thing, when nobody else is making it any more."""
        before = self._mine()
        if name in before:
            yield
            return
        with self._changed:
            if name in self._taken:
                with self._idle():
                    self._changed.wait_for(lambda: name not in self._taken)
            self._taken.add(name)
        self._here.taken = before | {name}
        try:
            yield
        finally:
            self._here.taken = before
            with self._changed:
                self._taken.remove(name)
                self._changed.notify_all()

    def each(
        self,
        con: duckdb.DuckDBPyConnection,
        names: Sequence[str],
        make: Callable[[duckdb.DuckDBPyConnection, str], None],
    ) -> None:
        """Make several things, at once where there are threads to be had.

        Raises:
            EtlError, duckdb.Error, OSError: one cannot be made; none is begun after that.
        """
        left = list(names)
        if len(left) < 2 or not self.has_helpers(con):
            for name in left:
                make(con, name)
            return
        mine = self._mine()

        def work(own: duckdb.DuckDBPyConnection) -> None:
            try:
                while name := self._next(left):
                    make(own, name)
            except BaseException:
                with self._changed:
                    left.clear()
                    self._changed.notify_all()
                raise

        def help_out() -> None:
            self._here.taken = mine
            with self._changed:
                self._changed.wait_for(lambda: not left or self._busy < self._most)
                self._busy += 1
            try:
                if left:
                    with self._another(con) as own:
                        work(own)
            finally:
                self._add_busy(-1)

        # Some may come to wait for what others are making.
        helpers = min(len(left), self._most + 2) - 1
        with ThreadPoolExecutor(helpers) as pool:
            futures: list[Future[None]] = []
            with contextlib.suppress(RuntimeError):  # no thread can be begun at a program's end
                futures += (pool.submit(help_out) for _ in range(helpers))
            work(con)
            with self._idle():
                for each in futures:
                    each.result()

    def has_helpers(self, con: duckdb.DuckDBPyConnection) -> bool:
        """Whether several things are made at once."""
        return self._threads(con) > 1

    def most_at_once(self, con: duckdb.DuckDBPyConnection) -> int:
        """How many statements have room for what they need."""
        return _most_threads(MOST_THREADS, _settings(con)[1])

    def stop(self) -> None:
        """Stop the statements of all who make something."""
        import duckdb

        with self._changed:
            cursors = list(self._cursors)
        for each in cursors:
            # What was being made may be done by now.
            with contextlib.suppress(duckdb.ConnectionException):
                each.interrupt()

    def _mine(self) -> frozenset[str]:
        mine: frozenset[str] = getattr(self._here, "taken", frozenset())
        return mine

    def _threads(self, con: duckdb.DuckDBPyConnection) -> int:
        if not self._most:
            self._most = _most_threads(*_settings(con))
        return self._most

    def _next(self, left: list[str]) -> str:
        """Take one off a list, rather one that nobody is making; "" at its end."""
        with self._changed:
            free = (place for place, name in enumerate(left) if name not in self._taken)
            return left.pop(next(free, 0)) if left else ""

    @contextlib.contextmanager
    def _another(self, con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._cursor(con) as own:
            with self._changed:
                self._cursors.add(own)
            try:
                yield own
            finally:
                with self._changed:
                    self._cursors.remove(own)

    @contextlib.contextmanager
    def _idle(self) -> Iterator[None]:
        """Wait, while another may do something."""
        self._add_busy(-1)
        try:
            yield
        finally:
            self._add_busy(1)

    def _add_busy(self, number: int) -> None:
        with self._changed:
            self._busy += number
            self._changed.notify_all()


def _settings(con: duckdb.DuckDBPyConnection) -> tuple[int, str]:
    names = "current_setting('threads'), current_setting('memory_limit')"
    ((threads, memory),) = con.execute(f"SELECT {names}").fetchall()
    return threads, memory


def _most_threads(threads: int, memory: str) -> int:
    """How many may make something, by the settings of DuckDB."""
    # That is what it says where it has no limit.
    enough = MOST_THREADS if memory.endswith("PiB") else size_bytes(memory) // _EACH_BYTES
    return max(min(threads, enough, MOST_THREADS), 1)
