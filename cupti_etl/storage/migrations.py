"""Bring a self-contained ``.duckdb`` file to the present schema, with alembic.

The migrations are history: each is written once, from :func:`migration_draft`, and
does not look at the specification again.  That their sum is the specification is
what the tests check.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import produce_migrations, render_python_code
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.operations.ops import AlterColumnOp
from alembic.script import ScriptDirectory
from alembic.util import template_to_file

import cupti_etl
from cupti_etl.errors import SchemaError, TraceError, why
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.schema.dialect import DuckDBDialect
from cupti_etl.schema.revisions import STORAGE_VERSION, TABLE, migrations_path, schema_version
from cupti_etl.schema.tables import metadata
from cupti_etl.storage.place import not_written

DRIVER = f"{DuckDBDialect.name}+{DuckDBDialect.driver}"

# A file can be anybody's: whatever its views and macros are, they reach no other file.
_CONFINED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
# What would be run in the place of what is meant, asked from outside of the file, where it is not.
_STRANGE = """\
SELECT view_name FROM duckdb_views()
WHERE database_name = 'file' AND view_name IN (SELECT unnest(?))
UNION ALL
SELECT min(function_name) FILTER (database_name = 'file') FROM duckdb_functions()
GROUP BY lower(function_name) HAVING bool_or(database_name = 'file') AND bool_or(internal)
ORDER BY 1"""

_IS_OURS = "SELECT 1 FROM duckdb_tables() WHERE database_name = 'file' AND table_name = ?"
GIVE = "give a file that `cupti-etl export --to duckdb` wrote"
_ARGUMENT = re.compile(r"^    (sa\.|comment=)")


def _config() -> Config:
    config = Config()
    # The option is read by a parser for which % begins a reference.
    config.set_main_option("script_location", str(migrations_path()).replace("%", "%%"))
    return config


def head() -> str:
    """The revision that this version of cupti-etl brings files to; "" if there is none."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def current(connection: sa.Connection) -> str:
    """The revision of an open database; "" if it has none."""
    heads = MigrationContext.configure(connection).get_current_heads()
    return " and ".join(sorted(str(head) for head in heads if head is not None))


def upgrade_connection(connection: sa.Connection) -> None:
    """Run the migrations that are missing, in the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def downgrade_connection(connection: sa.Connection, revision: str) -> None:
    """Undo migrations down to a revision, or to "base", in the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.downgrade(config, revision)


def upgrade(path: Path, then: Callable[[duckdb.DuckDBPyConnection], None] | None = None) -> str:
    """Bring a file to the present schema; make it, with empty tables, if it is not there.

    Everything happens in one transaction: on an error the file is as it was.

    Args:
        path: the file.
        then: what is to be done thereafter in the same transaction.

    Returns:
        The revision that the file had: "" for a new file, :func:`head` if there was
        nothing to do.

    Raises:
        TraceError: the file is newer than this version of cupti-etl, is not one of
            its files, is empty, is a folder, is in use, or refuses a migration.
    """
    is_new = not path.exists()
    new = {"storage_compatibility_version": STORAGE_VERSION} if is_new else {}
    with _transaction(path, new) as connection:
        before = "" if is_new else _revision(path, connection)
        upgrade_connection(connection)
        if then is not None:
            then(connection.connection.driver_connection)  # type: ignore[arg-type]
    return before


def pending(path: Path) -> tuple[str, list[str]]:
    """What :func:`upgrade` would do to a file, which is only read.

    Returns:
        The revision that it has, and of each migration that is missing, in their order, its
        number and what it does.

    Raises:
        TraceError: as of :func:`upgrade`.
    """
    with _transaction(path, {"access_mode": "read_only"}) as connection:
        before = _revision(path, connection)
    return before, missing(before)


def missing(revision: str) -> list[str]:
    """Of each migration that a file of a revision lacks, in their order, its number and what it
    does."""
    steps = [*ScriptDirectory.from_config(_config()).iterate_revisions("head", revision)][::-1]
    return [f"{each.revision}: {each.doc}" for each in steps]


def _revision(path: Path, connection: sa.Connection) -> str:
    """The revision of a file that can be migrated."""
    before = current(connection)
    if before:
        _refuse_newer(path, before)
        return before
    if sa.inspect(connection).get_table_names() or sa.inspect(connection).get_view_names():
        raise _no_revision(path)
    raise TraceError(f"{path} is empty", GIVE)


def _no_revision(path: Path) -> TraceError:
    return TraceError(
        f"{path} has tables, but no revision of cupti-etl's schema",
        "only files written by `cupti-etl export run --to duckdb` can be migrated",
    )


