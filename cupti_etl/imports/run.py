"""Traces that others wrote into a trace folder: all of it, or nothing."""

from __future__ import annotations

import math
import secrets
import shutil
import signal
from collections.abc import Collection, Sequence
from pathlib import Path

from cupti_etl.capture.recording import read_recording
from cupti_etl.errors import UsageError
from cupti_etl.imports.detect import detect, refuse_special
from cupti_etl.imports.files import Files, Stopped, Summary
from cupti_etl.imports.recording import Recording
from cupti_etl.imports.twice import refuse_twice
from cupti_etl.schema.arrow import TABLES
from cupti_etl.signals import caught
from cupti_etl.storage.destination import Convert, Destination, destination_of
from cupti_etl.storage.disk import sync
from cupti_etl.storage.driver import Driver
from cupti_etl.storage.folder import create
from cupti_etl.storage.place import refuse_existing
from cupti_etl.storage.replace import check_replaceable, install


def _cannot_convert(folder: Path, out: Path) -> None:
    raise UsageError(f"{out} is no folder", "import into a folder, and export that")


def import_traces(
    files: Sequence[Path],
    out: Path,
    jobs: int,
    is_synced: bool = True,
    convert: Convert = _cannot_convert,
    *,
    overwrite: bool = False,
) -> Summary:
    """Import files into a new trace folder.

    Args:
        files: traces of other tools, or recordings; folders where the format is one.
        out: the folder, or ``FILE.duckdb`` for a self-contained file; must not exist.
        jobs: how many files are read at the same time, at most.
        is_synced: whether to see that the trace is on the disk.
        convert: makes a self-contained file of a folder.
        overwrite: whether a trace of that name is replaced, once the new one is complete.

    Raises:
        ForeignError: one of them cannot be imported; nothing is left behind.
        KeyboardInterrupt: of Ctrl-C; nothing is left behind, as after other signals.
        UsageError: the folder exists or cannot be made, or a file is given twice.
    """
    for file in files:
        refuse_special(file)
    refuse_twice(files)
    if overwrite:
        check_replaceable(out)
    elif out.exists() or out.is_symlink():
        create(out)  # says so
    sources = [detect(file) for file in files]
    hidden = _Hidden(out, convert, is_synced=is_synced, overwrite=overwrite)
    # A signal ends the import where it can be ended, so that another does not disturb that.
    with hidden as destination, caught() as came:
        destination.create()
        destination.came = came
        reading = Files(sources, came)
        try:
            _write(reading, jobs, destination, TABLES)
        except Stopped:
            pass
        finally:
            _remove(destination.folder)
        if came and destination.is_there:
            _remove(out)
    if came:
        signal.raise_signal(came[0])
        raise KeyboardInterrupt
    return reading.summary


def import_recording(
    recording: Path, out: Path, table: str, convert: Convert, *, is_synced: bool = True
) -> int:
    """Import a recording as if it were captured now; returns the number of rows.

    What is written is there at once, and stays if the rest cannot be written or read.

    Args:
        recording: the file.
        out: a folder, ``FILE.duckdb``, or a stream of one table, as ``capture`` takes them.
        table: that of the stream.
        convert: makes a self-contained file of a folder.
        is_synced: whether to see that the trace is on the disk.

    Raises:
        ForeignError: it is a pipe or the like.
        RecordingError: it is damaged; what came before the damage is in the trace.
        UsageError: ``out`` exists, or does not go with ``table``.
    """
    destination = destination_of(out, convert, table, is_synced=is_synced)
    # Before there is a folder, so that a wrong file or library leaves nothing behind.
    if recording.exists():
        refuse_special(recording)
    next(read_recording(recording), None)
    source = Recording(recording, is_partial=True)
    destination.create()
    _write(Files([source]), 1, destination, ())
    if destination.out == destination.folder:
        _link(out)
    if source.damage is not None:
        raise source.damage
    return sum(row["stored"] for row in source.process_rows())


def _write(files: Files, jobs: int, destination: Destination, tables: Collection[str]) -> None:
    """Read all files into a destination, where at least these tables are.

    Raises:
        EtlError: one cannot be read, or the trace cannot be written.
        Stopped: a signal came.
    """
    driver = Driver(files, destination, {}, tables)
    try:
        files.read(jobs, lambda watch: driver.run(lambda m: None if driver.failure else watch(m)))
    except BaseException as error:
        if driver.failure is None or not isinstance(error, Stopped):
            driver.give_up()
            raise
    driver.finish()


class _Hidden(Destination):
    """A folder, or a self-contained file, that is there when it is complete."""

    is_watched = False

    def __init__(self, out: Path, convert: Convert, *, is_synced: bool, overwrite: bool) -> None:
        super().__init__(out, is_synced=is_synced)
        self.folder: Path = out.with_name(f".{out.name}.{secrets.token_hex(8)}")
        self.came: list[int] = []
        self.is_there = False  # under its name
        self._overwrite = overwrite
        self._convert = convert

    def create(self) -> None:
        """Make the folder; a message has the name that the trace will have."""
        create(self.folder, self.out)

    def interval_s(self, age_s: float) -> float:
        """For ever: nobody looks at it."""
        return math.inf

    def what_is_left(self) -> str:
        """Nothing is."""
        return "nothing is left of it; make room and import again"

    def finish(self) -> None:
        """Give the trace its name."""
        if self.came:
            raise Stopped
        made = self.folder
        if self.out.suffix == ".duckdb":
            made = self.folder / self.out.name
            self._convert(self.folder, made)
        refuse_existing(self.out, overwrite=self._overwrite)
        install(made, self.out)
        self.is_there = True
        if self._is_synced:
            sync([self.out.absolute().parent])
        if self.out.is_dir():
            _link(self.out)


def _link(folder: Path) -> None:
    from cupti_etl.queries.trace_duckdb import write_trace_duckdb

    write_trace_duckdb(folder, is_complete=True)


def _remove(path: Path) -> None:
    """Remove a trace, or what there is of it."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
