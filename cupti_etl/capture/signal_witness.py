"""Tells a signal to our whole process group from one that was meant for us alone.

A signal says who sent it, and not to whom: ``kill(pid)`` and ``kill(-group)`` look the same
to a process that gets it.  So another process stands beside us in the group and does nothing
but note the signals that reach it.  What reached the witness, sent to the group or to all
processes of a control group, reached the traced program too and must not be passed on; what
did not was sent to us alone.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import time
from collections.abc import Collection
from pathlib import Path

_NOTE = struct.Struct("<Id")  # number, CLOCK_MONOTONIC
# The kernel signals a group in one go, so the witness's note is there within moments.
_PATIENCE_S = 0.1
# A note that is older belongs to a signal that was coalesced with another.
_STALE_S = 1.0


class Witness:
    """A process of our group; start it before any thread, with the signals blocked.

    Args:
        signals: those that it notes.
    """

    def __init__(self, signals: Collection[signal.Signals]) -> None:
        self._notes, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _note(signals, write)
            finally:
                os._exit(0)
        os.close(write)

    def saw(self, number: int) -> bool:
        """Whether a signal that has just reached us reached it as well."""
        until = time.monotonic() + _PATIENCE_S
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([self._notes], [], [], left)
            note = os.read(self._notes, _NOTE.size) if ready else b""
            if len(note) < _NOTE.size:
                return False  # nothing came, or somebody killed the witness
            seen, when = _NOTE.unpack(note)
            if seen == number and time.monotonic() - when < _STALE_S:
                return True
        return False

    def close(self) -> None:
        """Dismiss it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        os.close(self._notes)


def _note(signals: Collection[signal.Signals], write: int) -> None:
    """What the witness does until its parent dismisses it, or is gone."""
    parent = os.getppid()
    # Nobody shall wait for the end of a pipe that only the witness still has open.  Those that
    # there are: a container may allow a billion, and some Pythons try each number.
    for link in list(Path("/proc/self/fd").iterdir()):
        if int(link.name) != write:
            with contextlib.suppress(OSError):  # the one of the listing itself
                os.close(int(link.name))
    while os.getppid() == parent:
        info = signal.sigtimedwait(signals, 1.0)
        if info is not None:
            os.write(write, _NOTE.pack(info.si_signo, time.monotonic()))