def _refuse_newer(path: Path, revision: str) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision not in known:
        raise TraceError(
            f"{path} has schema revision {revision}; this version of cupti-etl knows {head()}"
            " as the newest",
            f"install a newer cupti-etl than {cupti_etl.__version__}",
        )


def _refuse_strange(path: Path) -> None:
    """See that what the migrations name is a table, and a function DuckDB's own."""
    with duckdb.connect() as con:
        con.execute("ATTACH '{}' AS file (READ_ONLY)".format(str(path).replace("'", "''")))
        found = con.execute(_STRANGE, [[*TABLES, TABLE]]).fetchall()
        is_ours = con.execute(_IS_OURS, [TABLE]).fetchall()
    if found and not is_ours:
        raise _no_revision(path)
    if found:
        raise TraceError(
            f"{path} has a view or a macro in the place of {found[0][0]}",
            "only files written by `cupti-etl export run --to duckdb` can be migrated",
        )


@contextmanager
def _transaction(path: Path, settings: dict[str, str]) -> Iterator[sa.Connection]:
    if path.is_dir():
        raise TraceError(
            f"{path} is a folder",
            "a trace folder needs no migration: what it lacks is read as NULL, old names as new",
        )
    is_new = not path.exists()
    url = sa.URL.create(DRIVER, database=str(path), query={**_CONFINED, **settings})
    engine = sa.create_engine(url)
    try:
        if not is_new:
            _refuse_strange(path)
        with engine.begin() as connection:
            yield connection
    except (sa.exc.DBAPIError, duckdb.Error) as error:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        reason = why(cause or error)
        if is_new:
            raise not_written(path, reason) from error
        raise TraceError(
            f"{path} could not be migrated and is unchanged: {reason}",
            "make sure that it is a DuckDB file and that no other program has it open",
        ) from error
    finally:
        engine.dispose()


def migration_draft() -> str:
    """Text of the next migration: from the migrated schema to the specification.

    It is to be read before it is kept: a column whose earlier name the specification does not
    give (``was=``) shows as one dropped and one added, which loses its values.

    Returns:
        Python source for ``migrations/versions/<next_revision()>_<topic>.py``; "" if the
        migrations already lead to the specification.
    """
    engine = sa.create_engine(f"{DRIVER}://")
    try:
        with engine.begin() as connection:
            if head():
                upgrade_connection(connection)
            return _draft(connection)
    finally:
        engine.dispose()


def next_revision() -> str:
    """The number after :func:`head`, four digits."""
    return f"{int(head() or '0') + 1:04d}"


def _draft(connection: sa.Connection) -> str:
    context = MigrationContext.configure(connection)
    renames = list(_rename(connection))
    script = produce_migrations(context, metadata())
    upgrades, downgrades = script.upgrade_ops, script.downgrade_ops
    if upgrades is None or downgrades is None or not (renames or upgrades.ops):
        return ""
    upgrades.ops[:0] = renames
    downgrades.ops += [
        AlterColumnOp(each.table_name, str(each.modify_name), modify_name=each.column_name)
        for each in reversed(renames)
    ]
    tables = {diff.table_name for diff in upgrades.ops if hasattr(diff, "table_name")}
    return _render(
        up_revision=next_revision(),
        down_revision=head() or None,
        message=f"Change {', '.join(sorted(tables))}.",
        upgrades=render_python_code(upgrades, migration_context=context),
        downgrades=render_python_code(downgrades, migration_context=context),
        imports="",
        schema_version=SCHEMA_VERSION,
    )


def _rename(connection: sa.Connection) -> Iterator[AlterColumnOp]:
    """Rename columns as the specification says; what differs then is compared as it is."""
    version = schema_version(head())
    for table in sa.inspect(connection).get_table_names():
        there = {column["name"] for column in sa.inspect(connection).get_columns(table)}
        names = TABLES[table].renamed(version) if table in TABLES else {}
        waiting = {before: now for before, now in names.items() if before in there}
        while waiting:
            before = next((each for each in waiting if waiting[each] not in waiting), None)
            if before is None:
                raise SchemaError(
                    f"table {table}: columns exchange their names", "do that in two versions"
                )
            change = AlterColumnOp(table, before, modify_name=waiting.pop(before))
            Operations(MigrationContext.configure(connection)).invoke(change)
            yield change


def _render(**values: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "draft.py"
        template = migrations_path() / "script.py.mako"
        template_to_file(str(template), str(target), "utf-8", **values)
        lines = target.read_text(encoding="utf-8").splitlines()
    # Alembic writes the arguments of create_table flush with the call.
    lines = [_ARGUMENT.sub(r"        \1", line.rstrip()) for line in lines]
    return "".join(f"{line}\n" for line in lines if not line.lstrip().startswith("# ###"))
