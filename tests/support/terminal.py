"""A program on a terminal: what it shows, keys for it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from support.waiting import wait_until


class Terminal:
    """A pseudo-terminal with a program on it.

    Attributes:
        process: the program, in a session of its own.
    """

    def __init__(self, words: Sequence[str], env: Mapping[str, str], size: tuple[int, int]) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(self._ours)
        self.process = subprocess.Popen(
            words,
            env={**env, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        # Ours stays open for what a terminal is set to when the program has ended.
        self._theirs = theirs
        self._shown = bytearray()
        self._thread = threading.Thread(target=self._gather, daemon=True)
        self._thread.start()

    def _gather(self) -> None:
        while True:
            try:
                data = os.read(self._ours, 65536)
            except OSError:
                return
            if not data:
                return
            self._shown += data

    @property
    def shown(self) -> str:
        """All that was written so far, with what steers the terminal."""
        return self._shown.decode("utf-8", "replace")

    def wait_for(self, text: str) -> None:
        """Wait until something was shown."""
        wait_until(lambda: text in self.shown or self.process.poll() is not None)
        assert text in self.shown, self.shown[-2000:]

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def is_as_before(self) -> bool:
        """Whether the terminal's modes are those that it had, and the main screen is shown."""
        left = self.shown.rpartition("\x1b[?1049h")[2]
        shows = "\x1b[?1049l" in left and "\x1b[?25h" in left
        return termios.tcgetattr(self._ours) == self.before and shows

    def close(self) -> None:
        """Let go of it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._theirs)
        self._thread.join()
        os.close(self._ours)


@contextmanager
def terminal(
    words: Sequence[str], env: Mapping[str, str], size: tuple[int, int] = (100, 30)
) -> Iterator[Terminal]:
    """Run a program on a terminal."""
    opened = Terminal(words, env, size)
    try:
        yield opened
    finally:
        opened.close()
