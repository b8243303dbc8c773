"""Rows as CSV: exactly as they are for programs, or so that a text is nothing but text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from cupti_etl.progress import printable
from cupti_etl.render.json import json_text

if TYPE_CHECKING:
    import pyarrow as pa

_Change = Callable[[str], str]
# A spreadsheet takes what begins so for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def for_spreadsheet(text: str) -> str:
    """The text with a quote before what would be a formula; a spreadsheet does not show it."""
    return printable(f"'{text}" if text.startswith(_FORMULA) else text)


def write_csv(reader: pa.RecordBatchReader, out: BinaryIO, change: _Change | None = None) -> None:
    """NULL is an empty field, an empty string a quoted one.

    Args:
        reader: the rows.
        out: where to.
        change: what becomes of texts, and of the names of columns.
    """
    import pyarrow as pa
    import pyarrow.csv as pacsv

    header = io.StringIO()
    names = reader.schema.names
    csv.writer(header, lineterminator="\n").writerow(map(change, names) if change else names)
    out.write(header.getvalue().encode())
    schema = pa.schema(
        field if _fits(field.type) else pa.field(field.name, pa.string()) for field in reader.schema
    )
    options = pacsv.WriteOptions(include_header=False)
    with pacsv.CSVWriter(out, schema, write_options=options) as writer:
        for batch in reader:
            arrays = [_column(each, change) for each in batch.columns]
            # A batch whose texts are all NULL would otherwise be of type null.
            typed = [
                each if each.type == field.type else each.cast(field.type)
                for each, field in zip(arrays, schema, strict=True)
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(typed, schema=schema))


def _column(column: pa.Array, change: _Change | None) -> pa.Array:
    import pyarrow as pa

    if not _fits(column.type):
        texts = (None if value is None else json_text(value) for value in column.to_pylist())
        column = pa.array(texts, pa.string())
    if change is None or not pa.types.is_string(column.type):
        return column
    # Names are many times the same.
    words = column.dictionary_encode()
    changed = pa.array(map(change, words.dictionary.to_pylist()), pa.string())
    return pa.DictionaryArray.from_arrays(words.indices, changed).cast(pa.string())


def _fits(kind: Any) -> bool:
    import pyarrow as pa

    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_interval(kind))
