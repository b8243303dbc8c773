"""The collector: receives traced processes, drains their segments, yields batches.

It knows nothing of where rows go: it yields ``(table, RecordBatch)``.
"""

from __future__ import annotations

import array
import os
import select
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.clock import Clock
from cupti_etl.capture.decode import Decoder
from cupti_etl.capture.loss import Loss, emitted, losses, stored
from cupti_etl.capture.names import KernelNames
from cupti_etl.capture.native import load, message_buffer, text
from cupti_etl.capture.recording import RecordingWriter
from cupti_etl.capture.segment import FINISHED, NOT_FLUSHED, NOT_TRACED, Process
from cupti_etl.errors import NativeError
from cupti_etl.schema.arrow import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

_HELLO = struct.Struct("<QIi512s")
_HELLO_MAGIC = 0x314F4C4C45484C45
# Rows of a table that are gathered before they are handed on.
_BATCH_ROWS = 65536
# Slots of one process that are taken at a time: a process that fills them as fast as they
# are emptied must not keep us from the others, from signals, and from writing.
_SLOTS_AT_A_TIME = 32
_STATES = {FINISHED: "finished", NOT_TRACED: "failed", NOT_FLUSHED: "not flushed"}


@dataclass
class Traced:
    """A process the collector knows: its segment and its socket while it lives."""

    process: Process
    socket: socket.socket | None
    end_ns: int | None = None
    is_ending: bool = False  # its socket is closed, its slots are not empty yet
    is_abandoned: bool = False  # it still ran when the capture was told to end
    windows: int = 0  # of recording, that were passed on
    windows_are_all: bool = False


@dataclass(frozen=True)
class Refusal:
    """A process that could not even make a segment, or one we could not attach."""

    pid: int
    reason: str


