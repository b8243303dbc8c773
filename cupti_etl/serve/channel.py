"""Bytes from a thread that computes them to the event loop that sends them."""

from __future__ import annotations

import asyncio
import io
import threading
from collections import deque
from typing import Any

from cupti_etl.serve.running import Stopped

_CHUNK_BYTES = 64 << 10
# So many chunks wait for a client before the thread does.
_WAITING = 4


class Channel(io.RawIOBase):
    """A file for the thread, which waits while the client is slower; chunks for the loop.

    Must be made in the loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._changed = threading.Condition()
        self._chunks: deque[bytes | None] = deque()
        self._gathered = bytearray()
        self._error: BaseException | None = None
        self._is_over = False

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Take bytes; wait while the client does not.

        Raises:
            Stopped: nobody reads any more.
        """
        size = memoryview(data).nbytes
        self._gathered += data
        if len(self._gathered) >= _CHUNK_BYTES:
            self._hand_over(bytes(self._gathered))
            self._gathered.clear()
        return size

    def finish(self, error: BaseException | None = None) -> None:
        """Say that there is no more, or what went wrong."""
        if error is None and self._gathered:
            self._hand_over(bytes(self._gathered))
        self._gathered.clear()
        with self._changed:
            # Its traceback leads to Arrow's writer, which holds this file where Python's collector
            # of garbage does not see it: kept here, all of that would stay for ever.
            if not self._is_over:
                self._error = error
        self._hand_over(None, waits=False)

    def abandon(self) -> None:
        """Say that nobody reads any more."""
        with self._changed:
            self._is_over = True
            self._error = None
            self._chunks.clear()
            self._changed.notify_all()

    async def next(self) -> bytes | None:
        """The next chunk; None after the last.

        Raises:
            BaseException: what the thread gave to ``finish``.
        """
        while True:
            with self._changed:
                if self._chunks:
                    chunk = self._chunks.popleft()
                    self._changed.notify_all()
                    break
                self._ready.clear()
            await self._ready.wait()
        if chunk is None and self._error is not None:
            error, self._error = self._error, None
            raise error
        return chunk

    def _hand_over(self, chunk: bytes | None, *, waits: bool = True) -> None:
        with self._changed:
            while waits and len(self._chunks) >= _WAITING and not self._is_over:
                self._changed.wait()
            if self._is_over:
                if waits:
                    raise Stopped("the request is over")
                return
            self._chunks.append(chunk)
            self._loop.call_soon_threadsafe(self._ready.set)
