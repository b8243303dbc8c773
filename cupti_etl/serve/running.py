"""The statements of one request, which can be stopped while a thread runs them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cupti_etl.api import Trace
from cupti_etl.errors import EtlError

# A client that takes nothing for so long is given up.
STALLED_S = 30.0
# An interrupt can fall between two statements, and is then said once more.
PERSIST_S = 0.1


class Stopped(EtlError):
    """Nobody waits for the answer any more."""


class Running:
    """What one request computes; ``stop`` may come from any thread, at any time, and twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: list[Trace] = []
        self._is_stopped = False

    @contextmanager
    def session(self, trace: Trace) -> Iterator[Trace]:
        """A session of a trace, in which one statement runs after the other.

        Raises:
            Stopped: it is not to begin at all.
        """
        session = trace.session()
        try:
            with self._lock:
                self._sessions.append(session)
            self.check()
            yield session
        finally:
            with self._lock:
                self._sessions = [each for each in self._sessions if each is not session]
            session.close()

    def check(self) -> None:
        """See that somebody still waits.

        Raises:
            Stopped: nobody does.
        """
        if self._is_stopped:
            raise Stopped("the request is over")

    def stop(self) -> None:
        """Stop the statement that runs now, and begin no other."""
        with self._lock:
            self._is_stopped = True
            for session in self._sessions:
                session.interrupt()
