"""Opened traces, which are opened anew when they have grown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from cupti_etl.api import Trace

_T = TypeVar("_T")


class _Opened:
    def __init__(self, trace: Trace, state: object) -> None:
        self.trace = trace
        self.state = state
        self.readers = 0
        self.is_former = False

    def close_if_unused(self) -> None:
        if self.is_former and not self.readers:
            self.trace.close()


class Current:
    """The trace as it is now; one that was left stays open until its last reader is done.

    Args:
        open_trace: opens it.
        state: something that is another when the trace is.
    """

    def __init__(self, open_trace: Callable[[], Trace], state: Callable[[], object]) -> None:
        self._open_trace = open_trace
        self._state = state
        self._lock = threading.Lock()
        self._opened: _Opened | None = None
        self._is_closed = False

    @contextmanager
    def lease(self) -> Iterator[Trace]:
        """The trace, for one question.

        Raises:
            TraceError: it cannot be opened any more.
        """
        with self._lock:
            opened = self._renewed()
            opened.readers += 1
            if self._is_closed:
                # Whoever was about to ask has it alone.
                self._leave()
        try:
            yield opened.trace
        finally:
            with self._lock:
                opened.readers -= 1
                opened.close_if_unused()

    @contextmanager
    def leased(
        self, answer: Callable[..., AbstractContextManager[_T]], *about: object
    ) -> Iterator[_T]:
        """What is answered of the trace, which is leased meanwhile.

        Args:
            answer: gives it, of the trace and what follows.
            about: what follows.
        """
        with self.lease() as trace, answer(trace, *about) as answered:
            yield answered

    def close(self) -> None:
        """Close it as soon as nobody reads it; nothing stays open after a question from now on."""
        with self._lock:
            self._is_closed = True
            self._leave()

    def _renewed(self) -> _Opened:
        state = self._state()
        if self._opened is None or self._opened.state != state:
            # First, so that a trace that cannot be opened leaves the former one.
            new = _Opened(self._open_trace(), state)
            self._leave()
            self._opened = new
        return self._opened

    def _leave(self) -> None:
        if self._opened is not None:
            self._opened.is_former = True
            self._opened.close_if_unused()
            self._opened = None
