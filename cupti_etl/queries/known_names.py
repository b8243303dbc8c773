"""Names that a statement may use of a trace, whether they were made or not."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import TABLE_EXTENT, Catalog
from cupti_etl.queries.tables import found_tables, table_extent
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.sources import Source

if TYPE_CHECKING:
    import duckdb

_MISSING = re.compile(r"Table(?: Function)? with name \"?(\w+)\"? does not exist")


class KnownNames:
    """Those of the schema, of the queries, and of what else some sources have."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._sources: tuple[Source, ...] = ()

    def open(self, sources: Sequence[Source]) -> None:
        """Say where the rows are."""
        self._sources = tuple(sources)

    def all(self) -> list[str]:
        """What can be asked."""
        return sorted({*found_tables(self._sources), *(query.name for query in self._catalog)})

    def missing(self, error: duckdb.CatalogException) -> str:
        """The name that a statement lacks; "" if it is none of ours."""
        found = _MISSING.search(str(error))
        name = found[1].lower() if found else ""
        return name if self._is_one(name) else ""

    def _is_one(self, name: str) -> bool:
        if name == TABLE_EXTENT or name in TABLES or name in self._catalog:
            return True
        return bool(self._catalog.former(name)) or name in found_tables(self._sources)

    def statement(self, name: str, without_rows: Collection[str]) -> str:
        """The statement that makes what is neither a table of the schema nor a query, or ""."""
        if name == TABLE_EXTENT:
            return f"CREATE OR REPLACE VIEW {name} AS\n{table_extent(without_rows)}"
        former = self._catalog.former(name)
        return f"CREATE OR REPLACE VIEW {name} AS FROM {former}" if former else ""
