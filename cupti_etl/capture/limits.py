"""When a capture records: ``--delay``, ``--duration``, ``--max-rows`` and ``--max-size``."""

from __future__ import annotations

import time
from collections.abc import Callable

from cupti_etl.config import CaptureOptions

# Counting rows and files is cheap, but not for each of a thousand looks a second.
_PERIOD_NS = 50_000_000


class Pauses:
    """Several who pause all traced processes: these record when nobody pauses them.

    Args:
        pause: tells the traced processes whether to pause.
    """

    def __init__(self, pause: Callable[[bool], None]) -> None:
        self._pause = pause
        self._paused: list[bool] = []

    def add(self) -> Callable[[bool], None]:
        """One more of them, as the function that it calls."""
        number = len(self._paused)
        self._paused.append(False)

        def pause(is_paused: bool) -> None:
            was_paused = any(self._paused)
            self._paused[number] = is_paused
            if any(self._paused) != was_paused:
                self._pause(not was_paused)

        return pause


class Limits:
    """Pauses and resumes all traced processes; the program itself always goes on.

    Args:
        pause: tells the traced processes whether to pause.
        rows: how many rows there are.
        size: how many bytes have been written.

    Attributes:
        stopped_by: which limit ended the recording for good: ``duration``, ``max_rows`` or
            ``max_size``; None while none has.
    """

    def __init__(
        self,
        options: CaptureOptions,
        pause: Callable[[bool], None],
        rows: Callable[[], int],
        size: Callable[[], int],
    ) -> None:
        self.stopped_by: str | None = None
        self._options = options
        self._pause = pause
        self._rows = rows
        self._size = size
        self._on_ns = 0
        self._off_ns: int | None = None
        self._next_look_ns = 0
        # Before the program starts, so that a delay holds from its first call on.
        self._is_paused = options.delay_ns > 0
        if self._is_paused:
            pause(True)

    def begin(self) -> None:
        """The program starts now; times count from here."""
        start = time.monotonic_ns()
        self._on_ns = start + self._options.delay_ns
        if self._options.duration_ns:
            self._off_ns = self._on_ns + self._options.duration_ns

    def look(self) -> None:
        """Switch, if it is time to."""
        now = time.monotonic_ns()
        if self.stopped_by is not None:
            return
        if self._is_paused and now >= self._on_ns:
            self._is_paused = False
            self._pause(False)
        if self._off_ns is not None and now >= self._off_ns:
            self._stop("duration")
        elif now >= self._next_look_ns:
            self._next_look_ns = now + _PERIOD_NS
            self._look_at_sizes()

    def _look_at_sizes(self) -> None:
        rows, size = self._options.max_rows, self._options.max_bytes
        if rows and self._rows() >= rows:
            self._stop("max_rows")
        elif size and self._size() >= size:
            self._stop("max_size")

    def _stop(self, limit: str) -> None:
        self.stopped_by = limit
        self._pause(True)
