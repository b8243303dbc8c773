"""Takes the rows of a trace from whoever yields them to where they go.

One way for a capture, programs whose collector was killed, samples, and files of other tools:
back-pressure, rolls, failure of the disk, the tables about the trace itself, its end.

Two threads: the caller's gathers rows, the writer's compresses and writes.  Both spend their
time in native code without the interpreter's lock.
"""

from __future__ import annotations

import contextlib
import platform
import queue
import random
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cupti_etl import __version__
from cupti_etl.errors import EtlError, why
from cupti_etl.schema.arrow import SCHEMA_VERSION
from cupti_etl.schema.loss import Loss
from cupti_etl.schema.own import OWN

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.storage import Change, Target
    from cupti_etl.storage.destination import Destination

_Work = Callable[["Target"], object]
_Rows = list[dict[str, Any]]


class Source(Protocol):
    """What yields the rows of a trace; used by one thread."""

    def drain(self) -> bool:
        """Gather some of what is ready; whether there is more at once."""

    def wait(self, timeout_ms: int) -> None:
        """Sleep until there may be something to gather, at most so long."""

    def batches(self, everything: bool, is_last: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        """What was gathered; without ``everything``, only what is worth to be handed on."""

    def restated(self) -> dict[str, _Rows]:
        """Tables whose rows change until the end (``process``, ``loss``), as they are now."""

    def facts(self) -> dict[str, Any]:
        """Columns of ``capture`` that are known here, as they are now."""

    def stored_rows(self) -> _Rows:
        """Rows of ``row_count`` by who made the records; other tables are counted while written."""

    def changes(self) -> Mapping[str, Change]:
        """What rows of finished tables become, as it was known only in the end."""


class Writer(threading.Thread):
    """The thread that owns the target; work waits for it in a short queue.

    If the target fails (a full disk), what comes after is thrown away, so that the traced
    program is not held up; ``failure`` says what happened.

    Args:
        open_target: makes the target, in this thread.
    """

    def __init__(self, open_target: Callable[[], Target]) -> None:
        super().__init__(name="cupti-etl-writer", daemon=True)
        self.failure: EtlError | None = None
        self._open_target = open_target
        # Short: what waits here is memory, and the segments hold more of it.
        self._queue: queue.Queue[_Work | None] = queue.Queue(maxsize=2)
        self._target: Target | None = None

    def run(self) -> None:
        """Open the target and do the work, until told to end."""
        self._attempt(self._open)
        while (work := self._queue.get()) is not None:
            if self._target is not None and self.failure is None:
                self._attempt(partial(work, self._target))

    def _open(self) -> None:
        self._target = self._open_target()

    def _attempt(self, work: Callable[[], object]) -> None:
        try:
            work()
        except EtlError as error:
            self.failure = error
        # Whatever it is, the thread must live: who fills its queue would wait for ever.
        except Exception as error:
            self.failure = EtlError(f"the trace cannot be written: {why(error)}")

    def put(self, work: _Work, meanwhile: Callable[[], object]) -> None:
        """Queue work; while the queue is full, ``meanwhile`` is called now and then."""
        while True:
            try:
                self._queue.put(work, timeout=0.05)
                return
            except queue.Full:
                meanwhile()

    def finish(self) -> None:
        """Let the queued work be done, and end."""
        self._queue.put(None)
        self.join()

    def salvage(self, tables: Mapping[str, _Rows]) -> None:
        """After a failure: write small tables all the same, if they fit, and let go."""
        if self._target is None:
            return
        for table, rows in tables.items():
            with contextlib.suppress(OSError):
                self._target.replace(table, rows)
        with contextlib.suppress(OSError, EtlError):
            self._target.close()


class Driver:
    """Brings the rows of a source to a destination, and the trace to its end.

    Args:
        source: where the rows come from.
        destination: where they go; it has been made.
        facts: columns of the ``capture`` row that the caller knows.
        kinds: tables of records that are there from the start, be they empty.
        meanwhile: called while the writer holds us up.
    """

    def __init__(
        self,
        source: Source,
        destination: Destination,
        facts: Mapping[str, Any],
        kinds: Collection[str] = (),
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        self._source = source
        self._destination = destination
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
        self._start = self._last_roll = time.monotonic()
        tables = {*kinds, *(table.name for table in OWN)}
        self._writer = Writer(partial(destination.open, tables))
        self._writer.start()
        if destination.is_watched:
            with self.or_give_up():
                self._restate()
                self._put(lambda target: target.roll())

    @property
    def failure(self) -> EtlError | None:
        """Why what comes is thrown away, if it is."""
        return self._writer.failure

    def run(self, watch: Callable[[bool], int | None]) -> None:
        """Pass on rows until it is said that it is over.

        Args:
            watch: is asked before each look at the source, and told whether that had more at
                once the last time.  Says how long to wait for more, in ms, if it had not; None
                when it is over.
        """
        more = True
        while (pause := watch(more)) is not None:
            if pause and not more:
                self._source.wait(pause)
            more = self.step()

    def step(self) -> bool:
        """Gather some of what is ready, pass it on, and make it readable if that is due.

        Returns:
            Whether there is more to gather at once.
        """
        more = self._source.drain()
        now = time.monotonic()
        is_due = now - self._last_roll >= self._destination.interval_s(now - self._start)
        self._pass_on(everything=is_due)
        if is_due:
            self._last_roll = now
            self._restate()
            self._put(_roll)
        return more

    def _put(self, work: _Work) -> None:
        self._writer.put(work, self._meanwhile)

    def _pass_on(self, everything: bool, is_last: bool = False) -> None:
        for table, batch in self._source.batches(everything, is_last):
            self._put(lambda target, t=table, b=batch: target.write(t, b))  # type: ignore[misc]

    def _capture_row(self) -> dict[str, Any]:
        return {**self._capture, **self._source.facts()}

    def _restate(self) -> None:
        capture = {**self._capture_row(), "end_ns": None}
        for table, rows in {**self._source.restated(), "capture": [capture]}.items():
            self._put(lambda target, t=table, r=rows: target.replace(t, r))  # type: ignore[misc]

    def finish(
        self, exit_status: int | None = None, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Write what is left, and bring the trace to its end.

        ``facts`` are columns of the ``capture`` row that are known only now.

        Raises:
            EtlError: the trace could not be written; what was written stays.
        """
        with self.or_give_up():
            self._put_end({"exit_status": exit_status, **(facts or {})})
        self._writer.finish()
        failure = self._writer.failure
        if failure is not None:
            tables = self._source.restated()
            loss = Loss(None, "not_written", detail=failure.message)
            self._writer.salvage({"loss": [*tables.get("loss", ()), loss.row()]})
            raise EtlError(failure.message, failure.hint or self._destination.what_is_left())
        self._destination.finish()

    def _put_end(self, facts: Mapping[str, Any]) -> None:
        """Queue what is left, and the end."""
        self._pass_on(everything=True, is_last=True)
        self._capture |= facts
        self._restate()
        if self._destination.is_watched:
            # With the last rows, so that who finds the status knows that nothing else is to come.
            self._put(lambda target: target.roll())
        self._put(lambda target: target.finish())
        for table, change in self._source.changes().items():
            self._put(lambda target, t=table, c=change: target.rewrite(t, c))  # type: ignore[misc]
        capture = {"end_ns": time.time_ns(), **self._capture_row()}
        # What the source counts, and is not there any more, only the target can tell.
        counted = self._source.stored_rows() if self._destination.retain is None else []
        self._put(lambda target: _end(target, capture, counted))

    @contextlib.contextmanager
    def or_give_up(self) -> Iterator[None]:
        """If the source fails, the writer's thread does not wait for it for ever."""
        try:
            yield
        except BaseException:
            self.give_up()
            raise

    def give_up(self) -> None:
        """Let go of a trace that will not be."""
        self._writer.finish()
        self._writer.salvage({})


def _roll(target: Target) -> None:
    """Make readable what there is; a disk that is behind gets fewer and larger parts."""
    if not target.is_behind():
        target.roll()


def _end(target: Target, capture: dict[str, Any], counted: _Rows) -> None:
    """Bring a trace to its end; the last that is written is that it ended.

    Args:
        target: its target, which has finished what it took; in the thread that owns it.
        capture: the row of ``capture``.
        counted: rows of ``row_count`` by who made the records; how many the other tables
            have, the target knows.
    """
    known = {row["table_name"] for row in counted}
    others = {table: rows for table, rows in target.rows().items() if rows and table not in known}
    counts = [*counted, *({"table_name": name, "stored": rows} for name, rows in others.items())]
    target.replace("row_count", counts)
    target.roll()
    target.replace("capture", [{**capture, "row_counts": len(counts)}])
    target.close()
