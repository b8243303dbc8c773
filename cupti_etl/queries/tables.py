"""The tables of a trace as SQL views over its Parquet parts and attached files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from cupti_etl.errors import TraceError
from cupti_etl.queries.catalog import library
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.kinds import KINDS
from cupti_etl.storage import renames
from cupti_etl.storage.bucket import Url
from cupti_etl.storage.sources import File, Folder, Source, as_glob, globs, identifier, quoted

if TYPE_CHECKING:
    import duckdb

# Beside a program that did nothing there are samples all the same.
_ONLY_SAMPLED = "EXISTS (FROM capture WHERE source = 'sample')"
_EXTENT = ("table_name", "is_activity", "is_recorded", "has_key", "rows", "start_ns", "end_ns")
_RECORDED = {"pm_sample", *(kind.table for kind in KINDS)}
# Of more, to read their ends takes longer than it spares.
_FEW_PARTS = 256
# Which source a row is from; later captures have larger numbers.
_SOURCE = "_source"
# Which part it is from, and so which folder: PATH/TABLE/PART.
_WITH_FILE = "filename = true"
_PATH_OF_FILE = r", regexp_replace(filename, '[/\\][^/\\]+[/\\][^/\\]+$', '') AS path"
# What each collector counted for itself, where one process was seen by several.
_ADDED = {"process": ("stored",)}


def found_tables(sources: Sequence[Source]) -> list[str]:
    """Every table of the schema, and others that a source holds; queries keep their names."""
    others = {name for source in sources for name in source.tables()}
    return [*TABLES, *sorted(name for name in others - set(TABLES) if name not in library())]


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


def of_paths(sources: Sequence[Source], table: str) -> str:
    """A SELECT over the rows of a table with the ``path`` of each; "" if no source has it.

    All folders are read at once, however many there are.
    """
    return _with_all_columns(table, _rows(sources, table, with_path=True))


def owners(sources: Sequence[Source]) -> Iterator[str]:
    """SELECTs of the processes that paths know, by their rows of process and device."""
    for table in ("process", "device"):
        if rows := of_paths(sources, table):
            yield f"SELECT DISTINCT path, process_id FROM ({rows}) WHERE process_id IS NOT NULL"


def _rows(sources: Sequence[Source], table: str, *, with_path: bool = False) -> str:
    """A SELECT over the rows as the sources have them; "" if there are none."""
    folders = [each for each in sources if isinstance(each, Folder)]
    options, path = ((_WITH_FILE,), _PATH_OF_FILE) if with_path else ((), "")
    selects = [
        _renamed(_parts(patterns, *options), names, path)
        for names, patterns in renames.files(folders, table)
    ]
    selects += [
        _renamed(
            f"{each.database}.main.{identifier(table)}",
            each.renamed.get(table, {}),
            f", {quoted(each.path)} AS path" if with_path else "",
        )
        for each in sources
        if isinstance(each, File) and table in each.names
    ]
    return "\nUNION ALL BY NAME\n".join(selects)


def _parts(patterns: Sequence[str], *more: str) -> str:
    # Words with "=" in the path of a trace are no columns.
    options = ", ".join(("union_by_name = true", "hive_partitioning = false", *more))
    return f"read_parquet([{', '.join(map(quoted, patterns))}], {options})"


def _renamed(rows: str, names: Mapping[str, str], more: str = "") -> str:
    """The rows under the present names of their columns, so that filters reach what holds them."""
    pairs = ", ".join(f"{identifier(was)} AS {identifier(now)}" for was, now in names.items())
    return f"SELECT *{f' RENAME ({pairs})' if pairs else ''}{more} FROM {rows}"


def _with_all_columns(table: str, rows: str) -> str:
    if not rows or table not in TABLES:
        return rows
    return f"SELECT * FROM ({empty_table(table)})\nUNION ALL BY NAME\n{rows}"


def _one_row_a_key(table: str, key: Sequence[str], rows: str) -> str:
    columns = ", ".join(map(identifier, key))
    sums = ", ".join(
        f"TRY_CAST(sum({identifier(name)}) OVER (PARTITION BY {columns}) AS BIGINT)"
        f" AS {identifier(name)}"
        for name in _ADDED.get(table, ())
    )
    return (
        f"SELECT * EXCLUDE ({_SOURCE}) {f'REPLACE ({sums}) ' if sums else ''}FROM (\n{rows}\n)"
        f"\nQUALIFY row_number() OVER (PARTITION BY {columns} ORDER BY {_SOURCE} DESC) = 1"
    )


def create_table_view(table: str, rows: str, condition: str = "") -> str:
    """The statement that makes the view of a table: a SELECT, and what has to hold of its rows."""
    chosen = f"SELECT * FROM (\n{rows}\n) WHERE {condition}" if condition else rows
    return f"CREATE OR REPLACE VIEW {identifier(table)} AS\n{chosen}"


def describe_table(table: str) -> str:
    """The statement that puts the description of a table beside its view."""
    doc = TABLES[table].doc if table in TABLES else "Not known to this version of cupti-etl."
    return f"COMMENT ON VIEW {identifier(table)} IS {quoted(doc)}"


def empty_table(table: str) -> str:
    """A SELECT that gives the columns of a table and no row."""
    columns = ", ".join(
        f"NULL::{column.type.sql} AS {identifier(column.name)}" for column in TABLES[table].columns
    )
    return f"SELECT {columns} WHERE false"


def table_extent(without_rows: Collection[str] = ()) -> str:
    """A SELECT with one row a table: how many rows, from when to when, and of what.

    ``is_recorded`` says whether they are of a program or a GPU, and not ours about them;
    ``is_activity``, whether a trace with these alone has captured something; ``has_key``,
    whether what several traces hold is shown once.

    Args:
        without_rows: tables that are known to have no row, which are not read.
    """
    activities = {kind.table: str(not kind.is_static).lower() for kind in KINDS}
    activities["pm_sample"] = _ONLY_SAMPLED
    for table in sorted(TABLES.keys() - _RECORDED):
        activities.setdefault(table, "false")
    extents = [
        _extent(table, is_activity)
        for table, is_activity in activities.items()
        if table not in without_rows
    ]
    # Each SELECT takes DuckDB a millisecond to bind.
    if empty := [
        f"({quoted(table)}, {is_activity}, {_is_recorded(table)}, {_has_key(table)}, 0,"
        " NULL::BIGINT, NULL::BIGINT)"
        for table, is_activity in activities.items()
        if table in without_rows
    ]:
        extents.append(f"FROM (VALUES {', '.join(empty)}) AS known({', '.join(_EXTENT)})")
    return "\nUNION ALL\n".join(extents)


def _extent(table: str, is_activity: str) -> str:
    names = [column.name for column in TABLES[table].columns]
    first, last = _time(names, "start_ns"), _time(names, "end_ns")
    return (
        f"SELECT {quoted(table)} AS table_name, {is_activity} AS is_activity,"
        f" {_is_recorded(table)} AS is_recorded, {_has_key(table)} AS has_key,"
        f" count(*) AS rows, min({first}) AS start_ns,"
        f" greatest(max({first}), max({last})) AS end_ns FROM {identifier(table)}"
    )


def _is_recorded(table: str) -> str:
    return str(table in _RECORDED).lower()


def _has_key(table: str) -> str:
    return str(bool(TABLES[table].key)).lower()


def table_rows(folders: Sequence[Folder], tables: Collection[str]) -> str:
    """A SELECT of ``_table_rows`` that reads the ends of the tables' parts and makes no view."""
    patterns = [each for table in tables for each in globs(folders, table)]
    known = ", ".join(
        f"({quoted(name)}, {_is_recorded(name)}, {_has_key(name)})" for name in TABLES
    )
    return (
        "SELECT table_name, is_recorded, has_key, coalesce(counted.rows, 0) AS rows"
        f" FROM (VALUES {known}) AS known(table_name, is_recorded, has_key) LEFT JOIN ("
        "SELECT parse_path(file_name)[-2] AS table_name, TRY_CAST(sum(num_rows) AS BIGINT) AS rows"
        f" FROM parquet_file_metadata([{', '.join(map(quoted, patterns))}]) GROUP BY ALL"
        ") AS counted USING (table_name)"
    )


