"""Gives parts their names in a thread of its own, since to wait for a disk can take long."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence

from cupti_etl.storage.parts import Finished, Parts


class Publisher(threading.Thread):
    """The thread that owns the manifest; batches are published in order."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(name="cupti-etl-publisher", daemon=True)
        self._parts = parts
        self._failure: OSError | None = None
        self._queue: queue.Queue[Sequence[Finished] | None] = queue.Queue()

    def run(self) -> None:
        """Publish what comes, until told to end."""
        while (batch := self._queue.get()) is not None:
            try:
                if batch:
                    self._parts.publish(batch)
            except OSError as error:
                self._failure = self._failure or error
            self._queue.task_done()
        self._queue.task_done()

    @property
    def is_busy(self) -> bool:
        """Whether something that was handed over is not published yet."""
        return self._queue.unfinished_tasks > 0

    def submit(self, finished: Sequence[Finished]) -> None:
        """Hand parts over.

        Raises:
            OSError: what was handed over before could not be published; that is told once.
        """
        self._queue.put(finished)
        self._check()

    def wait(self) -> None:
        """Wait until everything is published.

        Raises:
            OSError: some of it could not be.
        """
        self._queue.join()
        self._check()

    def end(self) -> None:
        """Let the thread end when everything is published.

        Raises:
            OSError: some of it could not be.
        """
        self._queue.put(None)
        self.join()
        self._check()

    def _check(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
