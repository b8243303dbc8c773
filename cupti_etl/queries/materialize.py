"""Building blocks whose rows are computed once for a trace.

A query that says ``materialized`` is a view like any other for plain DuckDB.  In an opened trace
its rows are computed at their first use, by its operator if it has one and by its SELECT if not,
and stay as Parquet in the trace's folder ``derived``, where whoever asks next finds them; the
folder's name says of which parts and by which code, so that what is out of date is never taken,
and a copy of the trace keeps what is right.  Deleting the folder loses nothing.  Of a trace that
still grows, of several that were opened as one, of a small one and where nothing can be written
the rows are in memory instead.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.header import Query
from cupti_etl.schema.arrow import SCHEMA_VERSION
from cupti_etl.storage import manifest
from cupti_etl.storage.bucket import Url
from cupti_etl.storage.sources import Folder, Source, State, quoted, state

if TYPE_CHECKING:
    import duckdb

DERIVED = "derived"
# The rows of a smaller trace are computed as fast as they are read.
WORTH_BYTES = 4 << 20
# Where there is less room, nothing is begun: it would cost its time at each question.
_LEAST_FREE_BYTES = 64 << 20
_ABANDONED_S = 3600
# Of long names, so many rows are what a thread holds in memory.
_GROUP_ROWS = 30 * 1024
_KEY_LETTERS = 16


@dataclass(frozen=True)
class Operator:
    """Computes the rows of queries faster than their SELECTs do.

    Attributes:
        name: of what it computes.
        reads: the tables and queries that it reads.
        tables: those that it makes; their names begin with ``_derived_``.
        compute: makes them.  A NativeError leaves it to the SELECTs.
        counts: a table by whose rows it cuts its work in slices; "" if it does not.
        queries: by name, each as a SELECT over these tables; a query that is not here is the
            table ``_derived_QUERY``.
        select: its only table, if that is a SELECT and no more; "" else.
    """

    name: str
    reads: tuple[str, ...]
    tables: tuple[str, ...]
    compute: Callable[[duckdb.DuckDBPyConnection], None]
    queries: Mapping[str, str] = field(default_factory=dict)
    counts: str = ""
    select: str = ""


Operators = Callable[[], Mapping[str, Operator]]


class Materialized:
    """The materialized queries of one trace; the caller sees to it that one thread uses it.

    Args:
        catalog: the queries.
        operators: gives them, by the name of the query that each computes, when one is needed.
        need: makes tables and queries that are not there yet.
        execute: runs a statement, and makes what it lacks all the same.
        is_part: whether not all rows of the trace are asked.
    """

    def __init__(
        self,
        catalog: Catalog,
        operators: Operators,
        need: Callable[[duckdb.DuckDBPyConnection, Sequence[str]], None],
        execute: Callable[[duckdb.DuckDBPyConnection, str], None],
        *,
        is_part: bool = False,
    ) -> None:
        self._catalog = catalog
        self._operators = operators
        self._need = need
        self._execute = execute
        self._is_part = is_part
        self._sources: tuple[Source, ...] = ()
        self._made: dict[str, State] = {}
        # The parts as they were when something began to be made, with all that it needs.
        self._then: State | None = None
        self._fitness: tuple[State, str, str] | None = None

    def open(self, sources: tuple[Source, ...]) -> None:
        """Say where the rows are."""
        self._sources = sources

    @property
    def names(self) -> list[str]:
        """The queries that were made."""
        return list(self._made)

    def stale(self, now: State) -> list[str]:
        """The queries whose parts are no longer those of the trace."""
        return [name for name, then in self._made.items() if then != now]

    def forget(self, con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """Take the views over such rows away, so that they are made again when asked for."""
        for name in names:
            drop(con, name)
            del self._made[name]

    def make(self, con: duckdb.DuckDBPyConnection, query: Query) -> Sequence[str]:
        """Make a query a view over its rows, which are computed now if nobody did before.

        Returns:
            The queries that were made: its own, and others of the same operator.

        Raises:
            duckdb.Error: a part cannot be read.
        """
        operator = self._operators().get(query.name) or self._select(query)
        with self.parts_looked_at() as now:
            try:
                made = self._views(con, operator, query)
            except NativeError:
                made = self._views(con, self._select(query), query)
        self._made.update(dict.fromkeys(made, now))
        return made

    @contextlib.contextmanager
    def parts_looked_at(self) -> Iterator[State]:
        """The parts as they are; for what is made meanwhile, too, which is stale if they change."""
        if self._then is not None:
            yield self._then
            return
        self._then = state(self._sources)
        try:
            yield self._then
        finally:
            self._then = None

    def _views(
        self, con: duckdb.DuckDBPyConnection, operator: Operator, query: Query
    ) -> Sequence[str]:
        """Make the queries of an operator views over its tables; their names.

        Its tables are those that the trace's folder has, if they are what they should be.
        """
        import duckdb

        queries = operator.queries or {query.name: f"FROM {_table(query.name)}"}

        def views() -> None:
            for name, select in queries.items():
                self._execute(con, f"CREATE OR REPLACE VIEW {name} AS\n{select}")

        # Its queries may read what those made.
        self._need(con, [name for name in operator.reads if self._is_materialized(name)])
        folder = self._folder(con, operator)
        if folder is not None and _take(con, folder, operator.tables):
            with contextlib.suppress(duckdb.BinderException):
                views()
                if all(self._has_its_columns(con, name) for name in queries):
                    return list(queries)
            shutil.rmtree(folder, ignore_errors=True)
        if folder is None or not self._stream(con, operator, folder):
            self._compute(con, operator)
            if (
                folder is not None
                and _keep(con, folder, operator.tables)
                # Read from there, they take no memory.
                and not _take(con, folder, operator.tables)
            ):
                self._compute(con, operator)
        views()
        return list(queries)

    def _compute(self, con: duckdb.DuckDBPyConnection, operator: Operator) -> None:
        self._need(con, (*operator.reads, operator.counts) if operator.counts else operator.reads)
        for table in operator.tables:
            drop(con, table)
        operator.compute(con)

    def _stream(self, con: duckdb.DuckDBPyConnection, operator: Operator, folder: Path) -> bool:
        """Write what is only a SELECT to its folder without holding its rows; whether it did."""
        if not operator.select:
            return False
        (table,) = operator.tables
        self._need(con, operator.reads)
        drop(con, table)
        self._execute(con, f"CREATE VIEW {table} AS\n{operator.select}")
        return _keep(con, folder, operator.tables) and _take(con, folder, operator.tables)

    def _has_its_columns(self, con: duckdb.DuckDBPyConnection, name: str) -> bool:
        """Whether a view has the columns that its query says: anybody can have made a file."""
        found = con.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?"
            " AND database_name = current_database() AND schema_name = 'main'",
            [name],
        ).fetchall()
        return set(found) == {(each.name, each.type) for each in self._catalog[name].columns}

    def _select(self, query: Query) -> Operator:
        """The query by its own SELECT."""
        table = _table(query.name)

        def compute(con: duckdb.DuckDBPyConnection) -> None:
            self._execute(con, f"CREATE TABLE {table} AS\n{query.sql}")

        return Operator(query.name, query.needs, (table,), compute, select=query.sql)

    def _is_materialized(self, name: str) -> bool:
        return name in self._catalog and bool(self._catalog[name].materialized)

    def refusal(self, con: duckdb.DuckDBPyConnection) -> str:
        """Why rows cannot be kept in the trace's folder; "" if they can."""
        _, reason = self._fit(con)
        return reason or _no_room(self._sources[0].path)

    def _fit(self, con: duckdb.DuckDBPyConnection) -> tuple[str, str]:
        """What the manifest says of the parts, and why rows are not in the trace's folder; ""."""
        with self.parts_looked_at() as now:
            if self._fitness is None or self._fitness[0] != now:
                self._fitness = (now, *self._look(con, now))
            return self._fitness[1:]

    def _look(self, con: duckdb.DuckDBPyConnection, now: State) -> tuple[str, str]:
        if self._is_part:
            return "", "only a part of the trace is asked"
        if len(self._sources) != 1 or not isinstance(self._sources[0], Folder):
            return "", "it is not one folder"
        home = self._sources[0].path
        if isinstance(home, Url):
            return "", "it is in a bucket"
        if (home / DERIVED).is_symlink():
            return "", f"{home / DERIVED} is a link"
        parts = _parts(home, now)
        if parts is None:
            return "", "its parts are not those of its manifest"
        if sum(size for _, size, _ in now) < WORTH_BYTES:
            return "", f"it is smaller than {WORTH_BYTES >> 20} MiB, and answers at once"
        self._need(con, ("capture",))
        ended = con.execute("SELECT count(*) > 0 AND count(*) = count(end_ns) FROM capture")
        if not ended.fetchall()[0][0]:
            return "", "its capture has not ended"
        return parts, ""

    def _folder(self, con: duckdb.DuckDBPyConnection, operator: Operator) -> Path | None:
        """Where the rows are kept; None if only in memory."""
        if not any(map(self._is_materialized, (operator.name, *operator.queries))):
            return None
        parts, reason = self._fit(con)
        if reason:
            return None
        words = "\0".join([parts, _code(), *sorted(self._texts(operator))])
        key = hashlib.sha256(words.encode()).hexdigest()[:_KEY_LETTERS]
        return self._sources[0].path / DERIVED / f"{operator.name}-{key}"

    def _texts(self, operator: Operator) -> Iterator[str]:
        """The SQL of all that an operator's rows depend on."""
        seen: set[str] = set()
        left = [operator.name, *operator.reads, *operator.queries]
        while left:
            name = left.pop()
            if name not in seen and name in self._catalog:
                query = self._catalog[name]
                yield f"{name}\0{query.sql}"
                left += query.needs
            seen.add(name)


