"""The collector: receives traced processes, drains their segments, yields batches.

It knows nothing of where rows go: it yields ``(table, RecordBatch)``.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.clock import Clock
from cupti_etl.capture.decode import Decoder
from cupti_etl.capture.door import Door, Greeting, Refusal
from cupti_etl.capture.loss import Loss, emitted, losses, stored
from cupti_etl.capture.names import KernelNames
from cupti_etl.capture.native import load
from cupti_etl.capture.recording import RecordingWriter
from cupti_etl.capture.segment import FINISHED, NOT_FLUSHED, NOT_TRACED, RECORDS, Process
from cupti_etl.errors import NativeError
from cupti_etl.schema.arrow import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.capture.pm.sampling import Sampling

# Rows of a table that are gathered before they are handed on.
_BATCH_ROWS = 32768
# Slots of one process that are taken at a time: a process that fills them as fast as they
# are emptied must not keep us from the others, from signals, and from writing.
_SLOTS_AT_A_TIME = 8
# Slots that wait for strings: as much as the largest segment holds.
_MOST_ASIDE = 4096
_STATES = {FINISHED: "finished", NOT_TRACED: "failed", NOT_FLUSHED: "not flushed"}


@dataclass
class Traced:
    """A process the collector knows: its segment, and its socket while it has one."""

    process: Process
    socket: socket.socket | None
    end_ns: int | None = None
    is_ending: bool = False  # it has ended, its slots are not empty yet
    is_abandoned: bool = False  # it still ran when the capture was told to end
    windows: int = 0  # of recording, that were passed on
    windows_are_all: bool = False
    # Of one that was adopted: its records wait for strings that are still to come.
    awaits_strings: bool = False
    aside: list[bytes] = field(default_factory=list)
    _final: tuple[dict[str, Any], list[Loss]] | None = None

    def row(self) -> dict[str, Any]:
        """The row of ``process`` as it is now."""
        return dict(self._facts()[0])

    def losses(self) -> list[Loss]:
        """The losses so far."""
        return self._facts()[1]

    def _facts(self) -> tuple[dict[str, Any], list[Loss]]:
        if self._final is not None:
            return self._final
        facts = _process_row(self), losses(self.process, self.end_ns, self.is_abandoned)
        if self.end_ns is not None:  # nothing changes any more
            self._final = facts
        return facts


class Collector:
    """Drains all traced processes of one capture; single-threaded.

    Args:
        record: also write the raw slots there.
        live: whether to open a socket for traced processes (a replay does not, nor who
            adopts orphans).
        sampling: of hardware counters, whose samples are drained too.

    Raises:
        NativeError: there is no native part, or no memory.
    """

    def __init__(
        self,
        record: RecordingWriter | None = None,
        live: bool = True,
        sampling: Sampling | None = None,
    ) -> None:
        self._ffi, self._lib = load()
        self.decoder = Decoder()
        self.traced: list[Traced] = []
        self.sampling = sampling
        self._record = record
        self.record_failure: str | None = None
        self._clock = Clock()
        self._names = KernelNames()
        self._poll = select.poll()
        self._unfit: list[Refusal] = []
        self.door = Door() if live else None

    # ---- the way in

    @property
    def socket_path(self) -> Path:
        """Where traced processes connect."""
        assert self.door is not None
        return self.door.path

    @property
    def refused(self) -> list[Refusal]:
        """Processes that are not traced at all."""
        return [*(self.door.refused if self.door else ()), *self._unfit]

    def _admit(self, greeting: Greeting) -> None:
        try:
            process = Process.attach(self.decoder, greeting.segment)
            process.claim(greeting.segment)
        except NativeError as error:
            self._unfit.append(Refusal(greeting.pid, error.message))
            greeting.connection.close()
        else:
            self._poll.register(greeting.connection, select.POLLIN | select.POLLHUP)
            self.traced.append(Traced(process, greeting.connection))
        finally:
            os.close(greeting.segment)

    def adopt(self, process: Process) -> None:
        """Follow a process whose collector was killed; it has been claimed."""
        process.adopt()
        self.traced.append(Traced(process, None, awaits_strings=True))

    def pause(self, is_paused: bool) -> None:
        """Tell all traced processes, those to come too, whether to record."""
        assert self.door is not None
        self.door.bell.pause(is_paused)

    # ---- draining

    def wait(self, timeout_ms: int) -> None:
        """Sleep until a process rings the bell, at most so long."""
        if self.door is not None:
            self.door.bell.wait(timeout_ms)
        else:  # those that were adopted ring the bell of the dead
            time.sleep(timeout_ms / 1000)

    def drain(self) -> bool:
        """Take in new processes and some of what is ready; notice ends.

        Returns:
            Whether there is more to take at once.
        """
        if self.door is not None:
            # Looked at first, so that what comes while we are busy wakes us at once.
            self.door.bell.look()
            for greeting in self.door.greetings():
                self._admit(greeting)
        if self.sampling is not None:
            self.sampling.drain()
        ready = {fd for fd, _ in self._poll.poll(0)}
        more = False
        for traced in self.traced:
            if traced.end_ns is not None:
                continue
            # Asked first: what a process published before its end is there by then.
            traced.is_ending = traced.is_ending or self._has_ended(traced, ready)
            taken = self._drain_process(traced)
            if taken == _SLOTS_AT_A_TIME:
                more = True
            elif traced.is_ending:
                self._end(traced)
        return more

    def _has_ended(self, traced: Traced, ready: set[int]) -> bool:
        """Whether a process image is gone: ended in whatever way, or replaced by exec."""
        if traced.socket is None:
            return traced.process.is_alive() is False
        if traced.socket.fileno() not in ready or not _is_eof(traced.socket):
            return False
        if not traced.process.is_alive():
            return True
        # It has closed all its descriptors, as daemons do, and goes on.
        self._forget(traced)
        return False

    def _forget(self, traced: Traced) -> None:
        if traced.socket is not None:
            self._poll.unregister(traced.socket)
            traced.socket.close()
            traced.socket = None

    def _drain_process(self, traced: Traced) -> int:
        """Take full slots of one process; returns how many."""
        process, taken = traced.process, 0
        # Asked before looking: once they are sent, all of them lie in the slots.
        awaits = traced.awaits_strings and process.awaits_strings()
        for data, size, content in process.slots(_SLOTS_AT_A_TIME):
            if traced.awaits_strings and content == RECORDS:
                # Copied, so that its slot is free for the strings.
                traced.aside.append(bytes(self._ffi.buffer(data, size)))
            else:
                self._take(process, data, size, content)
            taken += 1
        if traced.awaits_strings and (
            (taken < _SLOTS_AT_A_TIME and (traced.is_ending or not awaits))
            or len(traced.aside) > _MOST_ASIDE
        ):
            traced.awaits_strings = False
            for slot in traced.aside:
                data = self._ffi.from_buffer("uint8_t[]", slot)
                self._take(process, data, len(slot), RECORDS)
            traced.aside.clear()
        return taken

    def _take(self, process: Process, data: Any, size: int, content: int) -> None:
        """Decode (and record) one slot."""
        self._keep(
            lambda record: record.slot(process, memoryview(self._ffi.buffer(data, size)), content)
        )
        process.decode(data, size, content)

    def _keep(self, work: Callable[[RecordingWriter], None]) -> None:
        """Write to the recording, if there is one; one that fails is given up."""
        if self._record is None:
            return
        try:
            work(self._record)
        except OSError as error:
            self.record_failure = f"the recording cannot be written: {error}"
            self._record = None

    def _end(self, traced: Traced) -> None:
        self._forget(traced)
        traced.end_ns = time.time_ns()
        self._keep(lambda record: record.head(traced.process))
        # Its shared memory would otherwise stay until the capture ends.
        traced.process.detach()

    def abandon(self) -> None:
        """Give up the processes that still run; what they hold is lost."""
        if self.door is not None:
            self.door.bell.pause(True)  # so that they go on as if they were not traced
        for traced in self.traced:
            if traced.end_ns is None:
                traced.is_abandoned = True
                self._end(traced)
        if self.door is not None:
            self.door.last_call()

    @property
    def live(self) -> int:
        """Processes that have not ended, and those that are about to say who they are."""
        pending = self.door.pending if self.door is not None else 0
        return pending + sum(traced.end_ns is None for traced in self.traced)

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

        if self.sampling is not None:
            yield from self.sampling.batches(everything)

    def facts(self) -> dict[str, Any]:
        """Columns of the table ``capture`` that are known here, as they are now."""
        return self.sampling.facts() if self.sampling is not None else {}

    def has_conflict(self) -> bool:
        """Whether another CUPTI client has come in a traced process."""
        return any(traced.process.info().taken_ns for traced in self.traced)

    def process_rows(self) -> list[dict[str, Any]]:
        """Rows of the table ``process`` as they are now."""
        return [traced.row() for traced in self.traced]

    def losses(self) -> list[Loss]:
        """Rows of the table ``loss`` as they are now."""
        found = [loss for traced in self.traced for loss in traced.losses()]
        if self.sampling is not None:
            found += self.sampling.losses()
        found += [Loss(None, "not_traced", detail=f"pid {r.pid}: {r.reason}") for r in self.refused]
        return found

    def rows_and_records(self) -> tuple[int, int]:
        """Rows stored and records emitted so far."""
        return (
            sum(stored(traced.process) for traced in self.traced),
            sum(emitted(traced.process) for traced in self.traced),
        )

    def close(self) -> None:
        """Let go of everything; traced processes that live go on untraced."""
        for traced in self.traced:
            self._forget(traced)
        if self.door is not None:
            self.door.close()
        if self.sampling is not None:
            self.sampling.close()


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
