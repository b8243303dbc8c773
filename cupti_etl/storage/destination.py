"""What ``-o`` names: a folder, a self-contained file, or a stream."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cupti_etl.errors import EtlError, UsageError
from cupti_etl.storage.bucket import Url
from cupti_etl.storage.disk import folder_bytes, remove, sync
from cupti_etl.storage.folder import create
from cupti_etl.storage.place import refuse_existing

if TYPE_CHECKING:
    from cupti_etl.config import CaptureOptions, Retain
    from cupti_etl.storage import Target

STREAM_SUFFIXES = (".arrow", ".arrows")
# Makes a self-contained file of the folder of a finished trace, or fails.
Convert = Callable[[Path, Path], None]
_FIRST_ROLL_S = 1.0
_STREAM_S = 0.25


class Destination:
    """A folder for the trace; also the base of the others.

    As a context, it leaves no empty folder behind that it was put into.

    Attributes:
        folder: of Parquet parts, while the program runs; None for a stream.
        is_watched: whether somebody may look at it before it is finished.
        longest_roll_s: how long rows wait, at most, until they can be read.
        retain: what of the trace is kept, if not all of it.
        program_stdout: the descriptor that the program gets as standard output; None for ours.
    """

    is_watched = True

    def __init__(self, out: Path, *, is_synced: bool = True) -> None:
        self.out = out
        self._is_synced = is_synced
        self.longest_roll_s = 60.0
        self.retain: Retain | None = None
        self.folder: Path | None = out
        self.program_stdout: int | None = None
        self._absent: list[Path] = []

    def __enter__(self) -> Self:
        if not isinstance(self.out, Url):
            around = self.out.absolute().parents
            self._absent = list(takewhile(lambda folder: not folder.exists(), around))
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # there is something in it
            for folder in self._absent:
                folder.rmdir()

    def create(self) -> None:
        """Make it, before anything is started.

        Raises:
            UsageError: it is there already, or cannot be made.
        """
        assert self.folder is not None
        create(self.folder)

    def discard(self) -> None:
        """Take it away again, while it is empty."""
        assert self.folder is not None
        self.folder.rmdir()

    def remove(self) -> None:
        """Remove what was written to its end: there was nothing to write."""
        remove(self.out)

    def open(self, tables: Collection[str]) -> Target:
        """The target, in the thread that will use it."""
        from cupti_etl.storage.parquet import ParquetFolder
        from cupti_etl.storage.retention import Retention

        assert self.folder is not None
        return ParquetFolder(
            self.folder,
            tables,
            is_made=True,
            is_synced=self._is_synced,
            retention=None if self.retain is None else Retention(self.retain),
        )

    def size(self) -> int:
        """Bytes that have been written."""
        assert self.folder is not None
        return folder_bytes(self.folder)

    def interval_s(self, age_s: float) -> float:
        """How long rows wait, at most, before they are made readable: a tenth of the age."""
        return min(max(age_s / 10, _FIRST_ROLL_S), self.longest_roll_s)

    def what_is_left(self) -> str:
        """A sentence for when it could not be written to its end."""
        return f"what was written before is in {self.folder}; make room and capture again"

    def finish(self) -> None:
        """Make of the written trace what was asked for.

        Raises:
            EtlError: that failed; what was captured is kept.
        """

    def __str__(self) -> str:
        return f"trace in {self.out}"


class DuckDBFile(Destination):
    """One self-contained file, made in the end from a folder beside it."""

    def __init__(self, out: Path, convert: Convert, *, is_synced: bool = True) -> None:
        super().__init__(out, is_synced=is_synced)
        self.folder = out.with_name(f"{out.name}.parts")
        self._convert = convert

    def create(self) -> None:
        """See that the file can be made, and make the folder."""
        _make_room(self.out)
        super().create()

    def finish(self) -> None:
        """Convert, and remove the folder only when the file has all of its rows."""
        assert self.folder is not None
        try:
            self._convert(self.folder, self.out)
        except EtlError as error:
            self.out, out = self.folder, self.out
            raise EtlError(
                f"{out} could not be written: {error.message}",
                f"the trace is whole in {self.folder}; later:"
                f" cupti-etl export {self.folder} --to duckdb {out}",
            ) from error
        if self._is_synced:
            sync([self.out, self.out.absolute().parent])
        shutil.rmtree(self.folder)


class Stream(Destination):
    """One table as an Arrow stream, to a file or to standard output."""

    def __init__(self, out: Path, table: str) -> None:
        super().__init__(out)
        self.folder = None
        self._table = table
        self._is_stdout = str(out) == "-"
        self._name = "standard output" if self._is_stdout else str(out)
        self._descriptor = -1
        self._is_made = False

    def create(self) -> None:
        """Open the file, or take standard output for ourselves."""
        if self._is_stdout:
            self._take_stdout()
            return
        is_pipe = not _is_file(self.out) and not self.out.is_dir()
        if not is_pipe:
            _make_room(self.out)
        flags = os.O_WRONLY | (0 if is_pipe else os.O_CREAT | os.O_EXCL)
        try:
            self._descriptor = os.open(self.out, flags, 0o666)
        except OSError as error:
            raise UsageError(
                f"{self.out} cannot be written: {error.strerror}", "choose another -o"
            ) from None
        self._is_made = not is_pipe

    def _take_stdout(self) -> None:
        if sys.stdout is None:
            raise UsageError("there is no standard output", "use -o FILE.arrows")
        if os.isatty(1):
            raise UsageError(
                "a stream of Arrow would garble the terminal",
                "send it to a pipe, or use -o FILE.arrows",
            )
        # Not inherited: who reads must see the end even if a child of the program lives on.
        self._descriptor = os.dup(1)
        self.program_stdout = 2

    def discard(self) -> None:
        """Remove the file, if it is ours."""
        os.close(self._descriptor)
        if self._is_made:
            with suppress(OSError):
                self.out.unlink()

    def remove(self) -> None:
        """Remove the file, if it is ours; a reader has had a stream without rows."""
        if self._is_made:
            remove(self.out)

    def open(self, tables: Collection[str]) -> Target:
        """The target, in the thread that will use it."""
        from cupti_etl.storage.stream import ArrowStream

        return ArrowStream(self._descriptor, self._table, self._name)

    def interval_s(self, age_s: float) -> float:
        """Short: what reads a stream waits for it."""
        return _STREAM_S

    def what_is_left(self) -> str:
        """A sentence for when it could not be written to its end."""
        return f"what was written before is in {self._name}"

    def size(self) -> int:
        """Bytes that have been written to the file."""
        return self.out.stat().st_size

    def __str__(self) -> str:
        return f"{self._table} to {self._name}"


def _is_file(out: Path) -> bool:
    return str(out) != "-" and (out.is_file() or not out.exists())


def _make_room(out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{out.parent} cannot be created: {error.strerror}", "choose another -o"
        ) from None
    refuse_existing(out)


def kinds_of(table: str) -> str:
    """What to record for the stream of one table, if nothing is said: that, if it can be."""
    from cupti_etl.schema.kinds import KINDS

    return table if any(kind.table == table for kind in KINDS) else ""


def choose(options: CaptureOptions, convert: Convert) -> Destination:
    """What ``-o`` and ``--table`` of a capture ask for.

    Raises:
        UsageError: one of them needs the other, or there is no such table.
    """
    if options.flight is not None:
        from cupti_etl.storage.flight_folder import FlightFolder

        folder = FlightFolder(options.out, is_synced=options.fsync)
        folder.retain = options.retain
        return folder
    if isinstance(options.out, Url) and not options.table:
        from cupti_etl.storage.spool import Spool

        destination: Destination = Spool(
            options.out, options.spool, options.spool_bytes, is_synced=options.fsync
        )
    else:
        destination = destination_of(options.out, convert, options.table, is_synced=options.fsync)
    destination.longest_roll_s = options.roll_ns / 1e9
    destination.retain = options.retain
    if isinstance(destination, Stream) and options.retain:
        raise UsageError(
            "what was handed on to a stream cannot be removed", "--retain goes with -o FOLDER"
        )
    if isinstance(destination, Stream) and options.max_bytes and not _is_file(options.out):
        raise UsageError("a pipe has no size", "use --max-rows instead of --max-size")
    return destination


def destination_of(
    out: Path, convert: Convert, table: str = "", *, is_synced: bool = True
) -> Destination:
    """A folder, a self-contained file or a stream of one table, by the name of ``out``.

    Raises:
        UsageError: a stream without a table, a table without a stream, or an unknown one.
    """
    from cupti_etl.schema.arrow import TABLES

    is_stream = str(out) == "-" or out.suffix in STREAM_SUFFIXES
    if is_stream and not table:
        raise UsageError(
            f"-o {out} takes one table", "name it: --table kernel; -o FOLDER writes all of them"
        )
    if table and not is_stream:
        raise UsageError(
            "--table goes with -o - or -o FILE.arrows", "--kinds chooses what a trace holds"
        )
    if table and table not in TABLES:
        raise UsageError(f"there is no table {table!r}", "`cupti-etl schema` lists them")
    if is_stream:
        return Stream(out, table)
    if out.suffix == ".duckdb":
        return DuckDBFile(out, convert, is_synced=is_synced)
    return Destination(out, is_synced=is_synced)
