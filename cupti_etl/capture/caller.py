"""A capture that the program asked for from inside: what stands in the launcher's place.

The two talk over a socket that keeps messages apart (JSON): the collector says where it listens,
and the program, when it is done.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from cupti_etl.capture.peer import peer

# How long a process that has said that it is done may take to be read to its end.
_PATIENCE_S = 20.0


class Caller:
    """The program that wants to be captured; it runs already, and goes on afterwards.

    Args:
        descriptor: our end of the socket.
        environment: what the injected library is to read, which the program sets.
        out: where the trace will be.
        is_read: whether all is read of the process with a pid.
    """

    interrupts = kept = 0
    is_terminated = False

    def __init__(
        self,
        descriptor: int,
        environment: Mapping[str, str],
        out: Path,
        is_read: Callable[[int], bool],
    ) -> None:
        # The collector outlives its program, however that ends.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._socket = socket.socket(fileno=descriptor)
        # Who made the pair of sockets, which may have been killed since.
        self._pid, _ = peer(self._socket)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._is_read = is_read
        self._until: float | None = None
        # Its children may have the other end of the socket, too.
        self._process: int | None = None
        try:
            self._process = os.pidfd_open(self._pid)
            self._poll.register(self._process, select.POLLIN)
        except ProcessLookupError:
            self._until = time.monotonic() + _PATIENCE_S
        except OSError:  # not allowed here
            pass
        self._tell({"environment": dict(environment), "out": str(out.absolute())})

    def _tell(self, message: object) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self._socket.send(json.dumps(message).encode())

    def poll(self) -> int | None:
        """0 once the program is done, or has ended, and all that it recorded is read."""
        if self._until is None and self._poll.poll(0):
            self._until = time.monotonic() + _PATIENCE_S
        if self._until is None:
            return None
        is_over = self._is_read(self._pid) or time.monotonic() >= self._until
        return 0 if is_over else None

    def wait(self) -> int:
        """0: whether it still runs is not ours to wait for."""
        return 0

    def terminate(self) -> None:
        """Nothing: whoever asks for a capture from inside is told when it ends."""

    def close(self) -> None:
        """Let go of the program."""
        self._socket.close()
        if self._process is not None:
            os.close(self._process)
