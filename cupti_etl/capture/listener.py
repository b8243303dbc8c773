"""Where traced processes come in: two addresses, what wakes us, and who has been refused.

The first address is a file in a folder that only the user can enter, ``cupti-etl-*`` in the
folder for temporary files.  A lock says that its capture lives; folders of captures that were
killed are removed by the next one.  The second is a name without a file: it is there when
somebody has emptied the folder, and for other users, who are told why they are refused.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import pwd
import resource
import secrets
import select
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from cupti_etl.capture.peer import peer
from cupti_etl.capture.wakeup import Wakeup
from cupti_etl.errors import UsageError
from cupti_etl.native.headers import Copy, constant, size, view
from cupti_etl.units import counted

_HELLO_BYTES = size("etl_hello")
_HELLO_MAGIC = constant("ETL_HELLO_MAGIC")
_HELLO_VERSION = constant("ETL_HELLO_VERSION")
_PREFIX = "cupti-etl-"
# Connections that the kernel keeps for us at each address.
_BACKLOG = 4096
# Those that are taken at a time at each address: whoever connects without end must not keep
# us from draining.
_ACCEPTS = 64
# How long a connection may say nothing, and how many may: what is a traced process speaks at
# once, unless it loses the processor just then.
_PATIENCE_S = 2.0
_MOST_SILENT = 64
# Descriptors that are left for the writer, and for what comes with a greeting.
_RESERVE = 16
# Refusals that are told one by one; of more there is the number.
_MOST_REFUSALS = 100


@dataclass(frozen=True)
class Refusal:
    """Who could not be traced at all, and why.

    Attributes:
        pid: None if it is not known, or if it is several.
        reason: a sentence.
        is_silent: it has only connected; whether it would have said hello, nobody knows.
    """

    pid: int | None
    reason: str
    is_silent: bool = False


@dataclass(frozen=True)
class Greeting:
    """What a process brings along; both are the receiver's to close."""

    pid: int
    connection: socket.socket
    segment: int


