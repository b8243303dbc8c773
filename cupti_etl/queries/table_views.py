"""The tables of a trace as views, over its parts or, where they are small, over rows in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from cupti_etl.queries.plausible import plausible_tables
from cupti_etl.queries.scope import Choice
from cupti_etl.queries.small_tables import SmallTables
from cupti_etl.queries.tables import check_types, create_table_view
from cupti_etl.storage.sources import Folder, Source
from cupti_etl.storage.state import State

if TYPE_CHECKING:
    import duckdb


class TableViews:
    """Which tables of some sources have rows, as far as was looked; one thread makes them.

    Args:
        choice: of whom rows are asked; None for all.

    Attributes:
        without_parts: those of which nothing is there, and may be while a capture runs.
    """

    def __init__(self, choice: Choice | None) -> None:
        self._choice = choice
        self._sources: tuple[Source, ...] = ()
        self._folders: tuple[Folder, ...] = ()
        self._there: set[str] = set()
        self._small = SmallTables()
        self.without_parts: set[str] = set()

    def open(self, sources: tuple[Source, ...]) -> None:
        """Say where the rows are."""
        self._sources = sources
        self._folders = tuple(each for each in sources if isinstance(each, Folder))
        self._there = {table for each in sources for table in each.tables()}
        self._small.open(sources)

    @property
    def there(self) -> Collection[str]:
        """Those that some source has."""
        return self._there

    @property
    def without_rows(self) -> set[str]:
        """Those that have no row."""
        return self.without_parts | self._small.without_rows

    @property
    def most_bytes(self) -> int:
        """How large the parts of few rows are, at most."""
        return self._small.most_bytes

    def bytes(self, table: str) -> int:
        """How large the parts of a table in memory are; more than is few of one that is not."""
        return 0 if table in self.without_parts else self._small.bytes(table)

    def changed(self, parts: Mapping[str, State]) -> list[str]:
        """The tables whose parts are no longer those that were read.

        Args:
            parts: those of each table as they are now.
        """
        filled = [table for table in sorted(self.without_parts) if table in parts]
        return filled + self._small.stale(parts)

    def make(self, con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
        """Make tables; what has to be looked up in the parts of all is looked up at once.

        Raises:
            duckdb.Error: a part cannot be read.
            FileNotFoundError: the parts of one have vanished.
            TraceError: a part holds other types than the schema says.
        """
        found: dict[str, bool] = {}
        parts = {table: self._small.parts(table) for table in tables}
        for table, rows, is_empty in plausible_tables(con, self._sources, tables):
            if rows:
                found[table] = is_empty
            elif table in self._there:
                # A capture may be exchanging them: whoever asks looks once more.
                home = self._folders[0].path / table
                raise FileNotFoundError(f"there is no {home}/part-*.parquet")
            select = self._small.read(con, table, parts[table], rows, is_empty=is_empty)
            who = self._choice.who(table) if self._choice else ""
            select = self._choice.without_counts(table, select) if self._choice else select
            con.execute(create_table_view(table, select, who))
            self._small.note(table)
        check_types(con, [table for table, is_empty in found.items() if not is_empty])
        self._there.update(found)
        self.without_parts.update(set(tables) - found.keys())
        self.without_parts.difference_update(found)
