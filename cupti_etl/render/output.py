"""Rows to a terminal, a pipe or a file, in the format that was asked for.

Every format for machines is streamed: memory does not grow with the number of rows.
"""

from __future__ import annotations

import functools
import gzip
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import click

from cupti_etl.errors import NO_ROOM, UsageError
from cupti_etl.progress import printable, say
from cupti_etl.render.help import Option
from cupti_etl.render.local_path import WRITTEN, LocalPath
from cupti_etl.render.narrow import EVERYTHING, Narrowing, narrow
from cupti_etl.render.values import TIME_UNITS
from cupti_etl.storage.place import not_written

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.render.columns import Shape
    from cupti_etl.render.rows import Rows
    from cupti_etl.render.table import View

FORMATS = ("table", "csv", "json", "arrow", "parquet", "markdown", "html")
_BINARY = ("arrow", "parquet")
_SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".parquet": "parquet",
    ".md": "markdown",
    ".html": "html",
    ".txt": "table",
}
_COMPRESSED = ".gz"
# That of gzip(1).
_LEVEL = 6
_GROUP_BATCHES = 4
_F = TypeVar("_F", bound=Callable[..., Any])
_SECTION: Mapping[str, Any] = {"cls": Option, "section": "Output"}
_option = functools.partial(click.option, **_SECTION)


def output_option(text: str, **more: Any) -> Callable[[_F], _F]:
    """``-o`` of a command that writes one file, which is no trace."""
    kind = LocalPath(WRITTEN)
    return click.option("-o", "--output", "path", type=kind, metavar="FILE", help=text, **more)


