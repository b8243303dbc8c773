"""Parts of a trace that several questions share, at once or one after the other.

To open a part finds its times, and what it computes once is computed anew in each; the panels of
a page all ask about the same one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from cupti_etl.queries.choose import Scope

# The one that is looked at, and the one before: each holds in memory what it has computed.
_MOST = 2


class _Closes(Protocol):
    def close(self) -> None: ...


_P = TypeVar("_P", bound=_Closes)


class _Lent(Generic[_P]):
    """A part; its lock is held while it is opened."""

    def __init__(self, state: object) -> None:
        self.state = state
        self.lock = threading.Lock()
        self.part: _P | None = None
        self.readers = 0
        self.is_former = False

    def close_if_unused(self) -> None:
        if self.is_former and not self.readers and self.part is not None:
            self.part.close()
            self.part = None


class LentParts(Generic[_P]):
    """Keeps parts open, but those that were asked for before the last two."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The last one that was asked for is last.
        self._lent: dict[Scope, _Lent[_P]] = {}

    @contextmanager
    def lease(self, scope: Scope, state: object, open_part: Callable[[Scope], _P]) -> Iterator[_P]:
        """The part of a scope, which stays open at least as long.

        Args:
            scope: what is asked.
            state: something that is another when the trace has grown: a part may have other times
                then, and is opened anew.
            open_part: opens one; what it raises comes out of here.
        """
        lent = self._borrow(scope, state)
        try:
            with lent.lock:
                if lent.part is None:
                    lent.part = open_part(scope)
                part = lent.part
            yield part
        finally:
            with self._lock:
                lent.readers -= 1
                lent.close_if_unused()

    def close(self) -> None:
        """Close all; each as soon as nobody reads it."""
        with self._lock:
            for scope in list(self._lent):
                self._leave(scope)

    def _borrow(self, scope: Scope, state: object) -> _Lent[_P]:
        with self._lock:
            lent = self._lent.get(scope)
            if lent is not None and lent.state == state:
                # It is the last one now.
                del self._lent[scope]
            else:
                if lent is not None:
                    self._leave(scope)
                lent = _Lent(state)
            self._lent[scope] = lent
            lent.readers += 1
            while len(self._lent) > _MOST:
                self._leave(next(iter(self._lent)))
            return lent

    def _leave(self, scope: Scope) -> None:
        lent = self._lent.pop(scope)
        lent.is_former = True
        lent.close_if_unused()
