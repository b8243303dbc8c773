"""Rows to a terminal, a pipe or a file, in the format that was asked for.

Every format but ``table`` is streamed: memory does not grow with the number of rows.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import click

from cupti_etl.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("table", "csv", "json", "arrow", "parquet", "markdown")
_BINARY = ("arrow", "parquet")
_SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".parquet": "parquet",
    ".md": "markdown",
    ".txt": "table",
}
_GROUP_BATCHES = 4
_F = TypeVar("_F", bound=Callable[..., Any])


class Rows(Protocol):
    """What is written: ``cupti_etl.trace.Result``, or anything like it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    def reader(self) -> pa.RecordBatchReader:
        """The rows in batches."""

    def count(self) -> int:
        """How many rows there are."""


@dataclass(frozen=True)
class InMemory:
    """Rows that are there already."""

    table: pa.Table

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


@dataclass(frozen=True)
class Output:
    """Where and how to write.

    Attributes:
        format: one of ``FORMATS``, or empty: what the file's name says, else a table.
        path: the file; None is standard output.
        all_rows: a table shows every row, however many there are.

    Raises:
        UsageError: the file's name says a format that there is not, and ``format`` says none.
    """

    format: str = ""
    path: Path | None = None
    all_rows: bool = False

    def __post_init__(self) -> None:
        suffix = self.path.suffix.lower() if self.path else ""
        if suffix and not self.format and suffix not in _SUFFIXES:
            raise UsageError(
                f"{self.path}: {suffix} is the suffix of no format",
                f"add --format, or choose one of {', '.join(_SUFFIXES)}",
            )

    @property
    def chosen(self) -> str:
        """The format that is written."""
        if self.format:
            return self.format
        return _SUFFIXES.get(self.path.suffix.lower(), "table") if self.path else "table"


def output_options(command: _F) -> _F:
    """The options ``--format``, ``-o`` and ``--all``, shared by commands that give rows."""
    for option in (
        click.option("--all", "all_rows", is_flag=True, help="Show every row of a table."),
        click.option(
            "-o",
            "--output",
            "path",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Write to FILE; its suffix chooses the format where --format does not.",
        ),
        click.option(
            "--format",
            "format",
            type=click.Choice(FORMATS),
            help="How to write the rows; a table if nothing is said.",
        ),
    ):
        command = option(command)
    return command


def write(rows: Rows, output: Output) -> None:
    """Write all rows; nothing where a statement such as CREATE gives none.

    Raises:
        UsageError: a binary format would go to a terminal, or the file cannot be written.
        OSError: standard output, or the disk, is full.
    """
    from cupti_etl.export.text import write_table

    if not rows.columns:
        return
    kind = output.chosen
    if output.path is None and sys.stdout is None:
        raise UsageError("there is no standard output", "add -o FILE")
    if kind in _BINARY and output.path is None and sys.stdout.isatty():
        raise UsageError(
            f"{kind} is binary and would garble the terminal", "add -o FILE, or send it to a pipe"
        )
    with _sink(output.path) as sink:
        if kind == "table":
            write_table(rows, sink, all_rows=output.all_rows, terminal=output.path is None)
        else:
            _WRITERS[kind](rows.reader(), sink)
        sink.flush()


@contextmanager
def _sink(path: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears only when it is complete."""
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    # A pipe or a device cannot be replaced by a finished file.
    in_place = path.exists() and not path.is_file()
    partial = path if in_place else path.with_name(f".{path.name}.part")
    try:
        with partial.open("wb") as file:
            yield file
        if not in_place:
            partial.replace(path)
    except OSError as error:
        if error.filename is None or isinstance(error, BrokenPipeError):
            raise
        raise UsageError(f"cannot write {path}: {error.strerror}", "choose another file") from error
    finally:
        if not in_place:
            partial.unlink(missing_ok=True)


def _write_arrow(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_parquet(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Each write is a row group, and small ones compress badly.
    with pq.ParquetWriter(sink, reader.schema, compression="zstd") as writer:
        batches = iter(reader)
        while group := list(islice(batches, _GROUP_BATCHES)):
            writer.write_table(pa.Table.from_batches(group))


def _write_csv(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """NULL is an empty field, an empty string a quoted one."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(reader.schema.names)
    sink.write(header.getvalue().encode())
    schema = pa.schema(
        field if _fits_csv(field.type) else pa.field(field.name, pa.string())
        for field in reader.schema
    )
    options = pacsv.WriteOptions(include_header=False)
    with pacsv.CSVWriter(sink, schema, write_options=options) as writer:
        for batch in reader:
            arrays = [
                column if _fits_csv(column.type) else pa.array(map(_cell_text, column.to_pylist()))
                for column in batch.columns
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(_typed(arrays, schema), schema=schema))


def _typed(arrays: list[pa.Array], schema: pa.Schema) -> list[pa.Array]:
    # A batch whose texts are all NULL would otherwise be of type null.
    return [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]


def _fits_csv(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_interval(kind))


def _cell_text(value: Any) -> str | None:
    return None if value is None else json.dumps(_plain(value), ensure_ascii=False)


def _write_json(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """An array of objects; integers in full, what JSON has no form for as text."""
    names = reader.schema.names
    separator = "["
    for batch in reader:
        lines = []
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            item = {name: _plain(value) for name, value in zip(names, row, strict=True)}
            lines.append(f"{separator}\n{json.dumps(item, ensure_ascii=False)}")
            separator = ","
        sink.write("".join(lines).encode())
    sink.write(b"[]\n" if separator == "[" else b"\n]\n")


def _plain(value: Any) -> Any:
    """The value as json takes it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _write_markdown(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    from cupti_etl.export.text import write_markdown

    write_markdown(reader, sink)


_WRITERS: dict[str, Callable[[pa.RecordBatchReader, BinaryIO], None]] = {
    "arrow": _write_arrow,
    "csv": _write_csv,
    "json": _write_json,
    "markdown": _write_markdown,
    "parquet": _write_parquet,
}
