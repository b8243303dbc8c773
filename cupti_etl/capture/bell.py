"""The page that a collector and all traced processes share: they wake each other by it."""

from __future__ import annotations

from pathlib import Path

from cupti_etl.capture.native import load, message_buffer, text
from cupti_etl.errors import NativeError


class Bell:
    """A page of shared memory, found by traced processes through a link.

    Args:
        link: where the link is made.

    Raises:
        NativeError: there is no memory for it, or the link cannot be made.
    """

    def __init__(self, link: Path) -> None:
        ffi, self._lib = load()
        message = message_buffer(ffi)
        self._bell = self._lib.etl_bell_create(str(link).encode(), message)
        if self._bell == ffi.NULL:
            raise NativeError(text(ffi, message))
        self._seen = 0

    def look(self) -> None:
        """Remember how often it was rung; a ring from now on ends the next ``wait``."""
        self._seen = int(self._lib.etl_bell_value(self._bell))

    def wait(self, timeout_ms: int) -> None:
        """Sleep until it is rung, at most so long."""
        self._lib.etl_bell_wait(self._bell, self._seen, timeout_ms)

    def pause(self, is_paused: bool) -> None:
        """Tell all traced processes, those to come too, whether to record."""
        self._lib.etl_bell_pause(self._bell, is_paused)

    def close(self) -> None:
        """Give the memory back; the link is the caller's to remove."""
        self._lib.etl_bell_free(self._bell)
