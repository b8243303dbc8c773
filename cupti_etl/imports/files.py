"""Files of other tools that are read side by side, each in a thread of its own."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.names import KernelNames
from cupti_etl.imports.sizes import without_negative
from cupti_etl.imports.skipped import INVALID, REDUNDANT, UNSUPPORTED
from cupti_etl.progress import Line
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.schema.kinds import GPU_WORK

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.imports.source import Source
    from cupti_etl.schema.loss import Loss

_Batch = tuple[str, "pa.RecordBatch"]
# How long a signal waits for its answer.
_LOOK_MS = 100
# A profiler that records now and then writes a file each time; one run has hardly more between two.
_APART_NS = 3600 * 10**9


class Stopped(Exception):
    """Another file could not be read, or a signal came."""


@dataclass
class Summary:
    """What came of an import.

    Attributes:
        rows: by table, those of records.
        skipped: rows of ``import_skipped``.
        untimed: by table, rows that are stored without the time at which they began.
        kinds: what each file is.
        apart: the longest time of which none of several files tells, if it is longer than those of
            one run have between them, and the files before and behind it.
    """

    rows: Counter[str] = field(default_factory=Counter)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    untimed: Counter[str] = field(default_factory=Counter)
    kinds: list[tuple[Path, str]] = field(default_factory=list)
    processes: int = 0
    apart: tuple[int, Path, Path] | None = None

    def not_kept(self) -> Iterator[str]:
        """What was not kept, a line for each category."""
        for category in (REDUNDANT, UNSUPPORTED, INVALID):
            rows = [row for row in self.skipped if row["category"] == category]
            events: Counter[str] = Counter()
            for row in rows:
                events[row["what"]] += row["events"] or 0
            if rows:
                named = (f"{what} {n:,}" if n else what for what, n in events.most_common())
                yield f"not kept, {category}: {', '.join(named)}"


class Files:
    """Files that are read side by side, as one source of rows.

    Args:
        sources: the files.
        came: signals that end the reading.

    Attributes:
        summary: what came of them.
    """

    def __init__(self, sources: Sequence[Source], came: Sequence[int] = ()) -> None:
        self.summary = Summary(kinds=[(source.path, source.kind) for source in sources])
        self._sources = sources
        self._came = came
        self._names = KernelNames()
        self._lock = threading.Lock()
        self._line = Line()
        self._stop = threading.Event()
        self._unread = len(sources)
        self._is_complete = False
        # What is on its way from the files; None when one has been read.
        self._ready: queue.Queue[_Batch | None] = queue.Queue(maxsize=1)
        self._taken: list[_Batch | None] = []
        self._processes: list[dict[str, Any]] = []
        self._losses: list[Loss] = []

    def read(self, jobs: int, run: Callable[[Callable[[bool], int | None]], None]) -> None:
        """Read them, so many at a time, while somebody takes what there is.

        Args:
            jobs: how many files are read at the same time, at most.
            run: takes batches until what it is given says that it is over.

        Raises:
            ForeignError: one cannot be read.
            Stopped: a signal came, or who takes the batches did not take all of them.
        """
        try:
            with ThreadPoolExecutor(max(1, jobs), "cupti-etl-import") as pool:
                readers = [pool.submit(self._read, source) for source in self._sources]
                try:
                    run(self._watch)
                finally:
                    self._line.clear()
                    if self._unread:
                        self._stop.set()
        finally:
            self._names.close()
        failures = [reader.exception() for reader in readers]
        # The first file's that has one of its own.
        for failure in sorted(filter(None, failures), key=lambda f: isinstance(f, Stopped)):
            raise failure
        self._complete()

    def _watch(self, more: bool) -> int | None:
        if self._came:
            self._stop.set()
        if self._line.is_on:
            with self._lock:
                rows = sum(self.summary.rows.values())
            self._line.show(f"cupti-etl: {rows:,} rows")
        return _LOOK_MS if self._unread and not self._stop.is_set() else None

    # ---- the way in, a thread a file

    def _read(self, source: Source) -> None:
        try:
            for table, rows in source.batches():
                batch = without_negative(table, rows, source.skipped)
                with self._lock:
                    self.summary.rows[table] += batch.num_rows
                    if table == "kernel":
                        self._name(source, batch)
                    names = self._names.take()
                self._hand_over((table, batch))
                if names:
                    self._hand_over(("kernel_name", _named(names)))
            self._hand_over(None)
        except BaseException:
            self._stop.set()  # the others
            raise

    def _name(self, source: Source, kernels: pa.RecordBatch) -> None:
        refused = self._names.refused
        self._names.add(name for name in kernels["name"].dictionary.to_pylist() if name is not None)
        source.skipped.invalid(
            "kernel_name.demangled",
            self._names.refused - refused,
            "these names stand for too much text, or take too much time",
        )

    def _hand_over(self, item: _Batch | None) -> None:
        while not self._stop.is_set():
            with suppress(queue.Full):
                self._ready.put(item, timeout=_LOOK_MS / 1000)
                return
        raise Stopped

    # ---- the way out, as a source of the driver

    def wait(self, timeout_ms: int) -> None:
        """Sleep until there is something, at most so long."""
        with suppress(queue.Empty):
            self._taken.append(self._ready.get(timeout=timeout_ms / 1000))

    def drain(self) -> bool:
        """Take what is there; whether there was something."""
        with suppress(queue.Empty):
            self._taken.append(self._ready.get_nowait())
        return bool(self._taken)

    def batches(self, everything: bool, is_last: bool) -> Iterator[_Batch]:
        """What was taken."""
        taken, self._taken = self._taken, []
        for item in taken:
            if item is None:
                self._unread -= 1
            else:
                yield item

    def _complete(self) -> None:
        """All files have been read, and with them what they say of processes."""
        found = [(source.path, source.process_rows()) for source in self._sources]
        processes = [row for _, rows in found for row in rows]
        self._losses = [loss for source in self._sources for loss in source.losses()]
        for loss in self._losses:
            if loss.cause == "zero_timestamp" and loss.table_name is not None:
                self.summary.untimed[loss.table_name] += loss.records or 0
        for source in self._sources:
            self.summary.skipped += source.skipped.rows(str(source.path))
        self.summary.processes = len(processes)
        self.summary.apart = _apart(found)
        self._processes = processes
        self._is_complete = True

    def restated(self) -> dict[str, list[dict[str, Any]]]:
        """The tables about processes and files, once they are complete."""
        if not self._is_complete:
            return {}
        return {
            "process": self._processes,
            "loss": [loss.row() for loss in self._losses],
            "import_skipped": self.summary.skipped,
        }

    def facts(self) -> dict[str, Any]:
        """What the import was made of; the host and the times are those of the traces."""
        kinds = ", ".join(sorted({kind for _, kind in self.summary.kinds}))
        facts: dict[str, Any] = {"source": f"import of {kinds}", "kernel_release": None}
        if not self._is_complete:
            return facts
        now = time.time_ns()
        rows = self._processes
        starts = [row["start_ns"] for row in rows if row["start_ns"] is not None]
        ends = [row["end_ns"] for row in rows if row["end_ns"] is not None]
        return {
            **facts,
            "host": next((row.get("host") for row in rows if row.get("host")), None),
            "kinds": ",".join(sorted(+self.summary.rows)),
            "start_ns": min(starts, default=now),
            "end_ns": max(ends, default=now),
        }

    def stored_rows(self) -> list[dict[str, Any]]:
        """Rows of ``row_count``, over all files."""
        rows = self.summary.rows.items()
        return [{"table_name": table, "stored": stored} for table, stored in rows]

    def changes(self) -> dict[str, Callable[[pa.Table], pa.Table | None]]:
        """Rows go to the processes, and get the sizes and directions, that became known later."""
        found: dict[str, Callable[[pa.Table], pa.Table | None]] = {}
        for table in _WORK:
            changes = [change for each in self._sources for change in _late(each, table)]
            if changes:
                found[table] = partial(_changed, changes)
        return found


def _apart(found: Sequence[tuple[Path, list[dict[str, Any]]]]) -> tuple[int, Path, Path] | None:
    """The longest time of which no file tells, if it is long, and the files at its edges.

    Args:
        found: the files, with what they say of their processes.
    """
    spans = []
    for path, rows in found:
        times = [row[name] for row in rows for name in ("start_ns", "end_ns")]
        known = [time_ns for time_ns in times if time_ns is not None]
        if known:
            spans.append((min(known), max(known), path))
    spans.sort()
    apart = []
    until_ns, before = spans[0][1:] if spans else (0, Path())
    for start_ns, end_ns, path in spans[1:]:
        apart.append((start_ns - until_ns, before, path))
        if end_ns > until_ns:
            until_ns, before = end_ns, path
    return max((each for each in apart if each[0] > _APART_NS), default=None)


def _named(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(rows, arrow_schema("kernel_name"))


# Tables of work on GPUs and of the profiler itself, whose process a source may come to know last.
_WORK = (*GPU_WORK, "synchronization", "argument", "overhead")


def _late(source: Source, table: str) -> Iterator[Callable[[pa.Table], pa.Table]]:
    """Give rows of GPU work to the processes, and what calls said of it, known only now."""
    for before, after in source.moved.items():
        yield partial(_move, before, after, table)
    for process_id, calls in source.hip_calls.items():
        if table == "kernel":
            yield partial(calls.fill_sizes, process_id=process_id)
        elif table == "memcpy":
            yield partial(calls.fill_directions, process_id=process_id)


def _changed(changes: list[Callable[[pa.Table], pa.Table]], rows: pa.Table) -> pa.Table | None:
    """The rows as they are to be; None if they are that already."""
    changed = rows
    for change in changes:
        changed = change(changed)
    return None if changed.equals(rows) else changed


def _move(before: int, after: int, table: str, rows: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    mine = pc.equal(rows["process_id"], before)
    if table == "argument":
        mine = pc.and_(mine, pc.is_valid(rows["correlation_id"]))
    at = rows.schema.get_field_index("process_id")
    owner = pc.if_else(mine, after, rows["process_id"])
    return rows.set_column(at, rows.schema.field(at), owner)
