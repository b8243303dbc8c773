"""The collector: receives traced processes, drains their segments, yields batches.

It knows nothing of where rows go: it yields ``(table, RecordBatch)``.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cupti_etl.capture.clock import Clock
from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.listener import Greeting, Listener, Refusal
from cupti_etl.capture.naming import Naming
from cupti_etl.capture.recording import RecordingWriter
from cupti_etl.capture.segment import RECORDS, Process
from cupti_etl.capture.traced import Traced
from cupti_etl.capture.wakeup import Wakeup
from cupti_etl.capture.windows import Counted
from cupti_etl.errors import NativeError, why
from cupti_etl.native.loader import load
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.pm.sampling import Sampling

# What of one process is taken at a time, in slots and, as these are large or small, in bytes:
# a process that fills them as fast as they are emptied must not keep us from the others, from
# signals, and from writing.
_SLOTS_AT_A_TIME = 64
_BYTES_AT_A_TIME = 8 << 20
# Slots that wait for strings: as much as the largest segment holds.
_MOST_ASIDE = 4096


class Watcher(Protocol):
    """Looks at batches of records, such as to decide when to record."""

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Learn from rows that arrive."""

    def losses(self) -> list[Loss]:
        """What it knows to be lost, as of now."""


class Collector:
    """Drains all traced processes of one capture; single-threaded.

    Args:
        record: also write the raw slots there.
        live: whether to open a socket for traced processes (who resumes what a dead collector
            left, or only samples, does not).
        sampling: of hardware counters, whose samples are drained too.
        allow_uids: other users whose processes are followed too.
        path: of the socket; by default, one that nobody can foresee.

    Raises:
        NativeError: there is no native part, or no memory.
        UsageError: nobody can listen at the path.
    """

    def __init__(
        self,
        record: RecordingWriter | None = None,
        live: bool = True,
        sampling: Sampling | None = None,
        allow_uids: Collection[int] = (),
        path: Path | None = None,
    ) -> None:
        self._ffi, self._lib = load()
        self.decoder = Decoder()
        self.traced: list[Traced] = []
        # Those that have not ended, and those of which something may still be to be passed on:
        # a long capture can have thousands of others, which must not cost time for ever.
        self._followed: list[Traced] = []
        self._told: list[Traced] = []
        self._ended: list[Traced] = []
        self.sampling = sampling
        self._record = record
        self.record_failure: str | None = None
        self._has_conflict = False
        self._clock = Clock()
        self._naming = Naming()
        self.known_losses: list[Loss] = []  # of no process, or of all
        self.watchers: list[Watcher] = []
        self._poll = select.poll()
        self.listener = Listener(allow_uids, path) if live else None

    # ---- the way in

    @property
    def settings(self) -> dict[str, str]:
        """What traced processes are told to find us, by the keys of ``config.ENVIRONMENT``."""
        assert self.listener is not None
        return self.listener.settings

    @property
    def refused(self) -> list[Refusal]:
        """Processes that are not traced at all."""
        return self.listener.refused if self.listener is not None else []

    def _admit(self, listener: Listener, greeting: Greeting) -> None:
        try:
            process = Process.map(self.decoder, greeting.segment)
            process.claim(greeting.segment)
        except NativeError as error:
            listener.refuse(greeting.pid, error.message)
            greeting.connection.close()
        else:
            self._poll.register(greeting.connection, select.POLLIN | select.POLLHUP)
            self._follow(Traced(process, greeting.connection))
        finally:
            os.close(greeting.segment)

    def resume(self, process: Process) -> None:
        """Follow a process whose collector was killed; it has been claimed."""
        process.resume()
        self._follow(Traced(process, None, awaits_strings=True))

    def _follow(self, traced: Traced) -> None:
        self.traced.append(traced)
        self._told.append(traced)
        self._followed.append(traced)

    def has_read_all_of(self, pid: int) -> bool:
        """Whether nothing more is to come from a process that we follow, or followed."""
        return all(one.process.info().pid != pid for one in self._followed)

    @property
    def wakeup(self) -> Wakeup:
        """What all traced processes, those to come too, are told by."""
        assert self.listener is not None
        return self.listener.wakeup

    # ---- draining

    def wait(self, timeout_ms: int) -> None:
        """Sleep until a process has something for us, at most so long."""
        if self.listener is not None:
            self.listener.wakeup.wait(timeout_ms)
        else:  # those that we resumed wake the dead collector
            time.sleep(timeout_ms / 1000)

    def drain(self) -> bool:
        """Take in new processes and some of what is ready; notice ends.

        Returns:
            Whether there is more to take at once.
        """
        if self.listener is not None:
            # Looked at first, so that what comes while we are busy wakes us at once.
            self.listener.wakeup.look()
            for greeting in self.listener.greetings():
                self._admit(self.listener, greeting)
        if self.sampling is not None:
            self.sampling.drain()
        ready = {fd for fd, _ in self._poll.poll(0)}
        more = self.listener is not None and self.listener.has_more
        for traced in self._followed:
            # Asked first: what a process published before its end is there by then.
            traced.is_ending = traced.is_ending or self._has_ended(traced, ready)
            if self._drain_process(traced):
                more = True
            elif traced.is_ending:
                self._end(traced)
        self._followed = [traced for traced in self._followed if traced.end_ns is None]
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

    def _drain_process(self, traced: Traced) -> bool:
        """Take full slots of one process, its share; returns whether there may be more."""
        process, taken, size_taken = traced.process, 0, 0
        # Asked before looking: once they are sent, all of them lie in the slots.
        awaits = traced.awaits_strings and process.awaits_strings()
        for data, size, content in process.slots(_SLOTS_AT_A_TIME, _BYTES_AT_A_TIME):
            if traced.awaits_strings and content == RECORDS:
                # Copied, so that its slot is free for the strings.
                traced.aside.append(bytes(self._ffi.buffer(data, size)))
            else:
                self._take(process, data, size, content)
            taken += 1
            size_taken += size
        more = taken >= _SLOTS_AT_A_TIME or size_taken >= _BYTES_AT_A_TIME
        if traced.awaits_strings and (
            (not more and (traced.is_ending or not awaits)) or len(traced.aside) > _MOST_ASIDE
        ):
            traced.awaits_strings = False
            for slot in traced.aside:
                data = self._ffi.from_buffer("uint8_t[]", slot)
                self._take(process, data, len(slot), RECORDS)
            traced.aside.clear()
        return more

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
            self.record_failure = f"the recording cannot be written: {why(error)}"
            self._record = None

    def _end(self, traced: Traced) -> None:
        self._forget(traced)
        self._has_conflict |= traced.process.info().taken_ns != 0
        traced.end_ns = time.time_ns()
        self._ended.append(traced)
        self._keep(lambda record: record.head(traced.process))
        # Its shared memory would otherwise stay until the capture ends.
        traced.process.detach()

    def abandon(self) -> None:
        """Give up the processes that still run; what they hold is lost."""
        if self.listener is not None:
            self.listener.wakeup.pause(True)  # so that they go on as if they were not traced
        for traced in self._followed:
            traced.is_abandoned = True
            self._end(traced)
        self._followed.clear()
        if self.listener is not None:
            self.listener.last_call()

    def take_ended(self) -> list[Traced]:
        """Processes that have ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def forget(self, before_ns: int) -> None:
        """Let go of what is known of processes that ended before, once it was passed on."""
        gone = [
            traced
            for traced in self.traced
            if traced.end_ns is not None and traced.end_ns < before_ns and traced not in self._told
        ]
        for traced in gone:
            self.traced.remove(traced)
            self._naming.forget(traced.process.process_id)

    def alive(self) -> list[Traced]:
        """Processes that have not ended."""
        return list(self._followed)

    @property
    def live(self) -> int:
        """Processes that have not ended, and those that are about to say who they are."""
        pending = self.listener.pending if self.listener is not None else 0
        return pending + len(self._followed)

    # ---- the way out

    def batches(
        self, everything: bool = False, is_last: bool = False
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Batches of the record tables and of ``clock`` and ``kernel_name``.

        Without ``everything``, only tables that have gathered enough.  Names of kernels can come
        later than the kernels, but for the last time, when they are waited for.
        """
        import pyarrow as pa

        for table, batch in self.decoder.batches(everything):
            if table == "kernel":
                for traced in self._told:
                    names = traced.process.take_kernel_names()
                    self._naming.add(traced.process.process_id, names)
            self._naming.add_from(table, batch)
            for watcher in self.watchers:
                watcher.add(table, batch)
            yield table, batch
        clock = self._clock.due()
        own = {
            "clock": [clock] if clock else [],
            "kernel_name": self._naming.take(is_last),
            "capture_window": [row for traced in self._told for row in traced.new_windows()],
        }
        if everything:
            self._told = [traced for traced in self._told if traced.end_ns is None]
        for table, new in own.items():
            if new:
                yield table, pa.RecordBatch.from_pylist(new, arrow_schema(table))

        if self.sampling is not None:
            yield from self.sampling.batches(everything)

    def take_counted(self) -> list[tuple[int, Counted]]:
        """Windows whose launches were counted, each with its process; those that are new."""
        told = [traced.process for traced in self._told]
        return [(one.process_id, window) for one in told for window in one.take_counted()]

    def facts(self) -> dict[str, Any]:
        """Columns of the table ``capture`` that are known here, as they are now."""
        return self.sampling.facts() if self.sampling is not None else {}

    def has_conflict(self) -> bool:
        """Whether another CUPTI client has come in a traced process."""
        self._has_conflict |= any(one.process.info().taken_ns for one in self._followed)
        return self._has_conflict

    def process_rows(self) -> list[dict[str, Any]]:
        """Rows of the table ``process`` as they are now."""
        return [traced.row() for traced in self.traced]

    def restated(self) -> dict[str, list[dict[str, Any]]]:
        """The tables ``process`` and ``loss`` as they are now."""
        return {"process": self.process_rows(), "loss": [loss.row() for loss in self.losses()]}

    def changes(self) -> dict[str, Any]:
        """None: what is drained is whole."""
        return {}

    def stored_rows(self) -> list[dict[str, Any]]:
        """Rows of the table ``row_count`` about the tables of records."""
        return [
            {"process_id": traced.process.process_id, "table_name": kind.table, "stored": rows}
            for traced in self.traced
            for table, kind in enumerate(KINDS)
            if (rows := traced.process.stored(table))
        ]

    def losses(self) -> list[Loss]:
        """Rows of the table ``loss`` as they are now."""
        found = [*self.known_losses, *(loss for one in self.traced for loss in one.losses())]
        found += [loss for watcher in self.watchers for loss in watcher.losses()]
        if self.sampling is not None:
            found += self.sampling.losses()
        found += self._naming.losses()
        for one in self.refused:
            who = f"pid {one.pid}: " if one.pid is not None else ""
            found.append(Loss(None, "not_traced", detail=f"{who}{one.reason}"))
        return found

    def rows_and_records(self) -> tuple[int, int]:
        """Rows stored and records emitted so far."""
        totals = [traced.rows_and_records() for traced in self.traced]
        return sum(rows for rows, _ in totals), sum(records for _, records in totals)

    def close(self) -> None:
        """Let go of everything; traced processes that live go on untraced."""
        for traced in self.traced:
            self._forget(traced)
        self._naming.close()
        if self.listener is not None:
            self.listener.close()
        if self.sampling is not None:
            self.sampling.close()


def _is_eof(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
