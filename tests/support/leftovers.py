"""Processes that a test has started and not seen the end of."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

# Whatever a test starts inherits it: the pid of the process that runs the test.
MARK = "ETL_TESTS_OF"
# Those that end with all tests.
LASTING: set[int] = set()
# For those that have been told to end, on a busy machine.
_PATIENCE_S = 30


def mark() -> None:
    """Let all processes that are started from now on be known."""
    os.environ[MARK] = str(os.getpid())


def check_nothing_is_left() -> None:
    """Wait until all of them have ended; who has not by then is killed.

    Raises:
        AssertionError: one had to be killed.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while _left() and time.monotonic() < deadline:
        time.sleep(0.02)
    left = _left()
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not left, f"processes were left behind: {left}"


def _left() -> dict[int, str]:
    """Those that run, with their commands."""
    ours = f"{MARK}={os.getpid()}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # It may end at any time, and be another user's.
        with suppress(OSError):
            if ours in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes()
                found[int(folder.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return {pid: command for pid, command in found.items() if pid not in LASTING}
