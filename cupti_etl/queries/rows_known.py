"""Which tables and queries have rows, looked up once for the parts as they are."""

from __future__ import annotations

from collections.abc import Callable

from cupti_etl.queries.catalog import Catalog
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.sources import identifier
from cupti_etl.storage.state import State


class RowsKnown:
    """What was found, of one state of the parts; safe to use from several threads.

    Args:
        catalog: the queries.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._found: tuple[State, dict[str, bool]] = ((), {})

    def has_row(self, name: str, now: State, run: Callable[[str], object]) -> bool:
        """Whether something has a row.

        Args:
            name: of it; what is neither a table of the schema nor a query can change at any time.
            now: the parts.
            run: runs a statement; whether what it gives is true says if there was a row.
        """
        of, found = self._found
        if name not in TABLES and name not in self._catalog:
            found = {}
        elif of is not now and of != now:
            found = {}
            self._found = now, found
        if name not in found:
            found[name] = bool(run(f"SELECT 1 FROM {identifier(name)} LIMIT 1"))
        return found[name]
