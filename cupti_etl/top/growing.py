"""A trace of which some parts are read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from cupti_etl.api import Trace
from cupti_etl.queries.catalog import Catalog, library
from cupti_etl.queries.operators import OPERATORS
from cupti_etl.queries.views import Views
from cupti_etl.storage import manifest
from cupti_etl.storage.sources import PARTS, Folder

# Tables that grow with the work; each part of them is read once.
EVENTS = (
    "kernel",
    "memcpy",
    "memcpy_p2p",
    "memset",
    "graph_trace",
    "api_call",
    "memory",
    "pm_sample",
    "marker",
    # Says until when all of that is known.
    "clock",
)
# Of each table, so many bytes of parts are searched for steps: a few hundred thousand rows.
_SEARCHED_BYTES = 1 << 20
# But for one part, if that is not much larger.
_MOST_BYTES = 8 << 20

# The manifest names parts some milliseconds before they have their names.
_ATTEMPTS = 20
_PAUSE_S = 0.01

# What a part is known by: compaction makes others under the same names.
Part = tuple[str, str, int, int, int]


class Growing(Trace):
    """A trace that answers about some of its parts.

    Args:
        path: of the trace.
    """

    def __init__(self, path: Path) -> None:
        super().__init__((path,), confined=True)
        self._connection.views = Views(_without_categories(), lambda: OPERATORS, is_part=True)
        self._connection.views.open(self._sources)

    def show(self, parts: Sequence[Part] | None) -> None:
        """Answer about these parts of ``EVENTS`` from now on, and about all of other tables.

        Args:
            parts: which; None for all.

        Raises:
            TraceError: one is damaged, or has vanished.
        """
        if not isinstance(self._sources[0], Folder):
            return
        only: dict[str, list[str]] = {} if parts is None else {table: [] for table in EVENTS}
        for table, name, *_ in parts or ():
            only[table].append(name)
        self._sources = (Folder(self.path, only),)
        connection = self._connection
        connection.attempt(lambda: connection.views.reopen(connection.con, self._sources))


@cache
def _without_categories() -> Catalog:
    """The library, with no categories of kernels: for them all names would be looked at anew."""
    rule = library()["kernel_rule"]
    columns = ", ".join(f"NULL::{each.type} AS {each.name}" for each in rule.columns)
    none = replace(rule, sql=f"SELECT {columns} WHERE false", needs=(), materialized="")
    return Catalog(none if query is rule else query for query in library())


def parts_of(path: Path) -> Mapping[Part, None]:
    """The parts of ``EVENTS`` that a folder has, in the order of their names.

    Those that a capture names together are there together, or all of a rate's time would be known,
    and of its work a part.
    """
    if not path.is_dir():
        return {}
    for _ in range(_ATTEMPTS):
        found = dict.fromkeys(_found(path))
        there = {(table, name) for table, name, *_ in found}
        named = manifest.read(path) or {}
        if all((table, name) in there for table in EVENTS for name in named.get(table, ())):
            break
        time.sleep(_PAUSE_S)
    return found


def latest(parts: Sequence[Part]) -> list[Part]:
    """The last parts of each table, as many as can be searched at little cost."""
    found: list[Part] = []
    taken: dict[str, int] = {}
    for part in reversed(parts):
        table, _, _, size, _ = part
        before = taken.get(table, 0)
        if before + size <= _SEARCHED_BYTES or (before == 0 and size <= _MOST_BYTES):
            found.append(part)
        taken[table] = before + size
    return found[::-1]


def _found(path: Path) -> Iterator[Part]:
    for table in EVENTS:
        for part in sorted((path / table).glob(PARTS)):
            try:
                about = part.stat()
            except FileNotFoundError:  # exchanged meanwhile
                continue
            yield table, part.name, about.st_ino, about.st_size, about.st_mtime_ns
