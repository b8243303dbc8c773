"""``schema.json``: what the columns of a trace mean, once a trace and not in each part.

It is the list that ``cupti-etl schema --format json`` prints, of the tables that the trace has,
with the columns that the capture has added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.schema.reference import described

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "schema.json"

# What is said of columns that a capture has added, by their names.
Added = dict[str, dict[str, Any]]


def added(table: str, schema: pa.Schema) -> Added:
    """The columns that rows have beyond those of their table in every trace, described."""
    more = TABLES[table].more
    if more is None:
        return {}
    known = {column.name for column in TABLES[table].columns}
    return {
        field.name: {
            "name": field.name,
            "type": more.sql,
            "arrow": more.arrow,
            **{key: _said(field, key) for key in ("unit", "doc")},
        }
        for field in schema
        if field.name not in known
    }


def _said(field: pa.Field, key: str) -> str | None:
    said = (field.metadata or {}).get(key.encode())
    return None if said is None else said.decode(errors="replace")


def as_json(tables: Mapping[str, Added]) -> bytes:
    """The file's content, a table a line.

    Args:
        tables: those of the trace, with their added columns; unknown ones are left out.
    """
    lines = []
    for name in TABLES:
        if name in tables:
            table = described(TABLES[name])
            table["columns"] += tables[name].values()
            lines.append(json.dumps(table, ensure_ascii=False))
    return "[\n{}\n]\n".format(",\n".join(lines)).encode()


def read(out: Path) -> tuple[bool, dict[str, Added]]:
    """Whether a trace has the file, of this schema; and the columns added to its tables."""
    try:
        tables = json.loads((out / NAME).read_bytes())
        is_ours = all(table["schema_version"] == SCHEMA_VERSION for table in tables)
        known = [table for table in tables if table["table"] in TABLES]
        return is_ours, {table["table"]: _others(table) for table in known}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # none, or damaged
        return False, {}


def _others(table: Mapping[str, Any]) -> Added:
    known = {column.name for column in TABLES[table["table"]].columns}
    return {column["name"]: column for column in table["columns"] if column["name"] not in known}
