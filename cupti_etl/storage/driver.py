"""Wires a collector's batches to a sink: back-pressure, failure, the tables about it.

Two threads: the caller's drains and decodes, the writer's compresses and writes.  Both
spend their time in native code without the interpreter's lock.
"""

from __future__ import annotations

import contextlib
import platform
import queue
import random
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl import __version__
from cupti_etl.capture.collector import Collector
from cupti_etl.errors import EtlError
from cupti_etl.schema.arrow import SCHEMA_VERSION
from cupti_etl.schema.loss import Loss
from cupti_etl.schema.own import OWN

if TYPE_CHECKING:
    from cupti_etl.storage import Sink
    from cupti_etl.storage.trace_duckdb import TraceDuckdb

_Work = Callable[["Sink"], None]


class Writer(threading.Thread):
    """The thread that owns the sink; work waits for it in a short queue.

    If the sink fails (a full disk), what comes after is thrown away, so that the traced
    program is not held up; ``failure`` says what happened.

    Args:
        open_sink: makes the sink, in this thread.
    """

    def __init__(self, open_sink: Callable[[], Sink]) -> None:
        super().__init__(name="cupti-etl-writer", daemon=True)
        self.failure: EtlError | None = None
        self._open_sink = open_sink
        # Short: what waits here is memory, and the segments hold more of it.
        self._queue: queue.Queue[_Work | None] = queue.Queue(maxsize=2)
        self._due = threading.Event()
        self._sink: Sink | None = None

    def run(self) -> None:
        """Open the sink and do the work, until told to end."""
        self._attempt(self._open)
        while (work := self._queue.get()) is not None:
            if self._sink is not None and self.failure is None:
                self._attempt(partial(work, self._sink))
                if self._sink.roll_is_due():
                    self._due.set()

    def _open(self) -> None:
        self._sink = self._open_sink()

    def _attempt(self, work: Callable[[], object]) -> None:
        try:
            work()
        except EtlError as error:
            self.failure = error
        # Whatever it is, the thread must live: who fills its queue would wait for ever.
        except Exception as error:
            # Behind its first line Arrow tells where in Python an error came from.
            why = (str(error).splitlines() or [type(error).__name__])[0]
            self.failure = EtlError(f"the trace cannot be written: {why}")

    def put(self, work: _Work, meanwhile: Callable[[], object]) -> None:
        """Queue work; while the queue is full, ``meanwhile`` is called now and then."""
        while True:
            try:
                self._queue.put(work, timeout=0.05)
                return
            except queue.Full:
                meanwhile()

    def roll_is_due(self) -> bool:
        """Whether the sink wants to make readable what it has."""
        return self._due.is_set()

    def rolled(self) -> None:
        """The roll has been queued."""
        self._due.clear()

    def finish(self) -> None:
        """Let the queued work be done, and end."""
        self._queue.put(None)
        self.join()

    def salvage(self, tables: Mapping[str, list[dict[str, Any]]]) -> None:
        """After a failure: write small tables all the same, if they fit, and let go."""
        if self._sink is None:
            return
        for table, rows in tables.items():
            with contextlib.suppress(OSError):
                self._sink.replace(table, rows)
        with contextlib.suppress(OSError, EtlError):
            self._sink.close()


def end_trace(sink: Sink, capture: dict[str, Any], counted: Collection[dict[str, Any]]) -> None:
    """Bring a trace to its end; the last that is written is that it ended.

    Args:
        sink: its sink, which has finished what it took; in the thread that owns it.
        capture: the row of ``capture``.
        counted: rows of ``row_count`` by who made the records; how many the other tables
            have, the sink knows.
    """
    known = {row["table_name"] for row in counted}
    others = {table: rows for table, rows in sink.rows().items() if rows and table not in known}
    counts = [*counted, *({"table_name": name, "stored": rows} for name, rows in others.items())]
    sink.replace("row_count", counts)
    sink.roll()
    sink.replace("capture", [{**capture, "row_counts": len(counts)}])
    sink.close()


