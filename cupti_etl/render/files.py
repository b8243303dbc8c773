"""The tables of a trace as files of their own: Parquet, Arrow or CSV.

Rows are streamed; sorting, for Parquet, spills to the disk that is written to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.api import Result, Trace
from cupti_etl.errors import UsageError
from cupti_etl.render.beside import ROWS, beside, feed
from cupti_etl.render.output import Output, write
from cupti_etl.render.rows import Passed
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.storage.place import SPILL, new_output, not_written, refuse_existing, unfinished
from cupti_etl.storage.replace import install
from cupti_etl.storage.sources import identifier

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = {"parquet": ".parquet", "arrow": ".arrows", "csv": ".csv", "spreadsheet": ".csv"}
# Rows that are sorted and compressed together; what bounds the memory of a Parquet export.
_GROUP_ROWS = 1 << 17


def choose_tables(trace: Trace, text: str) -> list[str]:
    """Tables of the trace by their names, comma-separated; all of them for "".

    Raises:
        UsageError: there is no such table.
    """
    chosen = [name.strip() for name in text.split(",")] if text else list(trace.tables)
    for name in chosen:
        if name not in trace.tables:
            raise UsageError(
                f"there is no table {name!r}",
                "`cupti-etl schema` lists them; queries go to a file with `cupti-etl query -o`",
            )
    return list(dict.fromkeys(chosen))


def export_folder(
    trace: Trace, tables: list[str], out: Path, form: str, *, overwrite: bool = False
) -> None:
    """Write a file per table into a new folder, which appears when it is complete.

    Args:
        trace: what to write.
        tables: which of its tables.
        out: the folder.
        form: one of ``SUFFIXES``.
        overwrite: whether an export or a trace of that name is replaced.

    Raises:
        UsageError: the folder exists already.
        TraceError: a part of the trace cannot be read, or a file cannot be written.
    """
    with new_output(out, overwrite=overwrite) as partial:
        partial.mkdir()
        for table in tables:
            export_file(trace, table, partial / f"{table}{SUFFIXES[form]}", form)


def export_file(
    trace: Trace, table: str, out: Path | None, form: str, *, overwrite: bool = False
) -> None:
    """Write one table to a new file, or to standard output.

    Raises:
        UsageError: the file exists already, or standard output is a terminal and the form is
            binary.
        TraceError: a part of the trace cannot be read, or the file cannot be written.
    """
    if out is not None and not out.is_fifo():
        refuse_existing(out, overwrite=overwrite)
        if out.is_dir():
            raise UsageError(f"{out} is a folder, and this is one file", "choose another name")
    if form != "parquet":
        is_spreadsheet = form == "spreadsheet"
        output = Output("csv" if is_spreadsheet else form, out, spreadsheet=is_spreadsheet)
        write(_Documented(trace.sql(f"FROM {identifier(table)}"), table), output)
        return
    if out is None:
        raise UsageError(
            "a Parquet export is sorted beside the file that it becomes, so it needs one",
            "name a file, or use --to arrow",
        )
    try:
        _write_parquet(trace, table, out)
    except OSError as error:
        raise not_written(out, error) from error


class _Documented(Passed):
    """The rows of a table with its documentation in their schema."""

    def __init__(self, rows: Result, table: str) -> None:
        super().__init__(rows)
        self._table = table

    def through(self, rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """The rows with that schema."""
        return _explained(rows, self._table)


def _explained(rows: pa.RecordBatchReader, table: str) -> pa.RecordBatchReader:
    import pyarrow as pa

    schema = documented(table, rows.schema)
    return pa.RecordBatchReader.from_batches(schema, (each.cast(schema) for each in rows))


def documented(table: str, schema: pa.Schema) -> pa.Schema:
    """A schema with what is known about the table's columns in its metadata."""
    import pyarrow as pa

    if table not in TABLES:
        return schema
    known = arrow_schema(table)
    fields = [known.field(each.name) if each.name in known.names else each for each in schema]
    return pa.schema(fields, metadata=known.metadata)


def _write_parquet(trace: Trace, table: str, out: Path) -> None:
    from cupti_etl.storage.part import part_writer

    with unfinished(out) as partial:
        with _in_order(trace, table, partial.with_name(partial.name + SPILL)) as found:
            rows = _explained(found, table)
            with part_writer(partial, table, rows.schema, rows.schema) as writer:
                for group in _groups(rows):
                    writer.write_table(group)
        install(partial, out)


def _in_order(
    trace: Trace, table: str, spill: Path
) -> AbstractContextManager[pa.RecordBatchReader]:
    """The rows of a table as it is sorted."""
    sort = TABLES[table].sort if table in TABLES else ()
    if not sort:
        return nullcontext(trace.sql(f"FROM {identifier(table)}").reader())
    return in_order(trace, identifier(table), ", ".join(map(identifier, sort)), spill)


@contextmanager
def in_order(trace: Trace, source: str, order: str, spill: Path) -> Iterator[pa.RecordBatchReader]:
    """Rows of a trace, sorted; what does not fit into the trace's memory goes to the disk.

    Args:
        trace: whose rows.
        source: a table or query.
        order: how they are sorted, in SQL.
        spill: a folder for what does not fit, which DuckDB makes.

    Raises:
        TraceError: a part of the trace cannot be read, or the disk is full.
    """
    rows = trace.sql(f"FROM {source}").reader()
    with beside(trace, (), {"temp_directory": str(spill)}) as con, feed(con, rows):
        yield con.sql(f"FROM {ROWS} ORDER BY {order}").to_arrow_reader()


def _groups(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    import pyarrow as pa

    group: list[pa.RecordBatch] = []
    for batch in rows:
        group.append(batch)
        if sum(each.num_rows for each in group) >= _GROUP_ROWS:
            yield pa.Table.from_batches(group)
            group = []
    if group:
        yield pa.Table.from_batches(group)
