"""Traces that others wrote into a trace folder: all of it, or nothing.

Each file is read in a thread of its own; one more compresses and writes.  All of them
spend their time in native code without the interpreter's lock.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl import __version__
from cupti_etl.capture.names import KernelNames
from cupti_etl.imports.detect import recognise
from cupti_etl.imports.sizes import without_negative
from cupti_etl.imports.skipped import INVALID, REDUNDANT, UNSUPPORTED
from cupti_etl.imports.twice import refuse_twice
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES, arrow_schema
from cupti_etl.schema.kinds import GPU_WORK
from cupti_etl.signals import interrupted
from cupti_etl.storage.disk import sync
from cupti_etl.storage.driver import Writer, end_trace
from cupti_etl.storage.folder import create

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.imports.source import Source
    from cupti_etl.storage import Sink


@dataclass
class Summary:
    """What came of an import.

    Attributes:
        rows: by table, those of records.
        skipped: rows of ``import_skipped``.
        untimed: by table, rows that are stored without the time at which they began.
        kinds: what each file is.
    """

    rows: Counter[str] = field(default_factory=Counter)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    untimed: Counter[str] = field(default_factory=Counter)
    kinds: list[tuple[Path, str]] = field(default_factory=list)
    processes: int = 0

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


# How long a signal waits for its answer.
_LOOK_S = 0.1


class _Stopped(Exception):
    """Another file could not be read, or a signal came."""


def import_traces(files: Sequence[Path], out: Path, jobs: int, is_synced: bool = True) -> Summary:
    """Import files into a new trace folder.

    Args:
        files: traces of other tools, or recordings; folders where the format is one.
        out: the folder, or ``FILE.duckdb`` for a self-contained file; must not exist.
        jobs: how many files are read at the same time, at most.
        is_synced: whether to see that the trace is on the disk.

    Raises:
        ForeignError: one of them cannot be imported; nothing is left behind.
        KeyboardInterrupt: of Ctrl-C; nothing is left behind, as after other signals.
        UsageError: the folder exists or cannot be made, or a file is given twice.
    """
    refuse_twice(files)
    if out.exists() or out.is_symlink():
        create(out)  # says so
    sources = [recognise(file) for file in files]
    folder = out.with_name(f".{out.name}.importing-{os.getpid()}")
    create(folder)
    # A signal ends the import where it can be ended, so that another does not disturb that.
    with interrupted() as came:
        try:
            summary = _Import(sources, folder, came, is_synced).run(jobs)
            _finish(folder, out, came, is_synced)
        except _Stopped:
            pass
        finally:
            _remove(folder)
        if came:
            _remove(out)
    if came:
        signal.raise_signal(came[0])
        raise KeyboardInterrupt
    return summary


def _finish(folder: Path, out: Path, came: list[int], is_synced: bool) -> None:
    """Give the trace its name."""
    from cupti_etl.storage.duckdb_file import convert
    from cupti_etl.storage.trace_duckdb import write_trace_duckdb

    if came:
        raise _Stopped
    if out.suffix == ".duckdb":
        convert(folder, out)
    else:
        folder.rename(out)
    if is_synced:
        sync([out.absolute().parent])
    if out.is_dir():
        write_trace_duckdb(out)


def _remove(path: Path) -> None:
    """Remove a trace, or what there is of it."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


