"""Opens a DuckDB, and writes the statements that install the query library and call queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import UsageError
from cupti_etl.queries.query import Query
from cupti_etl.queries.spill import spill_folder
from cupti_etl.queries.tables import create_table_view, describe_table, empty_table
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.bucket import Url, real_path, register
from cupti_etl.storage.sources import as_glob, quoted

if TYPE_CHECKING:
    import duckdb


def connect(
    reach: Iterable[Path] | None = None,
    settings: Mapping[str, str] | None = None,
    paths: Iterable[Path] = (),
) -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory, to which the names of Python variables mean nothing.

    Args:
        reach: folders and ``.duckdb`` files that its statements may read and write, and no
            others; its settings stay as they are then.  None: any.
        settings: of DuckDB, to begin with.
        paths: of the trace; the buckets among them can be read.
    """
    import duckdb

    config: dict[str, Any] = {
        "python_enable_replacements": "false",
        # Parts may be replaced under their names; DuckDB's cache of files knows them by name,
        # size and time, and the operating system caches them anyway.
        "enable_external_file_cache": "false",
        # What it needs is in it; nothing is loaded from a home, let alone from a network.
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # Where it takes the rows of a join for few, it would compare each with all others.
        "asof_loop_join_threshold": "0",
        **spill_folder(),
        **(settings or {}),
    }
    if not duckdb.__version__.startswith("1."):
        # As DuckDB 1 does: a transaction survives a name that is not known, as Views makes it then.
        config["default_transaction_invalidation_policy"] = "SYNTACTIC_ERRORS_DO_NOT_INVALIDATE"
    con = duckdb.connect(":memory:", config=config)
    for scheme in sorted({path.parts[0] for path in paths if isinstance(path, Url)}):
        register(con, scheme.rstrip(":"))
    if reach is not None:
        # As it is given and without links, which resolve() cannot do for those in a circle.
        ways = [(str(each.absolute()), str(real_path(each))) for each in reach]
        _confine(con, {way for pair in ways for way in pair})
    return con


def connect_to(
    files: Iterable[str], settings: Mapping[str, str] | None = None, paths: Iterable[Path] = ()
) -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory whose statements reach these files, and globs as they are spelt."""
    con = connect(settings=settings, paths=paths)
    _lock(con, (), files)
    return con


def _confine(con: duckdb.DuckDBPyConnection, reach: Collection[str]) -> None:
    """What a link leads to has to be among them.  A glob is looked up as it is spelt."""
    folders = [spelt for each in reach for spelt in (each, as_glob(each))]
    _lock(con, folders, [spelt for each in reach for spelt in (each, f"{each}.wal")])


def _lock(con: duckdb.DuckDBPyConnection, folders: Iterable[str], files: Iterable[str]) -> None:
    con.execute(f"SET allowed_directories = [{', '.join(map(quoted, folders))}]")
    con.execute(f"SET allowed_paths = [{', '.join(map(quoted, files))}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")


def empty_views() -> Iterator[str]:
    """Statements that create an empty view for each table of the schema, and describe it.

    DuckDB binds a view when it is created, but by name when it is used: the library that is
    created over empty tables reads no file, however many parts the trace has.
    """
    for table in TABLES:
        yield create_table_view(table, empty_table(table))
        yield describe_table(table)


def call(query: Query, given: Collection[str]) -> str:
    """SQL that runs a query; each given parameter is a placeholder of its name.

    Raises:
        UsageError: a parameter is unknown, or one without a default is not given.
    """
    known = {field.name: field for field in query.parameters}
    for name in given:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise UsageError(
                f"query {query.name} has no parameter {name!r}", f"its parameters: {takes}"
            )
    for field in query.parameters:
        if field.default is None and field.name not in given:
            raise UsageError(
                f"query {query.name} needs the parameter {field.name!r}",
                f"{field.name}: {field.doc}",
            )
    if not known:
        return f"FROM {query.name}"
    # The cast makes a number out of text that came from a command line.
    arguments = ", ".join(f"{name} := CAST(${name} AS {known[name].type})" for name in given)
    return f"FROM {query.name}({arguments})"


def assignment(text: str) -> tuple[str, str]:
    """The name and the value of a parameter, as ``--param`` gives them.

    Raises:
        UsageError: it is something else.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text!r} is not NAME=VALUE", "for instance --param min_ns=1000")
    return name, value


def check_values(con: duckdb.DuckDBPyConnection, query: Query, given: Mapping[str, Any]) -> None:
    """See that values are of their parameters' types; DuckDB would not say which of them is not.

    Raises:
        UsageError: one is not; the message names the parameter.
    """
    import duckdb

    for field in query.parameters:
        try:
            if field.name in given:
                # Of a result that is not read, the transaction goes on, and what is made thereafter
                # is not seen in it.
                con.execute(f"SELECT CAST($1 AS {field.type})", [given[field.name]]).fetchall()
        except duckdb.Error as error:
            raise UsageError(
                f"query {query.name}: {field.name} takes {field.type}, not {given[field.name]!r}",
                f"{field.name}: {field.doc}",
            ) from error
