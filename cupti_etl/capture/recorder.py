"""The flight recorder: rows go into memory, and into a trace only once a trigger has fired.

It stands where a capture has its driver.  The thread of the capture gathers rows and looks for
triggers; each trace is written by a thread of its own, so that neither the program nor what comes
next waits for a disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cupti_etl.capture import open_ranges
from cupti_etl.capture.recent import Recent, tables_since
from cupti_etl.capture.ring import Ring, pack
from cupti_etl.capture.span import Span
from cupti_etl.capture.triggers import EXIT, SIGNAL, Alive, Fired, Trigger, parse
from cupti_etl.errors import EtlError, why
from cupti_etl.progress import say
from cupti_etl.storage.driver import Driver
from cupti_etl.units import counted

if TYPE_CHECKING:
    from pathlib import Path

    from cupti_etl.capture.collector import Collector
    from cupti_etl.config import FlightOptions
    from cupti_etl.storage.destination import Destination
    from cupti_etl.storage.flight_folder import FlightFolder

_Rows = list[dict[str, Any]]
# Columns of ``capture``, and the tables that are recorded.
_About = tuple[Mapping[str, Any], Collection[str]]
# How long rows wait, at most, before they become a piece and are looked at.
_PIECE_NS = 1_000_000_000
_PAUSE_MS = 50
# How often it is looked whether a trace has become too old.
_TIDY_NS = 60 * 10**9


class _Trace(threading.Thread):
    """One trace while it is written."""

    def __init__(self, destination: Destination, span: Span, about: _About, until_ns: int) -> None:
        super().__init__(name="cupti-etl-flight", daemon=True)
        self.destination = destination
        self.span = span
        self.until_ns = until_ns
        self.fired: _Rows = []
        self.discarded: _Rows = []
        self.since_ns = 0  # what was over before is not about this trace
        self.lost_before: dict[tuple[Any, ...], int] = {}
        self.failure: EtlError | None = None
        self.exit_status: int | None = None
        self._about = about

    def run(self) -> None:
        """Write the trace to its end."""
        try:
            self.destination.create()
            driver = Driver(self.span, self.destination, *self._about)
            with driver.or_give_up():
                driver.run(lambda more: None if self.span.is_closed else _PAUSE_MS)
            driver.finish(self.exit_status)
        except EtlError as error:
            self.failure = error
        # Whatever it is: else the trace would be said to be there.
        except Exception as error:
            self.failure = EtlError(f"the trace cannot be written: {why(error)}")


def _less(discarded: _Rows, ranges: int) -> _Rows:
    """Without the beginnings of ranges that are in the trace all the same."""
    for row in discarded:
        if row["table_name"] == open_ranges.TABLE:
            taken = min(ranges, row["rows"])
            ranges -= taken
            row["rows"] -= taken
    return [row for row in discarded if row["rows"]]


class Recorder:
    """Keeps the last rows of a collector, and writes traces when triggers fire.

    Args:
        collector: where the rows come from.
        folder: where traces go; it has been made.
        options: of the flight recorder.
        about: columns of ``capture``, and the tables that are recorded.
        signals: how many signals of the trigger have come; status: of the command, once it has
            ended.
        quiet: whether nothing is said.
    """

    def __init__(
        self,
        collector: Collector,
        folder: FlightFolder,
        options: FlightOptions,
        about: _About,
        signals: Callable[[], int],
        status: Callable[[], int | None],
        *,
        quiet: bool = False,
    ) -> None:
        self._collector = collector
        self._folder = folder
        self._options = options
        self._triggers: list[Trigger] = [parse(text) for text in options.triggers]
        self._facts, self._kinds = about
        self._signals, self._status = signals, status
        self._quiet = quiet
        self._signals_seen = 0
        self._status_seen: int | None = None
        self.ring = Ring(options.before_ns, options.most_bytes)
        self._ranges = open_ranges.OpenRanges()
        self._recent = Recent()
        self._open: _Trace | None = None
        self._ending: list[_Trace] = []
        self._finished: list[Path] = []  # traces that are there, the oldest first
        self._removed = 0
        self._tidied_ns = time.monotonic_ns()
        self._last_piece_ns = time.monotonic_ns()
        self.fired = 0
        self.failures: list[EtlError] = []

    # ---- as a driver

    def run(self, watch: Callable[[bool], int | None]) -> None:
        """Keep rows until it is said that it is over; ``watch`` is as for ``Driver.run``."""
        more = True
        while (pause := watch(more)) is not None:
            if pause and not more:
                self._collector.wait(pause)
            more = self.step()

    def step(self) -> bool:
        """Gather some rows, keep them, and write if a trigger fires; whether there is more."""
        more = self._collector.drain()
        now_ns = time.monotonic_ns()
        events = [*self._of_signals(), *self._of_ends()]
        is_due = bool(events) or now_ns - self._last_piece_ns >= _PIECE_NS
        found = list(self._take(now_ns, everything=is_due))
        if is_due:
            self._last_piece_ns = now_ns
            self.ring.expire(now_ns)
            losses = self._collector.restated()["loss"]
            self._recent.note(losses, now_ns, self.ring.dropped_ns)
            if now_ns - self._tidied_ns >= _TIDY_NS:
                self._tidy()
            alive = [
                Alive(one.process.process_id, one.process.info().pid)
                for one in self._collector.alive()
            ]
            for trigger in self._triggers:
                found += trigger.wait(alive, now_ns)
        for fired in [*events, *found]:
            self._fire(fired, now_ns)
        if self._open is not None:
            if is_due:
                self._tell(self._open)
            if now_ns >= self._open.until_ns:
                self._close(None)
        self._reap()
        return more

    def _take(self, now_ns: int, *, everything: bool, is_last: bool = False) -> Iterator[Fired]:
        wall_ns = time.time_ns()
        for table, batch in self._collector.batches(everything, is_last):
            piece = pack(table, batch, now_ns, wall_ns)
            self.ring.add(piece)
            if table == open_ranges.TABLE:
                self._ranges.add(batch, now_ns)
            if self._open is not None:
                self._open.span.add(piece)
            for trigger in self._triggers:
                yield from trigger.look(table, batch, now_ns)

    def finish(self, status: int | None = None, facts: Mapping[str, Any] | None = None) -> None:
        """Write what is left of open traces, and wait for them.

        Raises:
            EtlError: a trace could not be written.
        """
        now_ns = time.monotonic_ns()
        found = list(self._take(now_ns, everything=True, is_last=True))
        for fired in [*self._of_signals(), *self._of_ends(), *found]:
            self._fire(fired, now_ns)
        self._close(status)
        for trace in self._ending:
            trace.join()
        self._reap()
        try:
            self._folder.finish()
        except OSError as error:
            out = self._folder.out
            self.failures.append(
                EtlError(
                    f"{out} cannot be finished: {why(error)}",
                    f"`cupti-etl recover {out}` does that once there is room",
                )
            )
        if self.failures:
            raise self.failures[0]

    # ---- what fires

    def _of_signals(self) -> Iterator[Fired]:
        count = self._signals()
        for _ in range(count - self._signals_seen):
            yield Fired(SIGNAL, "the collector got SIGUSR2")
        self._signals_seen = count

    def _of_ends(self) -> Iterator[Fired]:
        ended = self._collector.take_ended()
        # What never used CUDA has nothing to write.
        if EXIT not in self._options.triggers or not self._collector.traced:
            return
        for traced in ended:
            info = traced.process.info()
            if not info.is_complete(has_ended=True) and not traced.is_abandoned:
                detail = f"process {info.pid} ended without an orderly exit"
                yield Fired(EXIT, detail, info.process_id)
        status = self._status()
        if status and self._status_seen is None:
            how = f"was ended by signal {status - 128}" if status > 128 else f"exited with {status}"
            yield Fired(EXIT, f"the command {how}")
        self._status_seen = status

    def _fire(self, fired: Fired, now_ns: int) -> None:
        self.fired += 1
        if not self._quiet:
            say(f"cupti-etl: trigger {fired.trigger}: {fired.detail}")
        is_first = self._open is None
        trace = self._open or self._begin(fired, now_ns)
        trace.fired.append(
            {
                "fired_ns": time.time_ns(),
                "trigger": fired.trigger,
                "process_id": fired.process_id,
                "is_first": is_first,
                "detail": fired.detail,
            }
        )
        self._tell(trace)
        if is_first:
            trace.start()

    def _begin(self, fired: Fired, now_ns: int) -> _Trace:
        begun = self._ranges.until(self.ring.dropped_ns)
        pieces = [pack(open_ranges.TABLE, begun, now_ns, 0)] if begun is not None else []
        span = Span([*pieces, *self.ring.pieces()], self.ring.most_bytes)
        since_ns = self._covered_ns()
        about = {**self._facts, "start_ns": since_ns}, self._kinds
        destination = self._folder.next(fired.trigger)
        trace = _Trace(destination, span, about, now_ns + self._options.after_ns)
        trace.since_ns = since_ns
        trace.lost_before = self._recent.before(self.ring.dropped_ns)
        trace.discarded = _less(self.ring.discarded(), sum(piece.rows for piece in pieces))
        self._open = trace
        return trace

    def _covered_ns(self) -> int:
        """Since when the ring has everything."""
        ends = [row["end_ns"] for row in self.ring.discarded()]
        return max(ends, default=int(self._facts["start_ns"]))

    # ---- a trace

    def _tell(self, trace: _Trace, *, is_over: bool = False) -> None:
        """Let a trace know what is known beside the rows."""
        tables = tables_since(self._collector.restated(), trace.since_ns, trace.lost_before)
        for row in tables["process"] if is_over else ():
            if row["end_ns"] is None:
                row |= {"state": "running", "end_ns": time.time_ns()}
        tables |= {"flight_trigger": list(trace.fired), "discarded": trace.discarded}
        trace.span.say(tables, self._collector.facts())

    def _close(self, status: int | None) -> None:
        trace, self._open = self._open, None
        if trace is not None:
            trace.exit_status = status
            self._tell(trace, is_over=True)
            trace.span.close()
            self._ending.append(trace)

    def _reap(self) -> None:
        """See how traces ended that were being written."""
        for trace in [each for each in self._ending if not each.is_alive()]:
            self._ending.remove(trace)
            if trace.failure is not None:
                self.failures.append(trace.failure)
                say(f"cupti-etl: {trace.destination.out}: {trace.failure.message}")
            elif not self._quiet:
                say(f"cupti-etl: {trace.destination}")
            if trace.destination.out.exists():
                self._finished.append(trace.destination.out)
            self._tidy()

    def _tidy(self) -> None:
        """Remove traces that go beyond what is kept."""
        self._tidied_ns = time.monotonic_ns()
        try:
            gone = self._folder.tidy(self._finished)
        except OSError as error:
            say(f"cupti-etl: a trace that is too old cannot be removed: {why(error)}")
            return
        for path in gone:
            self._finished.remove(path)
            self._removed += 1
            if not self._quiet:
                say(f"cupti-etl: {path} is beyond --retain, and was removed")

    def summary(self) -> str:
        """What was kept in memory and what was not, in a sentence."""
        traces = counted(self._removed, "trace")
        removed = f"; {traces} removed for --retain" if self._removed else ""
        return (
            f"{counted(self.fired, 'trigger')};"
            f" at most {self.ring.peak_bytes / 2**20:.1f} MiB of rows in memory;"
            f" {self.ring.discarded_rows:,} older rows not kept{removed}"
        )
