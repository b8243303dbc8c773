"""A trace folder from a few readable lines a table.

::

    path = write_trace(tmp_path / "run", kernel='''
        start_ns end_ns name
        0        10     a
        20       -      "b c"
    ''')
    assert_rows(open(path).query("kernel_summary"), '''
        name  calls unfinished
        a     1     0
        "b c" 0     1
    ''')

Cells are words, ``-`` is NULL, and columns that are not named are NULL.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.api import Trace
from cupti_etl.queries.catalog import library
from cupti_etl.queries.views import Views
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.storage import manifest
from cupti_etl.storage.manifest import Entry, checksum

_QUOTING = re.compile(r"[\"'\\]")
_EMPTY_PARTS: dict[str, tuple[pa.Schema, bytes]] = {}
# The table ``device`` with a GPU that has the limits of an H100.
H100 = """
    process_id device_id device_uuid multiprocessors threads_per_warp max_warps_per_multiprocessor \
max_blocks_per_multiprocessor max_registers_per_multiprocessor \
max_shared_per_multiprocessor_bytes compute_capability_major core_clock_khz \
global_memory_bandwidth_kbps
    1          0         GPU-a       132             32               64 \
32 65536 \
233472 9 1980000 \
3352320000
"""
# As commands ask so small a trace.  What Python opens has all processors, which would wait for one
# another, and tests run beside each other.
ONE_THREAD = {"threads": "1"}
# The fixture ``trace``: tables in, an opened trace out.
MakeTrace = Callable[..., Trace]


def write_trace(folder: Path, **tables: str) -> Path:
    """A complete trace: the given tables with one part each, the others with no row."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        text = tables.pop(table, "")
        if text or not _add_empty_table(folder, table):
            add_part(folder, table, text)
    assert not tables, f"no such table: {', '.join(tables)}"
    return folder


def write_tables(folder: Path, **tables: str) -> Path:
    """A trace of the given tables alone, for tests of answers; without any, it has nothing.

    A table that has no part is asked as one that has no row.  A complete trace is a hundred files
    and folders, which take longer to make and to remove than most answers.
    """
    for table, text in (tables or {"capture": ""}).items():
        assert table in TABLES, f"no such table: {table}"
        add_part(folder, table, text)
    return folder


def add_part(folder: Path, table: str, text: str = "") -> Path:
    """One more part of a table."""
    home = folder / table
    home.mkdir(parents=True, exist_ok=True)
    part = home / f"part-{len(list(home.iterdir())):06d}.parquet"
    if text:
        return _complete(part, _bytes(as_table(table, text)))
    return _complete(part, _empty_part(table))


def _add_empty_table(folder: Path, table: str) -> bool:
    """The same for a table that has no folder yet; whether it had none.

    Nobody reads it meanwhile, and there are dozens for each trace: so it is done in few steps.
    """
    home = os.path.join(folder, table)  # noqa: PTH118
    try:
        os.mkdir(home)  # noqa: PTH102
    except FileExistsError:
        return False
    with open(f"{home}/part-000000.parquet", "xb", buffering=0) as part:  # noqa: PTH123
        part.write(_empty_part(table))
    return True


def _empty_part(table: str) -> bytes:
    schema = arrow_schema(table)
    known = _EMPTY_PARTS.get(table)
    # Tests of older schemas change what a table is.
    if known is None or known[0] is not schema:
        known = _EMPTY_PARTS[table] = schema, _bytes(as_table(table, ""))
    return known[1]


def _bytes(rows: pa.Table) -> bytes:
    content = io.BytesIO()
    pq.write_table(rows, content)
    return content.getvalue()


def write_part(part: Path, rows: pa.Table) -> Path:
    """Write a part the way a capture does: complete, or not there."""
    return _complete(part, _bytes(rows))


def _complete(part: Path, content: bytes) -> Path:
    temporary = part.with_suffix(".tmp")
    temporary.write_bytes(content)
    temporary.rename(part)
    return part


def write_manifest(folder: Path) -> None:
    """The manifest that says that the parts are those which are there."""
    named = {
        home.name: {
            part.name: Entry(pq.read_metadata(part).num_rows, part.stat().st_size, checksum(part))
            for part in home.glob("part-*.parquet")
        }
        for home in folder.iterdir()
        if home.name in TABLES
    }
    (folder / manifest.NAME).write_bytes(manifest.as_json(named))


def as_table(table: str, text: str) -> pa.Table:
    """The rows that a text describes, with all columns of the table.

    Names that the table does not have are columns that a capture has added, where it can.
    """
    schema = arrow_schema(table)
    names, rows = _words(text)
    if TABLES[table].more is not None:
        for name in [name for name in names if name not in schema.names]:
            schema = schema.append(pa.field(name, pa.float64()))
    assert set(names) <= set(schema.names), f"{table}: {set(names) - set(schema.names)}"
    items = [
        {name: _value(cell, schema.field(name).type) for name, cell in zip(names, row, strict=True)}
        for row in rows
    ]
    return pa.Table.from_pylist(items, schema=schema)


def described(trace: Path, table: str) -> dict[str, dict[str, Any]]:
    """What ``schema.json`` says of a table's columns, by their names."""
    (found,) = (t for t in json.loads((trace / "schema.json").read_text()) if t["table"] == table)
    return {column["name"]: column for column in found["columns"]}


def by_sql(trace: Trace) -> None:
    """From now on all queries of the trace are computed by their SQL, none by an operator."""
    trace._connection.views = Views(library(), dict)
    trace._connection.views.open(trace._sources)


def assert_rows(result: Iterable[Mapping[str, Any]], text: str) -> None:
    """The rows are those of the text, in its order, as far as it names columns."""
    names, expected = _words(text)
    assert [[_cell(row[name]) for name in names] for row in result] == expected


def _words(text: str) -> tuple[list[str], list[list[str]]]:
    lines = words(text)
    return (lines[0], lines[1:]) if lines else ([], [])


def words(text: str) -> list[list[str]]:
    """The cells of each line, empty lines left out."""
    # As shlex takes most of the time of tests that have many rows.
    return [
        shlex.split(line) if _QUOTING.search(line) else line.split()
        for line in text.splitlines()
        if line.strip()
    ]


def _value(cell: str, kind: pa.DataType) -> Any:
    if cell == "-":
        return None
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}[cell]
    if pa.types.is_integer(kind):
        return int(cell)
    return float(cell) if pa.types.is_floating(kind) else cell


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def kernels(*rows: str) -> str:
    """Kernels with the shapes of their launches."""
    return (
        "process_id device_id context_id stream_id start_ns end_ns name grid_x grid_y grid_z"
        " block_x block_y block_z cluster_x cluster_y cluster_z registers_per_thread"
        " static_shared_bytes dynamic_shared_bytes correlation_id\n" + "\n".join(rows)
    )
