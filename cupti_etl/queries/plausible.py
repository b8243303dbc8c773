"""Times and sizes that nothing can have: they are not known, so that no difference overflows.

A file may say anything.  What it says is looked up in its statistics, and only a column that is
found to hold such a number is read with a condition, which costs the skipping of row groups.
They tell as well which tables have no row, as most tables of most traces have none: these need not
be read, for which DuckDB takes milliseconds a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.queries.tables import table_view
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.types import i64, timestamp
from cupti_etl.storage.sources import File, Folder, Source, globs, identifier, quoted

if TYPE_CHECKING:
    import duckdb

# From 1933 to 2079.  The difference of any two is a 64-bit number, and as much again.
MOST = 3 << 60
LEAST = -1 << 60
_UNITS = ("ns", "bytes")


@cache
def _measured(table: str) -> Mapping[str, Collection[str]]:
    """The columns with which queries calculate, by each name that they have or had."""
    columns: dict[str, set[str]] = {}
    for column in TABLES[table].columns:
        if column.type in (i64, timestamp) and column.unit in _UNITS:
            for name in (column.name, *(before for before, _ in column.was)):
                columns.setdefault(name, set()).add(column.name)
    return columns


@dataclass(frozen=True)
class _Looked:
    """What the statistics of some tables say.

    Attributes:
        empty: the tables without a row.
        doubtful: by table, the columns of which they do not say that all is plausible.
    """

    empty: Collection[str]
    doubtful: Mapping[str, Collection[str]]


def _look(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], tables: Collection[str]
) -> _Looked:
    found: dict[str, set[str]] = {}
    folders = [source for source in sources if isinstance(source, Folder)]
    known = [table for table in tables if table in TABLES]
    empty: set[str] = set()
    if patterns := [each for table in known for each in globs(folders, table)]:
        names = sorted({name for table in known for name in _measured(table)})
        rows = con.execute(
            "SELECT DISTINCT file_name,"
            f" CASE WHEN list_contains([{', '.join(map(quoted, names))}], lower(path_in_schema))"
            f" AND NOT coalesce(TRY_CAST(stats_min_value AS BIGINT) >= {LEAST}"
            f" AND TRY_CAST(stats_max_value AS BIGINT) <= {MOST},"
            " stats_null_count = num_values, false) THEN lower(path_in_schema) END"
            f" FROM parquet_metadata([{', '.join(map(quoted, patterns))}])"
            " WHERE num_values > 0"  # of a part without rows there are no statistics
        ).fetchall()
        empty = {table for table in known if TABLES[table].more is None}
        for part, column in rows:
            table = Path(part).parent.name
            empty.discard(table)
            if column and table in TABLES:
                found.setdefault(table, set()).update(_measured(table).get(column, ()))
    for source in sources:
        if isinstance(source, File):
            empty -= source.names
            for table in source.names & {table for table in known if _measured(table)}:
                for column in _beyond(con, source, table):
                    found.setdefault(table, set()).update(_measured(table)[column])
    return _Looked(empty, found)


def _beyond(con: duckdb.DuckDBPyConnection, file: File, table: str) -> list[str]:
    """Columns of a table that are not plausible; DuckDB knows their extremes without reading."""
    where = f"{file.database}.main.{identifier(table)}"
    there = {name for (name,) in con.execute(
        "SELECT lower(column_name) FROM duckdb_columns() WHERE database_name = ?"
        " AND schema_name = 'main' AND table_name = ? AND data_type = 'BIGINT'",
        [file.database, table],
    ).fetchall()}  # fmt: skip
    names = [name for name in _measured(table) if name in there]
    if not names:
        return []
    tests = ", ".join(
        f"coalesce(min({identifier(name)}) < {LEAST} OR max({identifier(name)}) > {MOST}, false)"
        for name in names
    )
    (row,) = con.execute(f"SELECT {tests} FROM {where}").fetchall()
    return [name for name, is_beyond in zip(names, row, strict=True) if is_beyond]


def plausible_tables(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], tables: Collection[str]
) -> Iterator[tuple[str, str, bool]]:
    """Tables with a SELECT of each, NULL for what is not plausible; "" where no source has it.

    The third says whether all parts of a table are known to have no row.

    Raises:
        duckdb.Error: a part cannot be read.
    """
    selects = {table: table_view(sources, table) for table in tables}
    looked = _look(con, sources, [table for table in tables if selects[table]])
    for table, rows in selects.items():
        changed = ", ".join(
            f"CASE WHEN {identifier(name)} BETWEEN {LEAST} AND {MOST} THEN {identifier(name)} END"
            f" AS {identifier(name)}"
            for name in sorted(looked.doubtful.get(table, ()))
        )
        select = f"SELECT * REPLACE ({changed}) FROM (\n{rows}\n)" if changed else rows
        yield table, select, table in looked.empty
