"""The tables of a trace as SQL views over its Parquet parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cupti_etl.errors import TraceError
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.kinds import KINDS

# Tables that hold no activity: a trace with rows in these alone has captured nothing.
_STATIC = ("context", "device", "marker_data")
# Names that a writer uses for what is not finished do not match.
PARTS = "part-*.parquet"


def quoted(text: str | Path) -> str:
    """A string literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def globs(folders: Sequence[Path], table: str) -> list[str]:
    """The glob of a table's parts in each folder that has any."""
    return [
        f"{as_glob(folder / table)}/{PARTS}"
        for folder in folders
        # Where a folder cannot be exchanged in one step it is aside for a moment.
        if next((folder / table).glob(PARTS), None) or (folder / f".{table}.aside").is_dir()
    ]


def found_tables(folders: Sequence[Path]) -> list[str]:
    """Every table of the schema, and any other sub-folder that holds parts."""
    others = {
        path.name
        for folder in folders
        for path in folder.iterdir()
        if path.is_dir() and path.name.isidentifier() and next(path.glob(PARTS), None)
    }
    return [*TABLES, *sorted(others - set(TABLES))]


def table_view(table: str, patterns: Sequence[str]) -> str:
    """A SELECT over the parts of a table.

    The columns of the schema come first and are there even where no part has them, as NULL;
    columns that the schema does not know follow.
    """
    parts = ""
    if patterns:
        files = ", ".join(quoted(pattern) for pattern in patterns)
        parts = f"SELECT * FROM read_parquet([{files}], union_by_name = true)"
    if table not in TABLES:
        return parts
    empty = empty_table(table)
    return f"SELECT * FROM ({empty})\nUNION ALL BY NAME\n{parts}" if parts else empty


def empty_table(table: str) -> str:
    """A SELECT that gives the columns of a table and no row."""
    columns = ", ".join(
        f"NULL::{column.type.sql} AS {column.name}" for column in TABLES[table].columns
    )
    return f"SELECT {columns} WHERE false"


def table_extent() -> str:
    """A SELECT with one row a table of CUPTI records: how many rows, from when to when."""
    return "\nUNION ALL\n".join(_extent(kind.table) for kind in KINDS)


def _extent(table: str) -> str:
    names = [column.name for column in TABLES[table].columns]
    first, last = _time(names, "start_ns"), _time(names, "end_ns")
    return (
        f"SELECT {quoted(table)} AS table_name, {str(table not in _STATIC).lower()} AS is_activity,"
        f" count(*) AS rows, min({first}) AS start_ns,"
        f" greatest(max({first}), max({last})) AS end_ns FROM {table}"
    )


def _time(names: Sequence[str], wanted: str) -> str:
    for name in (wanted, "timestamp_ns"):
        if name in names:
            return name
    return "NULL::BIGINT"


def as_glob(folder: Path) -> str:
    """The path as a glob that matches it and nothing else."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in str(folder))


def check_folder(path: Path, folder: Path) -> None:
    """See that a folder is a trace; ``path`` is how the user wrote it.

    Raises:
        TraceError: it is not; the message says what it is instead.
    """
    if not folder.exists():
        raise TraceError(f"there is no trace {path}", "give the folder that capture -o wrote")
    if not folder.is_dir():
        raise TraceError(f"{path} is a file, not a trace", "give the folder that capture -o wrote")
    if not any(globs((folder,), table) for table in TABLES):
        raise TraceError(
            f"{path} is not a trace: it holds no {PARTS} of any table",
            "give the folder that capture -o wrote",
        )