class _Import:
    """One import on its way into a folder, until a signal came."""

    def __init__(
        self, sources: list[Source], folder: Path, came: list[int], is_synced: bool
    ) -> None:
        self._sources = sources
        self._summary = Summary(kinds=[(source.path, source.kind) for source in sources])
        self._names = KernelNames()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._start_ns = time.time_ns()
        self._capture: dict[str, Any] = {}
        self._folder = folder
        self._came = came
        self._is_synced = is_synced
        self._is_ended = False
        self._writer = Writer(self._open)

    def _open(self) -> Sink:
        from cupti_etl.storage.parquet import ParquetSink

        self._sink = ParquetSink(self._folder, TABLES, is_made=True, is_synced=self._is_synced)
        return self._sink

    def run(self, jobs: int) -> Summary:
        """Read all files and finish the folder."""
        self._writer.start()
        try:
            with ThreadPoolExecutor(max(1, jobs), "cupti-etl-import") as pool:
                readers = [pool.submit(self._read, source) for source in self._sources]
                waiting = set(readers)
                while waiting and not self._stop.is_set():
                    done, waiting = wait(waiting, _LOOK_S, FIRST_EXCEPTION)
                    if self._came or any(reader.exception() for reader in done):
                        self._stop.set()
            self._raise_first(readers)
            self._put_own_tables()
            self._put(lambda _: self._end())
        finally:
            self._names.close()
            self._writer.finish()
            if not self._is_ended:
                self._writer.salvage({})  # nothing; the folder is about to go
        if self._writer.failure is not None:
            raise self._writer.failure
        return self._summary

    def _end(self) -> None:
        """In the writer's thread: rows go to their processes, and the trace to its end."""
        self._sink.finish()
        for table in _WORK:
            changes = [change for each in self._sources for change in _late(each, table)]
            if changes:
                self._sink.rewrite(table, partial(_changed, changes))
        counted = [
            {"table_name": table, "stored": rows} for table, rows in self._summary.rows.items()
        ]
        end_trace(self._sink, self._capture, counted)
        self._is_ended = True

    @staticmethod
    def _raise_first(readers: Sequence[Any]) -> None:
        """The failure of the first file that has one of its own."""
        failures = [reader.exception() for reader in readers]
        for failure in sorted(filter(None, failures), key=lambda f: isinstance(f, _Stopped)):
            raise failure

    def _read(self, source: Source) -> None:
        for table, rows in source.batches():
            if self._stop.is_set():
                raise _Stopped
            batch = without_negative(table, rows, source.skipped)
            with self._lock:
                self._summary.rows[table] += batch.num_rows
                if table == "kernel":
                    refused = self._names.refused
                    self._names.add(
                        name for name in batch["name"].dictionary.to_pylist() if name is not None
                    )
                    source.skipped.invalid(
                        "kernel_name.demangled",
                        self._names.refused - refused,
                        "these names stand for too much text, or take too much time",
                    )
                names = self._names.take()
            self._put(lambda sink, t=table, b=batch: sink.write(t, b))
            if names:
                self._put_rows("kernel_name", names)

    def _put(self, work: Any) -> None:
        self._writer.put(work, lambda: None)
        if self._writer.failure is not None:
            raise self._writer.failure

    def _put_rows(self, table: str, rows: list[dict[str, Any]]) -> None:
        import pyarrow as pa

        batch: pa.RecordBatch = pa.RecordBatch.from_pylist(rows, arrow_schema(table))
        self._put(lambda sink: sink.write(table, batch))

    def _put_own_tables(self) -> None:
        processes = [row for source in self._sources for row in source.process_rows()]
        losses = [loss for source in self._sources for loss in source.losses()]
        for loss in losses:
            if loss.cause == "zero_timestamp" and loss.table_name is not None:
                self._summary.untimed[loss.table_name] += loss.records or 0
        for source in self._sources:
            self._summary.skipped += source.skipped.rows(str(source.path))
        self._summary.processes = len(processes)
        self._capture = self._capture_row(processes)
        rows = {
            "process": processes,
            "loss": [loss.row() for loss in losses],
            "import_skipped": self._summary.skipped,
        }
        for table, content in rows.items():
            self._put(lambda sink, t=table, c=content: sink.replace(t, c))

    def _capture_row(self, processes: list[dict[str, Any]]) -> dict[str, Any]:
        """When the import was, and what it was made of; the times are those of the traces."""
        starts = [row["start_ns"] for row in processes if row["start_ns"] is not None]
        ends = [row["end_ns"] for row in processes if row["end_ns"] is not None]
        kinds = sorted({kind for _, kind in self._summary.kinds})
        return {
            "capture_id": random.SystemRandom().getrandbits(63),
            "version": __version__,
            "schema_version": SCHEMA_VERSION,
            "host": next((row.get("host") for row in processes if row.get("host")), None),
            "source": f"import of {', '.join(kinds)}",
            "kinds": ",".join(sorted(+self._summary.rows)),
            "start_ns": min(starts, default=self._start_ns),
            "end_ns": max(ends, default=self._start_ns),
        }


# Tables of work on GPUs and of the profiler itself, whose process a source may come to know last.
_WORK = (*GPU_WORK, "synchronization", "argument", "overhead")


_Change = Callable[["pa.Table"], "pa.Table"]


def _late(source: Source, table: str) -> Iterator[_Change]:
    """Give rows of GPU work to the processes, and kernels the sizes, that are known only now."""
    for before, after in source.moved.items():
        yield partial(_move, before, after, table)
    for process_id, sizes in source.sizes.items() if table == "kernel" else ():
        yield partial(sizes.fill, process_id=process_id)


def _changed(changes: list[_Change], rows: pa.Table) -> pa.Table | None:
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
