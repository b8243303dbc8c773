"""The tables of a trace as SQL views over its Parquet parts and attached files."""

from __future__ import annotations

from collections.abc import Sequence

from cupti_etl.queries.sources import File, Folder, Source, globs, quoted
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.kinds import KINDS

# Tables that hold no activity: a trace with rows in these alone has captured nothing.
_STATIC = ("context", "device", "marker_data")
# Beside a program that did nothing there are samples all the same.
_ONLY_SAMPLED = "EXISTS (FROM capture WHERE source = 'sample')"
# Which source a row is from; later captures have larger numbers.
_SOURCE = "_source"
# What each collector counted for itself, where one process was seen by several.
_ADDED = {"process": ("stored",)}


def found_tables(sources: Sequence[Source]) -> list[str]:
    """Every table of the schema, and any other that a source holds."""
    others = {name for source in sources for name in source.tables()}
    return [*TABLES, *sorted(others - set(TABLES))]


def table_view(sources: Sequence[Source], table: str) -> str:
    """A SELECT over the rows of a table in all sources; "" if none of them has it.

    The columns of the schema come first and are there even where a source lacks them, as NULL;
    columns that the schema does not know follow.  Of a table with a key, a row that several
    sources have is taken from the last.
    """
    key = TABLES[table].key if table in TABLES else ()
    if not key or len(sources) == 1:
        return _with_all_columns(table, _rows(sources, table))
    numbered = [
        f"SELECT {number} AS {_SOURCE}, * FROM ({rows})"
        for number, source in enumerate(sources)
        if (rows := _rows((source,), table))
    ]
    united = _with_all_columns(table, "\nUNION ALL BY NAME\n".join(numbered))
    return _one_row_a_key(table, key, united) if numbered else ""


def _rows(sources: Sequence[Source], table: str) -> str:
    """A SELECT over the rows as the sources have them; "" if there are none."""
    selects = []
    patterns = globs([each.path for each in sources if isinstance(each, Folder)], table)
    if patterns:
        files = ", ".join(map(quoted, patterns))
        selects.append(f"SELECT * FROM read_parquet([{files}], union_by_name = true)")
    selects += [
        f'SELECT * FROM {each.database}.main."{table}"'
        for each in sources
        if isinstance(each, File) and table in each.names
    ]
    return "\nUNION ALL BY NAME\n".join(selects)


def _with_all_columns(table: str, rows: str) -> str:
    if not rows or table not in TABLES:
        return rows
    return f"SELECT * FROM ({empty_table(table)})\nUNION ALL BY NAME\n{rows}"


def _one_row_a_key(table: str, key: Sequence[str], rows: str) -> str:
    columns = ", ".join(key)
    sums = ", ".join(
        f"sum({name}) OVER (PARTITION BY {columns})::BIGINT AS {name}"
        for name in _ADDED.get(table, ())
    )
    return (
        f"SELECT * EXCLUDE ({_SOURCE}) {f'REPLACE ({sums}) ' if sums else ''}FROM (\n{rows}\n)"
        f"\nQUALIFY row_number() OVER (PARTITION BY {columns} ORDER BY {_SOURCE} DESC) = 1"
    )


def empty_table(table: str) -> str:
    """A SELECT that gives the columns of a table and no row."""
    columns = ", ".join(
        f"NULL::{column.type.sql} AS {column.name}" for column in TABLES[table].columns
    )
    return f"SELECT {columns} WHERE false"


def table_extent() -> str:
    """A SELECT with one row a table of CUPTI's: how many rows, from when to when."""
    extents = [_extent(kind.table, str(kind.table not in _STATIC).lower()) for kind in KINDS]
    return "\nUNION ALL\n".join((*extents, _extent("pm_sample", _ONLY_SAMPLED)))


def _extent(table: str, is_activity: str) -> str:
    names = [column.name for column in TABLES[table].columns]
    first, last = _time(names, "start_ns"), _time(names, "end_ns")
    return (
        f"SELECT {quoted(table)} AS table_name, {is_activity} AS is_activity,"
        f" count(*) AS rows, min({first}) AS start_ns,"
        f" greatest(max({first}), max({last})) AS end_ns FROM {table}"
    )


def _time(names: Sequence[str], wanted: str) -> str:
    for name in (wanted, "timestamp_ns"):
        if name in names:
            return name
    return "NULL::BIGINT"
