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
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path

# Who signals the processes of a control group one by one comes to the witness moments after us.
_PATIENCE_S = 0.1
# On a busy machine the witness may not run for long.  One that has not run for so long is stopped.
_ANSWER_S = 10.0


class Witness:
    """A process of our group; start it before any thread, with the signals blocked.

    Args:
        signals: those that it notes.
    """

    def __init__(self, signals: Collection[signal.Signals]) -> None:
        self._notes, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._noted: Counter[int] = Counter()
        # The question that it answers is blocked before it is there.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _note([*signals, signal.SIGRTMIN], write, parent)
            finally:
                os._exit(0)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(write)

    def saw(self, number: int) -> bool:
        """Whether a signal that has just reached us reached it as well."""
        self._ask()
        if not self._noted[number] and self._read_until(number, _PATIENCE_S):
            self._ask()
        seen = self._noted[number]
        # Each of the notes is of a signal that has come to us, too.  What is not waiting here was
        # one for us where it was several for the witness.
        self._noted[number] = min(max(seen - 1, 0), int(number in signal.sigpending()))
        return seen > 0

    def _ask(self) -> None:
        """Read all its notes of signals that were sent to it until now."""
        # A kernel hands out the signal with the lowest number first: the question comes last.
        os.kill(self._pid, signal.SIGRTMIN)
        self._read_until(signal.SIGRTMIN, _ANSWER_S)
        self._noted[signal.SIGRTMIN] = 0

    def _read_until(self, number: int, patience_s: float) -> bool:
        """Read notes until one is of this signal, or time is over; False if the witness is gone."""
        until = time.monotonic() + patience_s
        while not self._noted[number] and (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([self._notes], [], [], left)
            if ready:
                note = os.read(self._notes, 1)
                if not note:
                    return False  # somebody killed it
                self._noted[note[0]] += 1
        return True

    def close(self) -> None:
        """Dismiss it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        os.close(self._notes)


def _note(signals: Collection[int], write: int, parent: int) -> None:
    """What the witness does until its parent dismisses it, or is gone: maybe before it began."""
    # Nobody shall wait for the end of a pipe that only the witness still has open.  Those that
    # there are: a container may allow a billion, and some Pythons try each number.
    for link in list(Path("/proc/self/fd").iterdir()):
        if int(link.name) != write:
            with contextlib.suppress(OSError):  # the one of the listing itself
                os.close(int(link.name))
    while os.getppid() == parent:
        info = signal.sigtimedwait(signals, 1.0)
        if info is not None:
            os.write(write, bytes([info.si_signo]))
