"""The folder ``derived`` of a trace: tables that were computed once, as Parquet.

Each folder in it has the tables that belong together.  Its name ends with a key, which says of
what they are; one of another key is out of date.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.storage.sources import quoted

if TYPE_CHECKING:
    import duckdb

DERIVED = "derived"
KEY_LETTERS = 16
# Where there is less room, nothing is begun: it would cost its time at each question.
_LEAST_FREE_BYTES = 64 << 20
_ABANDONED_S = 3600
# Of long names, so many rows are what a thread holds in memory.
_GROUP_ROWS = 30 * 1024
# Version 2 packs numbers by their differences, which leaves little to compress.
_FORMAT = f"FORMAT parquet, PARQUET_VERSION v2, COMPRESSION snappy, ROW_GROUP_SIZE {_GROUP_ROWS}"


@dataclass(frozen=True)
class Indexed:
    """What ``Trace.index`` did.

    Attributes:
        queries: how many are computed now.
        bytes: of the folder ``derived``.
        refused: why nothing was computed; "" if it was.
    """

    queries: int
    bytes: int
    refused: str


def drop(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Drop the table or view of that name, if there is one."""
    import duckdb

    # The catalogue would say which it is, and takes milliseconds for that.
    try:
        con.execute(f"DROP TABLE IF EXISTS {name}")
    except duckdb.CatalogException:
        con.execute(f"DROP VIEW IF EXISTS {name}")


def no_room(home: Path) -> str:
    """Why nothing can be written to a trace's folder; "" if it can."""
    if not os.access(home, os.W_OK):
        return "its folder cannot be written"
    if shutil.disk_usage(home).free < _LEAST_FREE_BYTES:
        return "there is no room on its disk"
    return ""


def take(con: duckdb.DuckDBPyConnection, folder: Path, tables: Sequence[str]) -> bool:
    """Make views over the tables of a folder; whether they are there and whole."""
    import duckdb

    try:
        # A folder that was sent can hold links and pipes: only what we write is read.
        if folder.is_symlink() or not all(
            stat.S_ISREG(_file(folder, table).lstat().st_mode) for table in tables
        ):
            return False
        for table in tables:
            _view(con, folder, table)
    except (OSError, duckdb.PermissionException):  # made since the trace was opened
        return False
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        raise
    except duckdb.Error:  # damaged
        for table in tables:
            drop(con, table)
        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True


class Writing:
    """A folder that is being written, under another name.

    Args:
        con: where the tables are made.
        execute: runs a statement, and makes what it lacks.
        folder: the folder while it is written.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        execute: Callable[[duckdb.DuckDBPyConnection, str], None],
        folder: Path,
    ) -> None:
        self._con = con
        self._execute = execute
        self._folder = folder
        self.tables: set[str] = set()

    def put(self, table: str, select: str) -> None:
        """Write a table, and make a view over it.

        Raises:
            duckdb.Error: it cannot be computed, or not be written.
        """
        file = quoted(_file(self._folder, table))
        self._execute(self._con, f"COPY (\n{select}\n) TO {file} ({_FORMAT})")
        _view(self._con, self._folder, table)
        self.tables.add(table)


@contextlib.contextmanager
def writing(
    con: duckdb.DuckDBPyConnection,
    execute: Callable[[duckdb.DuckDBPyConnection, str], None],
    folder: Path,
) -> Iterator[Writing]:
    """Write a folder, which appears when it is complete, and takes the place of older ones.

    Raises:
        OSError: it cannot be written, or somebody else was faster.
    """
    home = folder.parent
    home.mkdir(exist_ok=True)
    _tidy(home)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=home) as made:
        scratch = Path(made) / folder.name
        scratch.mkdir()
        yield Writing(con, execute, scratch)
        scratch.rename(folder)
    key = "[0-9a-f]" * KEY_LETTERS
    for other in home.glob(f"{folder.name[:-KEY_LETTERS]}{key}"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def _file(folder: Path, table: str) -> Path:
    return folder / f"{table.removeprefix('_derived_')}.parquet"


def _view(con: duckdb.DuckDBPyConnection, folder: Path, table: str) -> None:
    drop(con, table)
    con.execute(f"CREATE VIEW {table} AS FROM read_parquet({quoted(_file(folder, table))})")


def _tidy(home: Path) -> None:
    """Remove what somebody left who was killed."""
    for path in home.glob(".making-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(path)
