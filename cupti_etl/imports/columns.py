"""Columns of foreign files as columns of our tables: whole arrays at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.skipped import Skipped
from cupti_etl.schema.arrow import batch_schema

# A column: an array, or one value for all rows (None: not known).
Value: TypeAlias = "pa.Array | int | bool | str | None"
_TEXT = pa.dictionary(pa.int32(), pa.string())


class Batches:
    """Makes batches of our tables.

    Args:
        skipped: takes note of what is not kept.
    """

    def __init__(self, skipped: Skipped) -> None:
        self.skipped = skipped
        self._markers = 0

    def marker_ids(self, rows: int) -> pa.Array:
        """Numbers for so many new markers."""
        first = self._markers + 1
        self._markers += rows
        return numbered(rows, first)

    def batch(self, table: str, rows: int, values: Mapping[str, Value]) -> pa.RecordBatch:
        """Rows of a table; columns that are not named are NULL.

        A number that does not fit into its column becomes NULL, and is counted; so does an end
        before the start.
        """
        made = make_batch(table, rows, values)
        for name, value in values.items():
            if isinstance(value, pa.Array) and pa.types.is_integer(value.type):
                unfit = made[name].null_count - value.null_count
                self.skipped.invalid(f"{table}.{name}", unfit, "values that are too large")
        if "start_ns" in values and "end_ns" in values:
            end = not_before(made["end_ns"], made["start_ns"])
            early = end.null_count - made["end_ns"].null_count
            self.skipped.invalid(
                f"{table}.end_ns", early, "it is before the start: these have no end"
            )
            at = made.schema.get_field_index("end_ns")
            made = made.set_column(at, made.schema.field(at), end) if early else made
        return made


def make_batch(table: str, rows: int, values: Mapping[str, Value]) -> pa.RecordBatch:
    """Rows of a table; columns that are not named are NULL, and so is what does not fit."""
    schema = batch_schema(table)
    unknown = set(values) - set(schema.names)
    assert not unknown, f"{table} has no column {', '.join(unknown)}"
    return pa.RecordBatch.from_arrays(
        [_column(values.get(field.name), field.type, rows) for field in schema], schema=schema
    )


def _column(value: Value, kind: pa.DataType, rows: int) -> pa.Array:
    if not isinstance(value, pa.Array):
        if value is not None and kind == _TEXT:
            return pa.DictionaryArray.from_arrays(
                pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([value], pa.string())
            )
        return pa.nulls(rows, kind) if value is None else pa.repeat(pa.scalar(value, kind), rows)
    if value.type == kind:
        return compact(value) if kind == _TEXT else value
    if kind == _TEXT:
        plain = value.cast(pa.string())
        return plain.dictionary_encode()
    if pa.types.is_boolean(kind):
        return pc.not_equal(value, 0)
    return fit(value, kind)


def compact(text: pa.DictionaryArray) -> pa.DictionaryArray:
    """The column with the texts only that its rows use; a filter keeps all of them."""
    used = pc.drop_null(pc.unique(text.indices))
    if len(used) == len(text.dictionary):
        return text
    return pa.DictionaryArray.from_arrays(
        pc.index_in(text.indices, used), text.dictionary.take(used)
    )


def fit(value: pa.Array, kind: pa.DataType) -> pa.Array:
    """Integers as narrower ones; NULL for those that do not fit."""
    try:
        return value.cast(kind)
    except pa.ArrowInvalid:
        limit = 1 << (kind.bit_width - 1)
        fits = pc.and_(pc.greater_equal(value, -limit), pc.less(value, limit))
        return pc.if_else(fits, value, None).cast(kind)


def null_if(value: pa.Array, missing: int) -> pa.Array:
    """The column with NULL where it holds the number that means "not known"."""
    return pc.if_else(pc.equal(value, missing), pa.scalar(None, value.type), value)


def not_before(end: pa.Array, start: pa.Array) -> pa.Array:
    """Ends with NULL where they lie before the start, as no end does that is known."""
    return pc.if_else(pc.fill_null(pc.less(end, start), False), None, end)


def numbered(rows: int, first: int) -> pa.Array:
    """The numbers from ``first``, one a row."""
    if not rows:
        return pa.array([], pa.int64())
    ones = pa.repeat(pa.scalar(1, pa.int64()), rows)
    return pc.cumulative_sum(ones, start=first - 1)


def mapped(text: pa.Array, change: Callable[[str], Any], kind: pa.DataType) -> pa.Array:
    """A column of text with each different text replaced by what ``change`` makes of it."""
    if not pa.types.is_dictionary(text.type):
        text = text.dictionary_encode()
    text = compact(text)
    made = pa.array([change(value) for value in text.dictionary.to_pylist()], kind)
    return made.take(text.indices)


def labelled(numbers: pa.Array, labels: Mapping[int, str]) -> pa.Array:
    """Text for numbers: the label, or the number itself where there is none."""
    found = numbers.dictionary_encode()
    texts = [labels.get(number, str(number)) for number in found.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(found.indices, pa.array(texts, pa.string()))
