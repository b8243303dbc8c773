"""Tables of few rows, which are read once and then stand in memory.

A view over Parquet is bound anew, and its parts are opened, for each time that a statement names
it, which a query does dozens of times by the views that it is made of.  Of a small table that costs
more than all of its rows do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import TABLE_ROWS, Catalog
from cupti_etl.queries.tables import empty_table
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.sources import File, Folder, Source, identifier
from cupti_etl.storage.state import State, state_bytes, state_of

if TYPE_CHECKING:
    import duckdb

# Of all parts of a table, compressed: of as many bytes all columns are read in some milliseconds.
MOST_BYTES = 256 << 10
# Of many folders, where each part that is opened costs as much as some thousand rows of it, this
# for each, up to some million rows.
_FOLDER_BYTES, _FOLDERS_BYTES = 128 << 10, 16 << 20
# What a row takes in a part, about: of the demo's trace five bytes to twenty.
_ROW_BYTES = 16
_MANY = 1 << 60


def size(
    catalog: Catalog, name: str, table_bytes: Callable[[str], int], seen: set[str] | None = None
) -> int:
    """How large the parts are that a query, or a table, is of; more than is few if unknown.

    Args:
        catalog: the queries.
        name: of the query, or table.
        table_bytes: how large the parts of a table are.
        seen: what does not count: what has no row reads nothing, and tables that it alone needs
            were not looked at.
    """
    seen = set() if seen is None else seen
    if name in seen:
        return 0
    seen.add(name)
    if name in TABLES:
        return table_bytes(name)
    if name == TABLE_ROWS:  # the ends of parts say so
        return 0
    if name in catalog:
        return sum(size(catalog, each, table_bytes, seen) for each in catalog[name].needs)
    return _MANY


class SmallTables:
    """Which tables of some sources are in memory, and of which parts.

    Attributes:
        without_rows: those of which the parts hold nothing.
    """

    def __init__(self) -> None:
        self._folders: tuple[Folder, ...] = ()
        self._files: tuple[File, ...] = ()
        # By table, of those in files, what parts of as many rows would take.
        self._in_files: dict[str, int] = {}
        self._states: dict[str, State] = {}
        self._read: dict[str, tuple[State | None, bool]] = {}
        self.without_rows: set[str] = set()

    def open(self, sources: Sequence[Source]) -> None:
        """Say where the rows are; of what is in files alone none is copied."""
        self._folders = tuple(each for each in sources if isinstance(each, Folder))
        self._files = tuple(each for each in sources if isinstance(each, File))
        self._in_files = {}

    @property
    def most_bytes(self) -> int:
        """How large all parts may be, compressed, of a table or of all that a query reads."""
        others = len(self._folders) + len(self._files) - 1
        return max(MOST_BYTES, min(others * _FOLDER_BYTES, _FOLDERS_BYTES))

    def parts(self, table: str) -> State:
        """The parts of a table in folders as they are now."""
        return state_of(part for each in self._folders for part in each.parts(table))

    def read(
        self,
        con: duckdb.DuckDBPyConnection,
        table: str,
        parts: State,
        select: str,
        *,
        is_empty: bool,
    ) -> str:
        """A SELECT of the same rows as another: of a copy in memory, where they are few.

        Args:
            con: where the copy is made.
            table: whose rows they are.
            parts: those that are read, or older ones if they have changed since.
            select: reads them; "" where there are none.
            is_empty: whether they are known to have no row.
        """
        import duckdb

        self._read[table] = None, False
        if not select:
            return empty_table(table)
        if self._files and not self._in_files:
            self._look_in_files(con)
        in_files = self._in_files.get(table, 0)
        if not parts:
            if self._files:  # which stay as they are; a folder may get parts
                self._read[table] = (parts, False) if self._folders else (None, in_files == 0)
            return select
        if state_bytes(parts) + in_files > self.most_bytes and not is_empty:
            return select
        if is_empty:
            select, made = empty_table(table), [(0,)]
        else:
            copy = identifier(f"_small_{table}")
            try:
                made = con.execute(f"CREATE OR REPLACE TABLE {copy} AS\n{select}").fetchall()
            except duckdb.Error:
                # Who asks for a column that is damaged is told so; nobody else has to know.
                return select
            select = f"FROM {copy}"
        self._read[table] = parts, made == [(0,)]
        return select

    def _look_in_files(self, con: duckdb.DuckDBPyConnection) -> None:
        """Look how large the tables are, which they stay for as long as the files are attached."""
        found = con.execute(
            "SELECT table_name, sum(estimated_size) FROM duckdb_tables()"
            " WHERE list_contains(?, database_name) AND schema_name = 'main' GROUP BY table_name",
            [[file.database for file in self._files]],
        ).fetchall()
        self._in_files = {table: int(rows) * _ROW_BYTES for table, rows in found}

    def note(self, table: str) -> None:
        """Say that what was read last is what is asked now; until then the former parts are."""
        parts, is_empty = self._read.pop(table)
        if is_empty:
            self.without_rows.add(table)
        else:
            self.without_rows.discard(table)
        if parts is None:
            self._states.pop(table, None)
        else:
            self._states[table] = parts

    def bytes(self, table: str) -> int:
        """How large the parts of a table in memory are; more than is few of one that is not."""
        parts = self._states.get(table)
        if parts is None:
            return _MANY if self._folders else self._in_files.get(table, _MANY)
        return state_bytes(parts) + self._in_files.get(table, 0)

    def stale(self, there: Mapping[str, State]) -> list[str]:
        """The tables in memory whose parts are no longer those that were read.

        Args:
            there: the parts of each table as they are now.
        """
        states = list(self._states.items())
        return [table for table, then in states if there.get(table, ()) != then]