class Listener:
    """Receives the greetings of traced processes; never waits for one.

    Args:
        allow_uids: users whose processes are let in, besides our own and root's.
        path: of the first address; by default, in a folder of its own.

    Attributes:
        has_more: whether others wait that can be let in at once.

    Raises:
        NativeError: there is no memory for the page of wakeups.
        UsageError: the path cannot be listened at, or somebody does already.
    """

    def __init__(self, allow_uids: Collection[int] = (), path: Path | None = None) -> None:
        self.has_more = False
        self._allowed = {os.geteuid(), 0, *allow_uids}
        self._refused: list[Refusal] = []
        self._untold = 0
        self._pending: dict[socket.socket, tuple[int, float]] = {}  # the first is the oldest
        self._poll = select.poll()
        self._listeners: list[socket.socket] = []
        self._folder: Path | None = None
        self._lock: int | None = None
        self._is_own_folder = path is None
        try:
            if path is None:
                self._open_folder(is_for_others=bool(allow_uids))
            else:
                self._open_path(path, is_for_others=bool(allow_uids))
        except OSError as error:  # no room for it anywhere: there is still the name
            if path is not None:
                raise UsageError(
                    f"{path} cannot be listened at: {error.strerror or error}",
                    "choose another --socket, of at most 107 bytes",
                ) from None
            self.path = Path("/", f"{_PREFIX}{secrets.token_hex(8)}", "s")
        self._listen(f"\0{self.path}")
        self.wakeup = Wakeup()

    def _open_folder(self, *, is_for_others: bool) -> None:
        # A unix socket's path is limited to 107 bytes, so $TMPDIR is used only if short.
        base = tempfile.gettempdir()
        if len(base) > 60:
            base = "/tmp"
        remove_abandoned(Path(base))
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))  # 0700
        self.path = self._folder / "s"
        self._lock = _hold(self._folder)
        self._listen(str(self.path))
        if is_for_others:  # who comes in is told by the kernel; this only lets them knock
            self._folder.chmod(0o711)
            self.path.chmod(0o666)

    def _open_path(self, path: Path, *, is_for_others: bool) -> None:
        self.path = path.absolute()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        lock = self.path.with_name(f"{self.path.name}.lock")
        self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another daemon listens at {path}", "end it, or choose another --socket"
            ) from None
        # What one that was killed has left.
        self.path.unlink(missing_ok=True)
        self._listen(str(self.path))
        self.path.chmod(0o666 if is_for_others else 0o600)

    def _listen(self, address: str) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        self._poll.register(listener, select.POLLIN)
        self._listeners.append(listener)

    @property
    def settings(self) -> dict[str, str]:
        """How traced processes find us, by the keys of ``config.ENVIRONMENT``."""
        return {"SOCKET": str(self.path), "WAKEUP": self.wakeup.path, "UID": str(os.geteuid())}

    @property
    def refused(self) -> list[Refusal]:
        """Who could not be traced so far."""
        if not self._untold:
            return list(self._refused)
        return [*self._refused, Refusal(None, f"{self._untold:,} more were not captured")]

    @property
    def pending(self) -> int:
        """Connections that have said nothing yet, and one if any can be let in."""
        return len(self._pending) + bool(self._waiting() and _has_descriptors())

    def _waiting(self) -> list[socket.socket]:
        ready = {descriptor for descriptor, _ in self._poll.poll(0)}
        return [listener for listener in self._listeners if listener.fileno() in ready]

    def greetings(self) -> Iterator[Greeting]:
        """Some of those who have come since; the others are added to ``refused``.

        The work is bounded, whoever connects: see ``has_more``.
        """
        self.has_more = False
        for connection, (pid, until) in list(self._pending.items()):
            greeting = self._receive(connection, pid, until)
            if greeting is not None:
                yield greeting
        for listener in self._waiting():
            for _ in range(_ACCEPTS):
                if not self._has_room():
                    break
                try:
                    connection, _ = listener.accept()
                except OSError:  # there is none, or no descriptor: then it stays in the queue
                    break
                greeting = self._admit(connection)
                if greeting is not None:
                    yield greeting
            else:
                self.has_more = True

    def _admit(self, connection: socket.socket) -> Greeting | None:
        connection.setblocking(False)
        pid, uid = peer(connection)
        if uid in self._allowed:
            return self._receive(connection, pid, time.monotonic() + _PATIENCE_S)
        connection.close()
        self.refuse(pid, f"it runs as user {_user(uid)}; --allow-uid {uid} lets it in")
        return None

    def _has_room(self) -> bool:
        """Whether another process can be let in; the silent make room for it."""
        while not _has_descriptors():
            if not self._pending:
                return False
            self._drop_oldest()
        return True

    def _drop_oldest(self) -> None:
        connection, (pid, _) = next(iter(self._pending.items()))
        del self._pending[connection]
        connection.close()
        self.refuse(pid, "it said nothing, and many others came", is_silent=True)

    def _receive(self, connection: socket.socket, pid: int, until: float) -> Greeting | None:
        self._pending.pop(connection, None)
        space = socket.CMSG_SPACE(array.array("i").itemsize)
        try:
            data, ancillary, flags, _ = connection.recvmsg(_HELLO_BYTES, space)
        except BlockingIOError:
            self._wait_for(connection, pid, until)
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
            self._welcome(connection, pid)
            return Greeting(pid, connection, descriptors[0])
        connection.close()
        # The kernel drops a descriptor that has no room.
        self.refuse(pid, _too_many() if flags & socket.MSG_CTRUNC else _reason(data))
        return None

    def _wait_for(self, connection: socket.socket, pid: int, until: float) -> None:
        if time.monotonic() >= until:
            connection.close()
            self.refuse(pid, f"it said nothing for {_PATIENCE_S:.0f} s", is_silent=True)
            return
        if len(self._pending) >= _MOST_SILENT:
            self._drop_oldest()
        self._pending[connection] = (pid, until)

    def _welcome(self, connection: socket.socket, pid: int) -> None:
        """Who cannot open the page of wakeups by its path gets it so."""
        with contextlib.suppress(OSError):
            socket.send_fds(connection, [b"!"], [self.wakeup.descriptor])
        # It was dropped before it could speak, and has come again.
        self._refused = [one for one in self._refused if not (one.is_silent and one.pid == pid)]

    def refuse(self, pid: int | None, reason: str, *, is_silent: bool = False) -> None:
        """Note who is not traced, and why."""
        if len(self._refused) < _MOST_REFUSALS:
            self._refused.append(Refusal(pid, reason, is_silent))
        else:
            self._untold += 1

    def last_call(self) -> None:
        """Refuse those who still wait, as nobody will let them in any more."""
        late = "it came when the capture had ended" if self._has_room() else _too_many()
        for pid, _ in self._pending.values():
            self.refuse(pid, late)
        for listener in self._waiting():
            with contextlib.suppress(OSError):
                for _ in range(_BACKLOG):
                    connection, _ = listener.accept()
                    with connection:
                        self.refuse(peer(connection)[0], late)
        unmet = self.wakeup.unmet()
        if unmet:
            several = counted(unmet, "process", "processes")
            self.refuse(None, f"{several} could not reach the collector")

    def close(self) -> None:
        """Remove the folder; who comes now finds nobody."""
        for connection in [*self._pending, *self._listeners]:
            connection.close()
        self.wakeup.close()
        if not self._is_own_folder:
            with contextlib.suppress(OSError):
                self.path.unlink()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


def _user(uid: int) -> str:
    try:
        return f"{uid} ({pwd.getpwuid(uid).pw_name})"
    except KeyError:
        return str(uid)


def _reason(data: bytes) -> str:
    if len(data) == _HELLO_BYTES:
        hello = Copy(view("etl_hello", data))
        if hello.magic == _HELLO_MAGIC and hello.version != _HELLO_VERSION:
            return f"it greets in version {hello.version}, and this cupti-etl in {_HELLO_VERSION}"
        if hello.magic == _HELLO_MAGIC and hello.reason:
            return str(hello.reason)
    return "it sent no valid greeting"


def _too_many() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"the collector may open {limit} files, and a traced process needs two of them; "
        "raise it (ulimit -n)"
    )


def _has_descriptors() -> bool:
    """Whether there are some for another process.

    The program has been started by now, so it does not get the limit that we raise.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        lowest = os.open("/", os.O_PATH | os.O_CLOEXEC)
        os.close(lowest)
    except OSError:
        lowest = soft
    if lowest + _RESERVE < soft:
        return True
    if soft == hard:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return _has_descriptors()


def _hold(folder: Path) -> int:
    """Lock a folder of ours; the lock ends with the descriptor, or its process."""
    making = folder / "lock.making"
    descriptor = os.open(making, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    # Nobody ever sees it without the lock.
    making.rename(folder / "lock")
    return descriptor


def remove_abandoned(base: Path) -> None:
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