@dataclass(frozen=True)
class InMemory:
    """Rows that are there already.

    Attributes:
        table: the rows.
        form: what the columns are, where their names do not say it.
    """

    table: pa.Table
    form: Shape | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.table.column_names)

    def reader(self) -> pa.RecordBatchReader:
        """The rows in batches."""
        return self.table.to_reader()

    def count(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    @property
    def shape(self) -> Shape:
        """What the columns are."""
        from cupti_etl.render.columns import shape

        return self.form or shape(self.columns, None)

    def ask(self, sql: str) -> Iterable[Mapping[str, Any]]:
        """Nothing: there is no trace."""
        return ()

    def refined(self, clauses: str) -> InMemory:
        """The rows that the clauses of a SELECT leave over."""
        import duckdb

        from cupti_etl.queries.failure import translate
        from cupti_etl.queries.runner import connect

        with connect(()) as con:
            con.register("rows", self.table)
            try:
                return InMemory(con.sql(f"FROM rows {clauses}").to_arrow_table(), self.form)
            except duckdb.Error as error:
                raise translate(error, ()) from error


@dataclass(frozen=True)
class Output:
    """Where and how to write.

    Attributes:
        format: one of ``FORMATS``, or empty: what the file's name says, else a table.
        path: the file; None is standard output.
        all_rows: a table shows every row, however many there are.
        spreadsheet: CSV for a program that takes some texts for formulas.
        wide: a table shows every column.
        raw: a table shows values as they are.
        time_unit: of durations in a table.
        rows: which of them are written, and in which order.

    Raises:
        UsageError: the file's name says a format that there is not, and ``format`` says none.
    """

    format: str = ""
    path: Path | None = None
    all_rows: bool = False
    spreadsheet: bool = False
    wide: bool = False
    raw: bool = False
    time_unit: str = "auto"
    rows: Narrowing = EVERYTHING

    @property
    def view(self) -> View:
        """How a table is shown."""
        from cupti_etl.render.table import ROW_LIMIT, View

        every = self.all_rows or self.rows.limit is not None
        return View(self.wide, self.raw, self.time_unit, None if every else ROW_LIMIT)

    def __post_init__(self) -> None:
        if self.spreadsheet and self.chosen != "csv":
            raise UsageError(f"--spreadsheet is about CSV, not {self.chosen}", "--format csv")
        suffix = _suffix(self.path)
        if suffix and not self.format and suffix not in _SUFFIXES:
            raise UsageError(
                f"{self.path}: {suffix} is not the suffix of a format",
                f"add --format, or choose one of {', '.join(_SUFFIXES)}",
            )

    @property
    def chosen(self) -> str:
        """The format that is written."""
        if self.format:
            return self.format
        if self.spreadsheet:
            return "csv"
        return _SUFFIXES.get(_suffix(self.path), "table")


def _suffix(path: Path | None) -> str:
    """What says the format of a file, which may be compressed."""
    said = path.name.lower().removesuffix(_COMPRESSED) if path else ""
    return Path(said).suffix


def output_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that give rows, as the argument ``output``: an ``Output``.

    Raises:
        UsageError: as of ``Output``, before the command does anything.
    """

    @functools.wraps(function)
    def command(
        format: str | None,
        path: Path | None,
        all_rows: bool,
        spreadsheet: bool,
        wide: bool,
        raw: bool,
        time_unit: str,
        where: str,
        sort: str,
        limit: int | None,
        **others: Any,
    ) -> None:
        rows = Narrowing(where, sort, limit)
        output = Output(
            format or "", path, all_rows, spreadsheet, wide, raw, time_unit.lower(), rows
        )
        function(output=output, **others)

    for option in (
        _option(
            "--spreadsheet", is_flag=True, help="Write CSV in which no text can act as a formula."
        ),
        _option(
            "--raw",
            is_flag=True,
            help="Show plain numbers and full names in a table, as in a file.",
        ),
        _option(
            "--timeunit",
            "time_unit",
            type=click.Choice(("auto", *TIME_UNITS)),
            default="auto",
            show_default=True,
            help="Unit of durations in a table; auto chooses one for each.",
        ),
        _option(
            "--sort",
            default="",
            metavar="COLUMN[:asc|:desc]",
            help="Sort by COLUMN; by default numbers from the largest, texts from A.",
        ),
        _option(
            "--where",
            default="",
            metavar="SQL",
            help="Only rows for which SQL is true, such as 'total_ns > 1e6'.",
        ),
        _option("--wide", is_flag=True, help="Show every column of a table."),
        _option("--all", "all_rows", is_flag=True, help="Show every row of a table."),
        _option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N rows."),
        output_option(
            "Write to FILE; its suffix chooses the format unless --format does; .gz compresses.",
            **_SECTION,
        ),
        _option(
            "--format",
            "format",
            type=click.Choice(FORMATS),
            help="Format of the rows; by default table.",
        ),
    ):
        command = option(command)
    return command


def write(rows: Rows, output: Output) -> None:
    """Write all rows; nothing where a statement such as CREATE gives none.

    Raises:
        TraceError: there is no room for the file.
        UsageError: a binary format would go to a terminal, or the file cannot be written.
        OSError: standard output is full.
    """
    from cupti_etl.render.csv import write_csv

    if not rows.columns:
        return
    rows = narrow(rows, output.rows)
    kind = output.chosen
    if output.path is None and sys.stdout is None:
        raise UsageError("there is no standard output", "add -o FILE")
    if kind in _BINARY and output.path is None and sys.stdout.isatty():
        raise UsageError(
            f"{kind} is binary and would garble the terminal", "add -o FILE, or send it to a pipe"
        )
    with open_output(output.path) as out:
        if kind in ("table", "markdown"):
            _write_table(rows, output, out)
        elif kind == "html":
            _write_html(rows, output, out)
        elif kind == "csv":
            write_csv(rows.reader(), out, _change(output))
        else:
            _WRITERS[kind](rows.reader(), out)
        out.flush()


def _write_table(rows: Rows, output: Output, out: BinaryIO) -> None:
    """Write a table; say on standard error what is left out."""
    from cupti_etl.render.text import drawn

    terminal = output.path is None and sys.stdout.isatty()
    lines, notes = drawn(rows, output.view, output.chosen, terminal=terminal)
    out.write("".join(f"{line}\n" for line in lines).encode())
    out.flush()
    for note in notes:
        say(note)


def _write_html(rows: Rows, output: Output, out: BinaryIO) -> None:
    from cupti_etl.render.html import table_page

    out.write(table_page(rows, output.view).encode())


def _change(output: Output) -> Callable[[str], str] | None:
    """What becomes of texts in CSV: they are exact where a program reads them."""
    from cupti_etl.render.csv import for_spreadsheet

    if output.spreadsheet:
        return for_spreadsheet
    return printable if output.path is None and sys.stdout.isatty() else None


@contextmanager
def open_output(path: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears only when it is complete.

    What goes into a file whose name ends in ``.gz`` is compressed.
    """
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    # A pipe or a device cannot be replaced by a finished file.
    in_place = path.exists() and not path.is_file()
    partial = path if in_place else path.with_name(f".{path.name}.part")
    try:
        with partial.open("wb") as file:
            if path.suffix.lower() == _COMPRESSED:
                # Without a name and a time, which would be those of the unfinished file.
                with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as compressed:
                    yield cast("BinaryIO", compressed)
            else:
                yield file
        if not in_place:
            partial.replace(path)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise not_written(path, error) from error
        if error.filename is None or isinstance(error, BrokenPipeError):
            raise
        raise UsageError(f"cannot write {path}: {error.strerror}", "choose another file") from error
    finally:
        if not in_place:
            partial.unlink(missing_ok=True)


def _write_arrow(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(out, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_parquet(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Each write is a row group, and small ones compress badly.
    with pq.ParquetWriter(out, reader.schema, compression="zstd") as writer:
        batches = iter(reader)
        while group := list(islice(batches, _GROUP_BATCHES)):
            writer.write_table(pa.Table.from_batches(group))


def _write_json(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    from cupti_etl.render.json import write_json

    write_json(reader, out)


_WRITERS: dict[str, Callable[[pa.RecordBatchReader, BinaryIO], None]] = {
    "arrow": _write_arrow,
    "json": _write_json,
    "parquet": _write_parquet,
}
