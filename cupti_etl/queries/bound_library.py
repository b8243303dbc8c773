"""The query library over empty tables, as a DuckDB file that is copied into those of traces.

To bind the library takes longer than all else that is done for a small trace, and it is the same
for every trace.  So it stays beside Python's compiled modules, as they do, until it is another;
where nothing can be written there, it is bound each time.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import LIBRARY, library
from cupti_etl.queries.runner import connect, empty_views, library_views
from cupti_etl.queries.tables import table_extent
from cupti_etl.schema.revisions import STORAGE_VERSION
from cupti_etl.storage.place import unfinished
from cupti_etl.storage.sources import quoted

if TYPE_CHECKING:
    import duckdb


@contextlib.contextmanager
def new_file(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of which a new file is the current database, for as long as it is written."""
    with connect() as con:
        con.execute(f"ATTACH {quoted(file)} AS made (STORAGE_VERSION '{STORAGE_VERSION}')")
        con.execute("USE made")
        yield con
        con.execute("USE memory")
        con.execute("DETACH made")  # which writes what its log still holds


def copy_library(con: duckdb.DuckDBPyConnection) -> None:
    """Make the library, and an empty view for each table, in a new file.

    Raises:
        duckdb.Error: a query of the library is wrong.
    """
    import duckdb

    kept = _kept_file()
    try:
        if not kept.is_file():
            _keep(kept)
        con.execute(f"ATTACH {quoted(kept)} AS library (READ_ONLY)")
    except (OSError, duckdb.Error):
        # What cannot be read would be in the way of one that can.
        with contextlib.suppress(OSError):
            kept.unlink()
        _bind(con)
    else:
        con.execute("COPY FROM DATABASE library TO made (SCHEMA)")


def _bind(con: duckdb.DuckDBPyConnection) -> None:
    con.begin()  # else the file is brought to the disk after each statement
    for statement in (*empty_views(), *library_views(library(), plain=True)):
        con.execute(statement)
    con.commit()


def _kept_file() -> Path:
    """Where it is kept: under a digest of all that it is made of, which takes no query apart."""
    import duckdb

    ours = (*LIBRARY.glob("*/*.sql"), *LIBRARY.parent.glob("*.py"))
    words = (duckdb.__version__, STORAGE_VERSION, table_extent(), *empty_views())
    digest = hashlib.sha256("\0".join(words).encode())
    for file in sorted(ours):
        digest.update(file.read_bytes())
    name = f"library-{digest.hexdigest()[:16]}.duckdb"
    return Path(cache_from_source(__file__)).with_name(name)


def _keep(kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(kept) as partial:
        with new_file(partial) as con:
            _bind(con)
        for former in kept.parent.glob("library-*.duckdb"):
            former.unlink()
        partial.replace(kept)
