"""Where a flight recorder writes: a folder with a trace for each time that it was triggered."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cupti_etl.storage import disk
from cupti_etl.storage.destination import Destination
from cupti_etl.storage.flights import MARK
from cupti_etl.storage.folder import create
from cupti_etl.units import counted


class FlightFolder(Destination):
    """The folder; each trace in it is a destination of its own."""

    def __init__(self, out: Path, *, is_synced: bool = True) -> None:
        super().__init__(out, is_synced=is_synced)
        self.folder = None
        self._lock: int | None = None
        self.traces: list[Path] = []

    def create(self) -> None:
        """Make it, before anything is started.

        Raises:
            UsageError: it is there already, or cannot be made.
        """
        from cupti_etl.storage.parquet import lock

        create(self.out)
        self._lock = lock(self.out)
        _mark(self.out, is_over=False)

    def next(self, trigger: str) -> Destination:
        """Where the next trace goes; it is not made yet."""
        word = re.sub(r"[^a-z]+", "-", re.split(r"[:>!]", trigger)[0]).strip("-")
        path = self.out / f"{len(self.traces) + 1:03d}-{word}"
        self.traces.append(path)
        one = Destination(path, is_synced=self._is_synced)
        one.longest_roll_s = self.longest_roll_s
        return one

    def tidy(self, finished: Sequence[Path]) -> list[Path]:
        """Remove the oldest of finished traces that go beyond ``retain``; returns those.

        Who took one away has it: of what is not there, none is returned.

        Raises:
            OSError: one cannot be removed.
        """
        if self.retain is None:
            return []
        gone = disk.beyond([path for path in finished if path.exists()], self.retain)
        for path in gone:
            disk.remove(path)
        return gone

    def discard(self) -> None:
        """Take it away again, while there is no trace in it."""
        (self.out / MARK).unlink(missing_ok=True)
        self.out.rmdir()

    def finish(self) -> None:
        """Say that nothing more comes; if nothing is in it, remove it.

        Raises:
            OSError: that is not possible.
        """
        try:
            if any(each.name != MARK for each in self.out.iterdir()):
                _mark(self.out, is_over=True)
            else:
                self.discard()
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def size(self) -> int:
        """Bytes that have been written."""
        return disk.folder_bytes(self.out)

    def __str__(self) -> str:
        made = [path for path in self.traces if path.exists()]
        if not self.traces:
            return "no trigger fired, so nothing was written"
        if not made:
            return "no trace is there"
        return f"{counted(len(made), 'trace')} in {self.out}"


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Have the folder of a recorder that has ended to ourselves.

    Raises:
        UsageError: the recorder is still running.
    """
    from cupti_etl.storage.parquet import lock

    descriptor = lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


def end(path: Path) -> None:
    """Say of a recorder that was killed that nothing more comes."""
    _mark(path, is_over=True)


def _mark(path: Path, *, is_over: bool) -> None:
    content = {"flight_recorder": 1, "is_over": is_over}
    # On a full disk the old one stays, which says what the folder is.
    new = path / f"{MARK}.tmp"
    disk.write(new, json.dumps(content).encode())
    disk.rename(new, path / MARK)
