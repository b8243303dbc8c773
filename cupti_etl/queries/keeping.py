"""Where the rows that were computed for a trace stay: in its folder ``derived``, or in memory.

In the folder they are found again by a key, which says of which parts and by which code they are.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.derived import DERIVED, KEY_LETTERS
from cupti_etl.schema.arrow import SCHEMA_VERSION
from cupti_etl.storage import manifest
from cupti_etl.storage.bucket import Url
from cupti_etl.storage.sources import Folder, Source
from cupti_etl.storage.state import State, state_bytes

if TYPE_CHECKING:
    import duckdb

# What queries of a smaller trace share is computed nearly as fast as it is read.
KEPT_BYTES = 512 << 10


class Keeping:
    """Whether rows stay in the folder of one trace, and under which name.

    Args:
        catalog: the queries.
        need: makes tables and queries that are not there yet.
        is_part: whether not all rows of the trace are asked.
    """

    def __init__(
        self,
        catalog: Catalog,
        need: Callable[[duckdb.DuckDBPyConnection, Sequence[str]], None],
        *,
        is_part: bool,
    ) -> None:
        self._catalog = catalog
        self._need = need
        self._is_part = is_part
        self._sources: tuple[Source, ...] = ()
        # What the manifest says of the parts, and why rows are not kept, of parts as they were.
        self._found: tuple[State, str, str] | None = None

    def open(self, sources: tuple[Source, ...]) -> None:
        """Say where the rows are."""
        self._sources = sources

    def refusal(self, con: duckdb.DuckDBPyConnection, now: State) -> str:
        """Why rows of the parts as they are do not stay in the trace's folder; "" if they do."""
        return self._look(con, now)[1]

    def folder(
        self, con: duckdb.DuckDBPyConnection, now: State, name: str, depends_on: Iterable[str]
    ) -> Path | None:
        """Where rows stay; None if only in memory.

        Args:
            con: a connection that sees the tables.
            now: the parts as they are.
            name: of what computes the rows.
            depends_on: the tables and queries that these are made of.
        """
        parts, reason = self._look(con, now)
        if reason:
            return None
        words = "\0".join([parts, code(), *sorted(self._texts(depends_on))])
        key = hashlib.sha256(words.encode()).hexdigest()[:KEY_LETTERS]
        return self._sources[0].path / DERIVED / f"{name}-{key}"

    def bytes(self) -> int:
        """What the folder holds by now."""
        return sum(file.stat().st_size for file in (self._sources[0].path / DERIVED).glob("*/*"))

    def _look(self, con: duckdb.DuckDBPyConnection, now: State) -> tuple[str, str]:
        if self._found is None or self._found[0] != now:
            self._found = (now, *self._look_anew(con, now))
        return self._found[1:]

    def _look_anew(self, con: duckdb.DuckDBPyConnection, now: State) -> tuple[str, str]:
        if self._is_part:
            return "", "only a part of the trace is asked"
        if len(self._sources) != 1 or not isinstance(self._sources[0], Folder):
            return "", "it is not one folder"
        home = self._sources[0].path
        if isinstance(home, Url):
            return "", "it is in a bucket"
        if (home / DERIVED).is_symlink():
            return "", f"{home / DERIVED} is a link"
        parts = _said_of(home, now)
        if parts is None:
            return "", "its parts are not those of its manifest"
        if state_bytes(now) < KEPT_BYTES:
            return "", f"it is smaller than {KEPT_BYTES >> 10} KiB"
        self._need(con, ("capture",))
        ended = con.execute("SELECT count(*) > 0 AND count(*) = count(end_ns) FROM capture")
        if not ended.fetchall()[0][0]:
            return "", "its capture has not ended"
        return parts, ""

    def _texts(self, names: Iterable[str]) -> Iterator[str]:
        """The SQL of these, and of all that they are made of."""
        seen: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name not in seen and name in self._catalog:
                query = self._catalog[name]
                yield f"{name}\0{query.sql}"
                left += query.needs
            seen.add(name)


def _said_of(home: Path, parts: State) -> str | None:
    """What the manifest says of the parts; None if they are others."""
    named = manifest.read(home)
    if named is None:
        return None
    said = {(table, name): entry for table, files in named.items() for name, entry in files.items()}
    there = {(Path(path).parent.name, Path(path).name): size for path, size, _ in parts}
    if there != {part: entry.bytes for part, entry in said.items()}:
        return None
    return repr([(*part, entry.bytes, entry.crc32) for part, entry in sorted(said.items())])


@functools.cache
def code() -> str:
    """A digest of what computes rows, besides the queries' SQL."""
    package = Path(__file__).parents[1]
    files = [
        *package.glob("queries/operators/*.py"),
        *package.glob("pm/attribution/*.py"),
        *package.glob("sass/*.py"),
        *package.glob("native/libcupti_etl.so"),
    ]
    digest = hashlib.sha256(str(SCHEMA_VERSION).encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()