class Collector:
    """Drains all traced processes of one capture; single-threaded.

    Args:
        record: also write the raw slots there.
        live: whether to open a socket for traced processes (a replay does not).
    """

    def __init__(self, record: RecordingWriter | None = None, live: bool = True) -> None:
        self._ffi, self._lib = load()
        self.decoder = Decoder()
        self.traced: list[Traced] = []
        self.refused: list[Refusal] = []
        self._record = record
        self.record_failure: str | None = None
        self._clock = Clock()
        self._names = KernelNames()
        self._folder: Path | None = None
        self._socket: socket.socket | None = None
        self._bell: Any = None
        self._poll = select.poll()
        if live:
            self._listen()

    # ---- the way in

    def _listen(self) -> None:
        # A unix socket's path is limited to 107 bytes, so $TMPDIR is used only if short.
        base = tempfile.gettempdir()
        if len(base) > 60:
            base = "/tmp"
        self._folder = Path(tempfile.mkdtemp(prefix="cupti-etl-", dir=base))  # 0700
        message = message_buffer(self._ffi)
        self._bell = self._lib.etl_bell_create(f"{self.socket_path}.bell".encode(), message)
        if self._bell == self._ffi.NULL:
            raise NativeError(text(self._ffi, message))
        self._bell = self._ffi.gc(self._bell, self._lib.etl_bell_free)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(self.socket_path))
        self._socket.listen(4096)
        self._socket.setblocking(False)
        self._poll.register(self._socket, select.POLLIN)

    @property
    def socket_path(self) -> Path:
        """Where traced processes connect."""
        assert self._folder is not None
        return self._folder / "s"

    def _accept(self) -> None:
        assert self._socket is not None
        while True:
            try:
                connection, _ = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:  # no descriptors left: it stays in the queue
                reason = f"a process could not be accepted: {error.strerror}"
                if not self.refused or self.refused[-1].reason != reason:
                    self.refused.append(Refusal(0, reason))
                return
            self._receive(connection)

    def _receive(self, connection: socket.socket) -> None:
        """Take the hello of one process, which lies in its socket already."""
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid, _ = struct.unpack("iII", credentials)
        if uid not in (os.getuid(), 0):
            connection.close()
            self.refused.append(Refusal(pid, f"a process of user {uid} tried to connect"))
            return
        connection.settimeout(1)
        space = socket.CMSG_SPACE(array.array("i").itemsize)
        try:
            data, ancillary, _, _ = connection.recvmsg(_HELLO.size, space)
        except OSError:
            data, ancillary = b"", []
        descriptors = array.array("i")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
        try:
            self._attach(connection, pid, data, list(descriptors))
        finally:
            for fd in descriptors:
                os.close(fd)

    def _attach(
        self, connection: socket.socket, pid: int, data: bytes, descriptors: list[int]
    ) -> None:
        reason = "it sent no valid greeting"
        if len(data) == _HELLO.size:
            magic, _, _, words = _HELLO.unpack(data)
            if magic == _HELLO_MAGIC:
                reason = words.split(b"\0")[0].decode("utf-8", "replace") or reason
        if descriptors:
            try:
                process = Process.attach(self.decoder, descriptors[0])
            except NativeError as error:
                reason = error.message
            else:
                connection.setblocking(False)
                self._poll.register(connection, select.POLLIN | select.POLLHUP)
                self.traced.append(Traced(process, connection))
                return
        connection.close()
        self.refused.append(Refusal(pid, reason))

    def pause(self, is_paused: bool) -> None:
        """Tell all traced processes, those to come too, whether to record."""
        self._lib.etl_bell_pause(self._bell, is_paused)

    # ---- draining

    def wait(self, timeout_ms: int) -> None:
        """Sleep until a process rings the bell, at most so long."""
        self._lib.etl_bell_wait(self._bell, self._seen, timeout_ms)

    _seen = 0

    def drain(self) -> bool:
        """Take in new processes and some of what is ready; notice ends.

        Returns:
            Whether there is more to take at once.
        """
        if self._bell is None:
            return False  # a replay feeds the processes itself
        # Read before looking, so that what comes while we look wakes us at once.
        self._seen = int(self._lib.etl_bell_value(self._bell))
        ready = {fd for fd, _ in self._poll.poll(0)}
        if self._socket is not None and self._socket.fileno() in ready:
            self._accept()
        more = False
        for traced in self.traced:
            if traced.end_ns is not None:
                continue
            if traced.socket is not None and traced.socket.fileno() in ready:
                traced.is_ending |= _is_eof(traced.socket)
            taken = self._drain_process(traced.process)
            if taken == _SLOTS_AT_A_TIME:
                more = True
            elif traced.is_ending:
                self._end(traced)
        return more

    def _drain_process(self, process: Process) -> int:
        """Decode (and record) full slots of one process; returns how many."""
        taken = 0
        for data, size, content in process.slots(_SLOTS_AT_A_TIME):
            if self._record is not None:
                self._keep(
                    lambda record, d=data, s=size, c=content: record.slot(  # type: ignore[misc]
                        process, memoryview(self._ffi.buffer(d, s)), c
                    )
                )
            process.decode(data, size, content)
            taken += 1
        return taken

    def _keep(self, work: Callable[[RecordingWriter], None]) -> None:
        """Write to the recording; one that fails is given up, and the capture goes on."""
        assert self._record is not None
        try:
            work(self._record)
        except OSError as error:
            self.record_failure = f"the recording cannot be written: {error}"
            self._record = None

    def _end(self, traced: Traced) -> None:
        assert traced.socket is not None
        self._poll.unregister(traced.socket)
        traced.socket.close()
        traced.socket = None
        traced.end_ns = time.time_ns()
        if self._record is not None:
            self._keep(lambda record: record.head(traced.process))
        # Its shared memory would otherwise stay until the capture ends.
        traced.process.detach()

    def abandon(self) -> None:
        """Give up the processes that still run; what they hold is lost."""
        for traced in self.traced:
            if traced.end_ns is None and traced.socket is not None:
                traced.is_abandoned = True
                self._end(traced)

    @property
    def live(self) -> int:
        """Traced processes that have not ended."""
        return sum(traced.end_ns is None for traced in self.traced)

    # ---- the way out

    def batches(self, everything: bool = False) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Batches of the record tables and of ``clock`` and ``kernel_name``.

        Without ``everything``, only tables that have gathered enough rows.
        """
        import pyarrow as pa

        least = 1 if everything else _BATCH_ROWS
        for index, table in enumerate(self.decoder.tables):
            if self.decoder.rows(index) >= least:
                batch = self.decoder.take(index)
                if table == "kernel":
                    self._names.add(batch.column("name").dictionary.to_pylist())
                yield table, batch
        clock = self._clock.due()
        own = {
            "clock": [clock] if clock else [],
            "kernel_name": self._names.take(),
            "capture_window": [row for traced in self.traced for row in _window_rows(traced)],
        }
        for table, rows in own.items():
            if rows:
                yield table, pa.RecordBatch.from_pylist(rows, arrow_schema(table))

    def has_conflict(self) -> bool:
        """Whether another CUPTI client has come in a traced process."""
        return any(traced.process.info().taken_ns for traced in self.traced)

    def process_rows(self) -> list[dict[str, Any]]:
        """Rows of the table ``process`` as they are now."""
        return [_process_row(traced) for traced in self.traced]

    def losses(self) -> list[Loss]:
        """Rows of the table ``loss`` as they are now."""
        found = [
            loss
            for traced in self.traced
            for loss in losses(traced.process, traced.end_ns, traced.is_abandoned)
        ]
        found += [Loss(None, "not_traced", detail=f"pid {r.pid}: {r.reason}") for r in self.refused]
        return found

    def rows_and_records(self) -> tuple[int, int]:
        """Rows stored and records emitted so far."""
        return (
            sum(stored(traced.process) for traced in self.traced),
            sum(emitted(traced.process) for traced in self.traced),
        )

    def close(self) -> None:
        """Remove the socket's folder; traced processes that live go on untraced."""
        for traced in self.traced:
            if traced.socket is not None:
                traced.socket.close()
        if self._socket is not None:
            self._socket.close()
        if self._bell is not None:
            self._ffi.release(self._bell)
            self._bell = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _window_rows(traced: Traced) -> Iterator[dict[str, Any]]:
    """Rows of ``capture_window`` that are new: closed, or left open by a process's end."""
    if traced.windows_are_all:
        return
    traced.windows_are_all = traced.end_ns is not None
    windows = traced.process.windows()
    if windows and windows[-1].end_ns is None and traced.end_ns is None:
        windows = windows[:-1]
    for window in windows[traced.windows :]:
        yield {"process_id": traced.process.process_id, **vars(window)}
    traced.windows = len(windows)


