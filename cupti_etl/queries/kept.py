"""What was made for a trace, kept in the user's cache for whoever asks it next.

To sweep over millions of rows takes seconds; to take its result out of a file takes a tenth of
one.  A file's name says from which parts of the trace it was made and by which code, so that
what is out of date is never taken.  Nothing depends on the files.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.queries import cache
from cupti_etl.schema.revisions import STORAGE_VERSION
from cupti_etl.storage.sources import PARTS, File, Source, quoted

if TYPE_CHECKING:
    import duckdb

# The name of a file, its size and its time: a part is replaced, never changed.
State = tuple[tuple[str, int, int], ...]

# What smaller traces need is made as fast as it is found.
WORTH_BYTES = 4 << 20
# Of all traces together; what was not used for longest goes first.
MOST_BYTES = 2 << 30


def state(sources: Iterable[Source]) -> State:
    """The files that the rows of a trace come from, as they are now."""
    found = []
    for source in sources:
        files = [source.path] if isinstance(source, File) else source.path.glob(f"*/{PARTS}")
        for file in files:
            try:
                about = file.stat()
            except FileNotFoundError:
                continue
            found.append((str(file), about.st_size, about.st_mtime_ns))
    return tuple(sorted(found))


class Kept:
    """The files of one trace in one state.

    Args:
        sources: of the trace, in its order.
        parts: its state.
    """

    def __init__(self, sources: Sequence[Source], parts: State) -> None:
        folder = cache.folder()
        paths = [str(source.path) for source in sources]
        is_worth_it = sum(size for _, size, _ in parts) >= WORTH_BYTES
        self._folder = folder / "traces" / cache.key(paths) if folder and is_worth_it else None
        self._parts = parts

    def load(self, con: duckdb.DuckDBPyConnection, unit: str, tables: Sequence[str]) -> bool:
        """Make views over the tables of a unit, if it was saved; whether that was done."""
        import duckdb

        path = self._path(unit)
        if path is None or not cache.is_there(path):
            return False
        try:
            con.execute(f"ATTACH OR REPLACE {quoted(path)} AS _saved_{unit} (READ_ONLY)")
            for table in tables:
                con.execute(f"CREATE VIEW {table} AS FROM _saved_{unit}.{table}")
        except duckdb.Error:  # damaged, or on a file system without locks
            return False
        with contextlib.suppress(OSError):  # nothing can be written there
            os.utime(path)
        return True

    def save(self, con: duckdb.DuckDBPyConnection, unit: str, tables: Sequence[str]) -> None:
        """Save the tables of a unit, instead of those of another state, if there is room."""
        import duckdb

        path = self._path(unit)
        if path is None:
            return
        try:
            with cache.whole(path) as partial:
                con.execute(
                    f"ATTACH {quoted(partial)} AS _keeping (STORAGE_VERSION '{STORAGE_VERSION}')"
                )
                try:
                    for table in tables:
                        con.execute(f"CREATE TABLE _keeping.{table} AS FROM {table}")
                finally:
                    con.execute("DETACH _keeping")
            for other in path.parent.glob(f"{unit}-*"):
                if other != path:
                    other.unlink(missing_ok=True)
            # Those too that somebody was making who was killed.
            cache.forget(path.parent.parent.rglob("*.duckdb"), MOST_BYTES)
        except (OSError, duckdb.Error):
            return

    @functools.cached_property
    def _key(self) -> str:
        import duckdb

        return cache.key((duckdb.__version__, *_code(), *self._parts))

    def _path(self, unit: str) -> Path | None:
        return self._folder and self._folder / f"{unit}-{self._key}.duckdb"


@functools.cache
def _code() -> State:
    """The state of this installation."""
    package = Path(__file__).parents[1]
    files = [path for kind in ("py", "sql", "so") for path in package.rglob(f"*.{kind}")]
    return tuple(
        (str(file), about.st_size, about.st_mtime_ns)
        for file in sorted(files)
        for about in (file.stat(),)
    )
