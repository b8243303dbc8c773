"""Sizes that cannot be: below zero, they are not known."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.skipped import Skipped
from cupti_etl.schema.arrow import TABLES

# Units of columns that count or measure something; an address has none, a time is a difference.
_UNITS = ("bytes", "blocks", "threads", "warps", "registers", "multiprocessors", "copies", "faults")
BELOW_ZERO = "they are below zero, which no size is: NULL is stored"


@cache
def _sizes(table: str) -> tuple[str, ...]:
    return tuple(column.name for column in TABLES[table].columns if column.unit in _UNITS)


def without_negative(table: str, batch: pa.RecordBatch, skipped: Skipped) -> pa.RecordBatch:
    """The rows of a table, with NULL for each size below zero; they are counted."""
    for name in _sizes(table):
        sizes = batch[name]
        least = pc.min(sizes).as_py()
        if least is not None and least < 0:
            is_size = pc.greater_equal(sizes, 0)
            skipped.invalid(f"{table}.{name}", pc.sum(pc.invert(is_size)).as_py(), BELOW_ZERO)
            known = pc.if_else(is_size, sizes, pa.scalar(None, sizes.type))
            batch = batch.set_column(
                batch.schema.get_field_index(name), batch.schema.field(name), known
            )
    return batch
