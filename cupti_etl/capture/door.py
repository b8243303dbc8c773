"""Where traced processes come in: a socket, a bell, and who has been refused.

Both lie in a folder that only the user can enter, ``cupti-etl-*`` in the folder for
temporary files.  A lock says that its capture lives; folders of captures that were killed
are removed by the next one.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import resource
import select
import shutil
import socket
import stat
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cupti_etl.capture.bell import Bell

_HELLO = struct.Struct("<QIi512s")
_HELLO_MAGIC = 0x314F4C4C45484C45
_PREFIX = "cupti-etl-"
# How long a connection may say nothing; what is a traced process speaks at once.
_PATIENCE_S = 2.0
# Descriptors that are left for the writer, and for what comes with a greeting.
_RESERVE = 16


@dataclass(frozen=True)
class Refusal:
    """A process that could not be traced at all, and why."""

    pid: int
    reason: str


@dataclass(frozen=True)
class Greeting:
    """What a process brings along; both are the receiver's to close."""

    pid: int
    connection: socket.socket
    segment: int


class Door:
    """Receives the greetings of traced processes; never waits for one.

    Raises:
        NativeError: there is no memory for the bell.
    """

    def __init__(self) -> None:
        self.refused: list[Refusal] = []
        self._pending: dict[socket.socket, tuple[int, float]] = {}
        # A unix socket's path is limited to 107 bytes, so $TMPDIR is used only if short.
        base = tempfile.gettempdir()
        if len(base) > 60:
            base = "/tmp"
        sweep(Path(base))
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))  # 0700
        self._lock = _hold(self._folder)
        self.path = self._folder / "s"
        self.bell = Bell(self._folder / "s.bell")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(self.path))
        self._socket.listen(4096)
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    @property
    def pending(self) -> int:
        """Connections that have said nothing yet, and one if any can be let in."""
        return len(self._pending) + bool(self._poll.poll(0) and _has_room())

    def greetings(self) -> Iterator[Greeting]:
        """Those who have come since; the others are added to ``refused``."""
        for connection, (pid, until) in list(self._pending.items()):
            greeting = self._receive(connection, pid, until)
            if greeting is not None:
                yield greeting
        while self._poll.poll(0) and _has_room():
            try:
                connection, _ = self._socket.accept()
            except OSError:  # it is gone, or no descriptor is free: then it stays in the queue
                return
            connection.setblocking(False)
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pid, uid, _ = struct.unpack("iII", credentials)
            if uid not in (os.getuid(), 0):
                self._refuse(connection, pid, f"a process of user {uid} tried to connect")
                continue
            greeting = self._receive(connection, pid, time.monotonic() + _PATIENCE_S)
            if greeting is not None:
                yield greeting

    def _receive(self, connection: socket.socket, pid: int, until: float) -> Greeting | None:
        self._pending.pop(connection, None)
        space = socket.CMSG_SPACE(array.array("i").itemsize)
        try:
            data, ancillary, flags, _ = connection.recvmsg(_HELLO.size, space)
        except BlockingIOError:
            if time.monotonic() < until:
                self._pending[connection] = (pid, until)
            else:
                self._refuse(connection, pid, f"it said nothing for {_PATIENCE_S:.0f} s")
            return None
        except OSError:
            data, ancillary, flags = b"", [], 0
        descriptors = array.array("i")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
        if descriptors:
            for more in descriptors[1:]:
                os.close(more)
            return Greeting(pid, connection, descriptors[0])
        # The kernel drops a descriptor that has no room.
        self._refuse(connection, pid, _too_many() if flags & socket.MSG_CTRUNC else _reason(data))
        return None

    def _refuse(self, connection: socket.socket, pid: int, reason: str) -> None:
        connection.close()
        self.refused.append(Refusal(pid, reason))

    def last_call(self) -> None:
        """Refuse those who still wait outside, as nobody will let them in any more."""
        if self._poll.poll(0):
            late = "it came when the capture had ended"
            self.refused.append(Refusal(0, late if _has_room() else _too_many()))

    def close(self) -> None:
        """Remove the folder; who comes now finds nobody."""
        for connection in self._pending:
            connection.close()
        self._socket.close()
        self.bell.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)


def _reason(data: bytes) -> str:
    if len(data) == _HELLO.size:
        magic, _, _, words = _HELLO.unpack(data)
        if magic == _HELLO_MAGIC:
            said: str = words.split(b"\0")[0].decode("utf-8", "replace")
            return said or "it sent no valid greeting"
    return "it sent no valid greeting"


def _too_many() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"the collector may open {limit} files, and a traced process needs two of them; "
        "raise it (ulimit -n)"
    )


def _has_room() -> bool:
    """Whether another process can be let in.

    The program has been started by now, so it does not get the limit that we raise.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:  # counting takes one too
        used = soft
    if used + _RESERVE <= soft:
        return True
    if soft == hard:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return _has_room()


def _hold(folder: Path) -> int:
    """Lock a folder of ours; the lock ends with the descriptor, or its process."""
    making = folder / "lock.making"
    descriptor = os.open(making, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    # Nobody ever sees it without the lock.
    making.rename(folder / "lock")
    return descriptor


def sweep(base: Path) -> None:
    """Remove the folders of our own user's captures that were killed."""
    for folder in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            facts = folder.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
                continue
            descriptor = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
