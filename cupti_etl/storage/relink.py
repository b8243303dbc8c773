"""``trace.duckdb`` of a trace that is being written: ``cupti-etl relink`` in its own process.

DuckDB is slow to start and needs memory; neither is to be felt by what captures.
"""

from __future__ import annotations

import subprocess
import sys

from cupti_etl.progress import say
from cupti_etl.storage import manifest
from cupti_etl.storage.destination import Destination

# Longer than this the end of a capture does not wait for a convenience.
_PATIENCE_S = 20.0


class Relink:
    """The file: made once there is something to look at, or in the end, and seen to be there.

    Its views name tables and where their parts are; what the parts hold does not matter.

    Args:
        destination: of the trace; if that is no folder, nothing is done.
        is_wanted: whether anything is done at all.
    """

    def __init__(self, destination: Destination, *, is_wanted: bool = True) -> None:
        self._folder = destination.out
        self._is_wanted = is_wanted and destination.folder == destination.out
        self._child: subprocess.Popen[bytes] | None = None
        self._made_of: set[str] = set()
        self._problem: str | None = None

    def begin(self) -> None:
        """Start, unless that was done; if tables have no parts yet, the next time."""
        # With the manifest come the names of every table's first part.
        if self._is_wanted and self._child is None and (self._folder / manifest.NAME).exists():
            self._start()

    def _start(self) -> None:
        self._made_of = self._tables()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "cupti_etl", "relink", str(self._folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the program, and for us
            )
        except OSError as error:  # no descriptors, no memory
            self._problem = str(error)
            self._is_wanted = False

    def finish(self) -> None:
        """See that the file is there and is about the tables that there are by now.

        If it cannot be made, that is said, and how to make it later.
        """
        self.begin()  # the program was over before somebody could look
        self._wait()
        if self._child is not None and self._problem is None and self._made_of != self._tables():
            self._start()
            self._wait()
        if self._problem is not None:
            say(f"cupti-etl: trace.duckdb could not be made: {self._problem}")
            say(f"  later: cupti-etl relink {self._folder}")

    def _wait(self) -> None:
        if self._child is None or self._problem is not None:
            return
        try:
            _, said = self._child.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._problem = f"that takes longer than {_PATIENCE_S:.0f} s"
            return
        if self._child.returncode != 0:
            lines = said.decode("utf-8", "replace").splitlines() or ["its process was killed"]
            self._problem = lines[0].removeprefix("cupti-etl: ")

    def close(self) -> None:
        """Let nothing of it live on."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            assert self._child.stderr is not None
            self._child.stderr.close()

    def _tables(self) -> set[str]:
        return {part.parent.name for part in self._folder.glob("*/part-*.parquet")}