class Pipeline:
    """A collector, a sink, and the tables ``capture``, ``process`` and ``loss``.

    Args:
        out: folder of the trace, empty; None if it does not go to a folder.
        collector: where batches come from.
        facts: columns of the ``capture`` row that the caller knows.
        kinds: tables of records that are expected.
        meanwhile: called while the writer holds us up.
        open_sink: makes the sink for these tables; that of the folder, if it is not given.
    """

    def __init__(
        self,
        out: Path | None,
        collector: Collector,
        facts: dict[str, Any],
        kinds: Collection[str],
        meanwhile: Callable[[], object] = lambda: None,
        open_sink: Callable[[Collection[str]], Sink] | None = None,
    ) -> None:
        self.out = out
        self.collector = collector
        self._meanwhile = meanwhile
        self._capture: dict[str, Any] = {
            "capture_id": random.SystemRandom().getrandbits(63),
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
            "host": socket.gethostname(),
            "kernel_release": f"{platform.system()} {platform.release()}",
            "start_ns": time.time_ns(),
            **facts,
        }
        self._last_tick = time.monotonic()
        tables = {*kinds, *(table.name for table in OWN)}
        self._trace_duckdb: TraceDuckdb | None = None
        self.writer = Writer(partial(open_sink or self._folder_sink, tables))
        self.writer.start()
        self._put_own_tables()
        self.writer.put(lambda sink: sink.roll(), self._meanwhile)

    def _folder_sink(self, tables: Collection[str]) -> Sink:
        from cupti_etl.storage.parquet import ParquetSink

        assert self.out is not None
        return ParquetSink(self.out, tables, is_made=True)

    def step(self) -> bool:
        """Drain some of what is ready and pass on what is gathered; make it readable if due.

        Returns:
            Whether there is more to drain at once.
        """
        more = self.collector.drain()
        self._begin_trace_duckdb()
        # The writer decides by its clock, which it looks at when it has work.
        now = time.monotonic()
        if now - self._last_tick >= 0.5:
            self._last_tick = now
            self.writer.put(lambda sink: None, self._meanwhile)
        due = self.writer.roll_is_due()
        self._pass_on(everything=due)
        if due:
            self.writer.rolled()
            self._put_own_tables()
            self.writer.put(lambda sink: sink.roll(), self._meanwhile)
        return more

    def _begin_trace_duckdb(self) -> None:
        """Beside the program, once there is something to look at: DuckDB is slow to start."""
        collector = self.collector
        has_begun = collector.traced or collector.sampling is not None
        if self._trace_duckdb is None and self.out is not None and has_begun:
            from cupti_etl.storage.trace_duckdb import TraceDuckdb

            self._trace_duckdb = TraceDuckdb(self.out)
            self._trace_duckdb.start()
            # The sink is open, and with it every table has a part, when this is its turn.
            ready = self._trace_duckdb.folder_is_there
            self.writer.put(lambda sink: sink.when_readable(ready), self._meanwhile)

    def _pass_on(self, everything: bool, is_last: bool = False) -> None:
        for table, batch in self.collector.batches(everything, is_last):
            self.writer.put(lambda sink, t=table, b=batch: sink.write(t, b), self._meanwhile)  # type: ignore[misc]

    def _capture_row(self) -> dict[str, Any]:
        return {**self._capture, **self.collector.facts()}

    def _put_own_tables(self) -> None:
        rows = {
            "process": self.collector.process_rows(),
            "loss": [loss.row() for loss in self.collector.losses()],
            "capture": [self._capture_row()],
        }
        for table, content in rows.items():
            self.writer.put(lambda sink, t=table, c=content: sink.replace(t, c), self._meanwhile)  # type: ignore[misc]

    def finish(self, exit_status: int | None, stopped_by: str | None = None) -> None:
        """Write what is left, compact, and see that ``trace.duckdb`` is there.

        If no program was traced, there is none.

        ``stopped_by`` is the limit that ended the recording, if one did.

        Raises:
            EtlError: the trace could not be written; what was written stays.
        """
        self._pass_on(everything=True, is_last=True)
        self._capture |= {"exit_status": exit_status, "stopped_by": stopped_by}
        self._put_own_tables()
        # With the last rows, so that who finds the status knows that nothing else is to come.
        self.writer.put(lambda sink: sink.roll(), self._meanwhile)
        self.writer.put(lambda sink: sink.finish(), self._meanwhile)
        capture = {**self._capture_row(), "end_ns": time.time_ns()}
        counted = self.collector.stored_rows()
        self.writer.put(lambda sink: end_trace(sink, capture, counted), self._meanwhile)
        self.writer.finish()
        if self._trace_duckdb is not None:
            self._trace_duckdb.end()
        if self.writer.failure is not None:
            failure = self.writer.failure
            loss = Loss(None, "not_written", detail=failure.message)
            losses = [*self.collector.losses(), loss]
            self.writer.salvage({"loss": [loss.row() for loss in losses]})
            where = f"what was written before is in {self.out}; make room and capture again"
            raise EtlError(failure.message, failure.hint or where)
        if self._trace_duckdb is not None:
            self._trace_duckdb.finish()
