"""The one line that a capture shows on a terminal while the program runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cupti_etl.capture.collector import Collector


class LiveLine:
    """One line on a terminal: records a second, rows, lost."""

    def __init__(self, quiet: bool) -> None:
        # A program may run without a standard error at all.
        self._on = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._last = (time.monotonic(), 0)
        self._shown = False

    def show(self, collector: Collector) -> None:
        """Show how it goes, twice a second."""
        now = time.monotonic()
        then, before = self._last
        if not self._on or now - then < 0.5:
            return
        rows, emitted = collector.rows_and_records()
        rate = (emitted - before) / (now - then)
        lost = sum(loss.records or 0 for loss in collector.losses() if not loss.is_stored)
        self._last = (now, emitted)
        self._shown = True
        text = f"cupti-etl: {rate:,.0f} records/s, {rows:,} rows, {lost:,} lost"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