def _is_eof(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _fit(value: int | None, bits: int = 32) -> int | None:
    """The number if it fits its column; a foreign process can say anything."""
    limit = 1 << (bits - 1)
    return value if value is not None and -limit <= value < limit else None


def _process_row(traced: Traced) -> dict[str, Any]:
    info = traced.process.info()
    ended = "tracing" if traced.end_ns is None else "killed"
    return {
        "process_id": info.process_id,
        "pid": info.pid,
        "parent_pid": info.parent_pid,
        "host": info.host,
        "argv": info.argv or None,
        "start_ns": info.start_ns,
        "end_ns": traced.end_ns,
        "state": "lost" if traced.is_abandoned else _STATES.get(info.state, ended),
        "detail": info.detail or None,
        "rank": _fit(info.rank),
        "local_rank": _fit(info.local_rank),
        "world_size": _fit(info.world_size),
        "slurm_job_id": info.slurm_job_id,
        "slurm_proc_id": _fit(info.slurm_proc_id),
        "cupti_version": _fit(info.cupti_version or None),
        "cupti_path": info.cupti_path or None,
        "records": "selected" if info.is_selected else "fixed",
        "driver_version": info.driver_version or None,
        "emitted": _fit(emitted(traced.process), 64),
        "stored": stored(traced.process),
    }