def row_group_begins(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], tables: Sequence[str], column: str
) -> list[int]:
    """Where row groups of some tables begin along a column, in order, as their parts say.

    Nothing of what is not in local folders, nor of many parts.

    Raises:
        duckdb.Error: a part cannot be read.
    """
    folders = [each for each in sources if isinstance(each, Folder)]
    parts = [part for each in folders for table in tables for part in each.parts(table)]
    if not parts or len(parts) > _FEW_PARTS or any(isinstance(part, Url) for part in parts):
        return []
    rows = con.execute(
        "SELECT DISTINCT TRY_CAST(stats_min_value AS BIGINT) AS begin"
        f" FROM parquet_metadata([{', '.join(quoted(as_glob(part)) for part in parts)}])"
        f" WHERE path_in_schema = {quoted(column)} AND begin IS NOT NULL ORDER BY begin"
    ).fetchall()
    return [begin for (begin,) in rows]


def _time(names: Sequence[str], wanted: str) -> str:
    for name in (wanted, "timestamp_ns"):
        if name in names:
            return name
    return "NULL::BIGINT"


def check_types(con: duckdb.DuckDBPyConnection, tables: Collection[str]) -> None:
    """See that what stands under a name of the schema is of its type.

    Raises:
        TraceError: it is not, so that no query could use it.
    """
    if not tables:
        return
    # duckdb_columns() has those of DuckDB itself, too, which it makes first.
    rows = con.execute("\nUNION ALL\n".join(map(_columns_of, tables))).fetchall()
    for table, column, found in rows:
        if (wanted := _types(table).get(column, found)) != found:
            con.execute(f"DROP VIEW {identifier(table)}")
            raise TraceError(
                f"{table}.{column} holds values of type {found}, not {wanted}",
                f"parts of {table} that cupti-etl did not write: move them away",
            )


def _columns_of(table: str) -> str:
    place = f"current_database() || {quoted(f'.main.{identifier(table)}')}"
    return f"SELECT {quoted(table)}, name, type FROM pragma_table_info({place})"


@cache
def _types(table: str) -> dict[str, str]:
    return {c.name: c.type.sql for c in TABLES[table].columns} if table in TABLES else {}
