"""Traces that others wrote into a trace folder: all of it, or nothing.

Each file is read in a thread of its own; one more compresses and writes.  All of them
spend their time in native code without the interpreter's lock.
"""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl import __version__
from cupti_etl.capture.names import KernelNames
from cupti_etl.errors import UsageError
from cupti_etl.imports.formats import recognise
from cupti_etl.pipeline import Writer
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES, arrow_schema
from cupti_etl.sinks.folder import create

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.imports.source import Source
    from cupti_etl.sinks import Sink


@dataclass
class Summary:
    """What came of an import.

    Attributes:
        rows: by table, those of records.
        left_out: what the files have and our tables lack, with how many.
        untimed: by table, rows that are stored without the time at which they began.
        kinds: what each file is.
    """

    rows: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    untimed: Counter[str] = field(default_factory=Counter)
    kinds: list[tuple[Path, str]] = field(default_factory=list)
    processes: int = 0


class _Stopped(Exception):
    """Another file could not be read."""


def import_traces(files: Sequence[Path], out: Path, jobs: int) -> Summary:
    """Import files into a new trace folder.

    Args:
        files: traces of other tools, or recordings; folders where the format is one.
        out: the folder, or ``FILE.duckdb`` for a self-contained file; must not exist.
        jobs: how many files are read at the same time, at most.

    Raises:
        ForeignError: one of them cannot be imported; nothing is left behind.
        UsageError: the folder exists or cannot be made, or a file is given twice.
    """
    if len({file.resolve() for file in files}) < len(files):
        raise UsageError("a file is given twice", "its rows would be there twice; name it once")
    if out.exists() or out.is_symlink():
        create(out)  # says so
    from cupti_etl.export.duckdb import convert
    from cupti_etl.sinks.duckdb import write_trace_duckdb

    sources = [recognise(file) for file in files]
    partial = out.with_name(f".{out.name}.importing-{os.getpid()}")
    create(partial)
    try:
        summary = _Import(sources, partial).run(jobs)
        if out.suffix == ".duckdb":
            convert(partial, out)
            shutil.rmtree(partial)
            return summary
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    write_trace_duckdb(out)
    return summary


class _Import:
    """One import on its way into a folder."""

    def __init__(self, sources: list[Source], folder: Path) -> None:
        self._sources = sources
        self._summary = Summary(kinds=[(source.path, source.kind) for source in sources])
        self._names = KernelNames()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._start_ns = time.time_ns()
        self._folder = folder
        self._writer = Writer(lambda: self._open(folder))

    @staticmethod
    def _open(folder: Path) -> Sink:
        from cupti_etl.sinks.parquet import ParquetSink

        return ParquetSink(folder, TABLES, is_made=True)

    def run(self, jobs: int) -> Summary:
        """Read all files and finish the folder."""
        self._writer.start()
        try:
            with ThreadPoolExecutor(max(1, jobs), "cupti-etl-import") as pool:
                readers = [pool.submit(self._read, source) for source in self._sources]
                try:
                    done, _ = wait(readers, return_when=FIRST_EXCEPTION)
                except BaseException:
                    self._stop.set()
                    raise
                if any(reader.exception() for reader in done):
                    self._stop.set()
            self._raise_first(readers)
            self._put_own_tables()
            self._put(lambda sink: sink.close())
        finally:
            self._writer.finish()
        if self._writer.failure is not None:
            raise self._writer.failure
        for source in self._sources:
            _move(self._folder, source.moved)
        return self._summary

    @staticmethod
    def _raise_first(readers: Sequence[Any]) -> None:
        """The failure of the first file that has one of its own."""
        failures = [reader.exception() for reader in readers]
        for failure in sorted(filter(None, failures), key=lambda f: isinstance(f, _Stopped)):
            raise failure

    def _read(self, source: Source) -> None:
        for table, batch in source.batches():
            if self._stop.is_set():
                raise _Stopped
            with self._lock:
                self._summary.rows[table] += batch.num_rows
                if table == "kernel":
                    self._names.add(
                        name for name in batch["name"].dictionary.to_pylist() if name is not None
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
            self._summary.left_out.update(+source.left_out)
        self._summary.processes = len(processes)
        rows = {
            "capture": [self._capture_row(processes)],
            "process": processes,
            "loss": [loss.row() for loss in losses],
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


# Tables of work on GPUs, whose process a source may come to know last.
_WORK = ("kernel", "memcpy", "memcpy_p2p", "memset", "synchronization", "argument")


def _move(folder: Path, moved: dict[int, int]) -> None:
    """Give rows of GPU work to other processes, part by part."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from cupti_etl.sinks.parquet import write_part

    for before, after in moved.items():
        for part in (path for table in _WORK for path in (folder / table).glob("*.parquet")):
            rows = pq.ParquetFile(part).read()
            mine = pc.equal(rows["process_id"], before)
            if part.parent.name == "argument":
                mine = pc.and_(mine, pc.is_valid(rows["correlation_id"]))
            if pc.any(mine).as_py():
                owner = pc.if_else(mine, after, rows["process_id"])
                at = rows.schema.get_field_index("process_id")
                rows = rows.set_column(at, "process_id", owner)
                write_part(part, part.parent.name, rows)
