"""Arrow schemas of all tables, with doc, unit and joins in the field metadata.

Exported files and streams therefore explain themselves.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cupti_etl.errors import SchemaError
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.own import OWN
from cupti_etl.schema.spec import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

# Raised when a stored column gets another meaning or another name; written into every file.
SCHEMA_VERSION = 1

TABLES: dict[str, Table] = {
    table.name: table for table in (*(kind.as_table() for kind in KINDS), *OWN)
}


def column_metadata(column: Column) -> dict[str, str]:
    """Doc, unit, source member and join of a column, as strings."""
    metadata = {"doc": column.doc, "unit": column.unit}
    if column.source:
        metadata["cupti"] = column.source
    if column.joins:
        metadata["joins"] = column.joins
    return metadata


@cache
def arrow_schema(table: str) -> pa.Schema:
    """The schema of a table as it is stored.

    Raises:
        SchemaError: there is no table of that name.
    """
    import pyarrow as pa

    if table not in TABLES:
        raise SchemaError(
            f"there is no table {table!r}", f"tables are: {', '.join(sorted(TABLES))}"
        )
    fields = [
        pa.field(column.name, getattr(pa, column.type.arrow)(), metadata=column_metadata(column))
        for column in TABLES[table].columns
    ]
    metadata = {
        "cupti_etl.table": table,
        "cupti_etl.doc": TABLES[table].doc,
        "cupti_etl.schema_version": str(SCHEMA_VERSION),
    }
    return pa.schema(fields, metadata=metadata)


def stored_schema(table: str, columns: pa.Schema) -> pa.Schema:
    """The schema of rows as they are stored, with the columns that a capture has added.

    Args:
        table: whose rows they are.
        columns: the schema of the rows; of it, what the table does not have in every trace
            follows, where the table can have more.
    """
    import pyarrow as pa

    schema = arrow_schema(table)
    more = [field for field in columns if field.name not in schema.names]
    if not more or TABLES[table].more is None:
        return schema
    return pa.schema([*schema, *more], metadata=schema.metadata)


@cache
def batch_schema(table: str) -> pa.Schema:
    """Schema of the decoder's batches: text columns are dictionaries of int32."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.dictionary(pa.int32(), field.type))
        if field.type in (pa.string(), pa.binary())
        else field
        for field in arrow_schema(table)
    ]
    return pa.schema(fields, metadata=arrow_schema(table).metadata)
