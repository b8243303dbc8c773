"""The page that a collector and all traced processes share: they wake each other by it."""

from __future__ import annotations

import os

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import error_buffer, load, text


class Wakeup:
    """A page of shared memory.

    Raises:
        NativeError: there is no memory for it.

    Attributes:
        descriptor: of its file.
        path: where other processes of the same user can open it.
    """

    def __init__(self) -> None:
        ffi, self._lib = load()
        error = error_buffer(ffi)
        self._handle = self._lib.etl_wakeup_create(error)
        if self._handle == ffi.NULL:
            raise NativeError(text(ffi, error.message))
        self.descriptor = int(self._lib.etl_wakeup_fd(self._handle))
        self.path = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        self._seen = 0

    def look(self) -> None:
        """Remember how often it was rung; a ring from now on ends the next ``wait``."""
        self._seen = int(self._lib.etl_wakeup_value(self._handle))

    def wait(self, timeout_ms: int) -> None:
        """Sleep until it is rung, at most so long."""
        self._lib.etl_wakeup_wait(self._handle, self._seen, timeout_ms)

    def pause(self, is_paused: bool) -> None:
        """Tell all traced processes, those to come too, whether to record."""
        self._lib.etl_wakeup_pause(self._handle, is_paused)

    def order_trial(self, trial: int) -> None:
        """Tell them whether to count their launches, and to delay each (``ETL_TRIAL_*``)."""
        self._lib.etl_wakeup_trial(self._handle, trial)

    def launches(self) -> int:
        """Launches that they have counted so far, all together."""
        return int(self._lib.etl_wakeup_launches(self._handle))

    def recorded(self) -> int:
        """Launches of single kernels in windows, where calls carry out what is ordered."""
        return int(self._lib.etl_wakeup_recorded(self._handle))

    def unmet(self) -> int:
        """Processes that came and have not been able to say hello, as they say themselves."""
        return int(self._lib.etl_wakeup_unmet(self._handle))

    def close(self) -> None:
        """Give the memory back."""
        self._lib.etl_wakeup_free(self._handle)