def drop(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Drop the table or view of that name, if there is one."""
    import duckdb

    # The catalogue would say which it is, and takes milliseconds for that.
    try:
        con.execute(f"DROP TABLE IF EXISTS {name}")
    except duckdb.CatalogException:
        con.execute(f"DROP VIEW IF EXISTS {name}")


def _table(query: str) -> str:
    return f"_derived_{query}"


def _parts(home: Path, now: State) -> str | None:
    """What the manifest says of the parts; None if they are others."""
    named = manifest.read(home)
    if named is None:
        return None
    said = {(table, name): entry for table, parts in named.items() for name, entry in parts.items()}
    there = {(Path(path).parent.name, Path(path).name): size for path, size, _ in now}
    if there != {part: entry.bytes for part, entry in said.items()}:
        return None
    return repr([(*part, entry.bytes, entry.crc32) for part, entry in sorted(said.items())])


@functools.cache
def _code() -> str:
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


def _file(folder: Path, table: str) -> Path:
    return folder / f"{table.removeprefix('_derived_')}.parquet"


def _take(con: duckdb.DuckDBPyConnection, folder: Path, tables: Sequence[str]) -> bool:
    """Make views over the rows that are kept in a folder; whether they are there and whole."""
    import duckdb

    files = [_file(folder, table) for table in tables]
    try:
        # A folder that was sent can hold links and pipes: only what we write is read.
        if folder.is_symlink() or not all(stat.S_ISREG(file.lstat().st_mode) for file in files):
            return False
        for table, file in zip(tables, files, strict=True):
            drop(con, table)
            con.execute(f"CREATE VIEW {table} AS FROM read_parquet({quoted(file)})")
    except (OSError, duckdb.PermissionException):  # made since the trace was opened
        return False
    except duckdb.Error:  # damaged
        for table in tables:
            drop(con, table)
        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True


def _keep(con: duckdb.DuckDBPyConnection, folder: Path, tables: Sequence[str]) -> bool:
    """Write tables to a folder, which appears when it is complete; whether it is there now."""
    import duckdb

    home = folder.parent
    if _no_room(home.parent):
        return False
    try:
        home.mkdir(exist_ok=True)
        _tidy(home)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=home) as made:
            scratch = Path(made) / folder.name
            scratch.mkdir()
            for table in tables:
                con.execute(
                    f"COPY {table} TO {quoted(_file(scratch, table))}"
                    f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP_ROWS})"
                )
            scratch.rename(folder)
        key = "[0-9a-f]" * _KEY_LETTERS
        for other in home.glob(f"{folder.name[:-_KEY_LETTERS]}{key}"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
    except (OSError, duckdb.Error):
        return folder.is_dir()  # somebody else was faster
    return True


def _no_room(home: Path) -> str:
    """Why nothing can be written to a trace's folder; "" if it can."""
    if not os.access(home, os.W_OK):
        return "its folder cannot be written"
    if shutil.disk_usage(home).free < _LEAST_FREE_BYTES:
        return "there is no room on its disk"
    return ""


def _tidy(home: Path) -> None:
    """Remove what somebody left who was killed."""
    for path in home.glob(".making-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(path)
