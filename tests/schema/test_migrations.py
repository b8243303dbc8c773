"""All migrations together lead to the specification, and they keep what is in a file."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from cupti_etl.errors import SchemaError, TraceError
from cupti_etl.schema import revisions
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.spec import Column, Table
from cupti_etl.schema.tables import metadata
from cupti_etl.schema.types import i16, i32, i64
from cupti_etl.storage import migrations as migrate

DESCRIBE = """
    SELECT table_name, column_name, data_type, is_nullable, column_default, comment
    FROM duckdb_columns() WHERE NOT internal AND table_name <> 'alembic_version'
    UNION ALL
    SELECT table_name, NULL, NULL, NULL, NULL, comment
    FROM duckdb_tables() WHERE table_name <> 'alembic_version'
    ORDER BY ALL
"""


@contextmanager
def through_all_migrations() -> Iterator[sa.Connection]:
    """A database in memory that went through all migrations."""
    engine = sa.create_engine("duckdb+etl://")
    with engine.connect() as connection:
        migrate.upgrade_connection(connection)
        yield connection
    engine.dispose()


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    """Such a database, which may be changed."""
    with through_all_migrations() as connection:
        yield connection


@pytest.fixture(scope="module")
def migrated() -> Iterator[sa.Connection]:
    """Such a database for all who only read it."""
    with through_all_migrations() as connection:
        yield connection


def differences(connection: sa.Connection, wanted: sa.MetaData) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), wanted))


def described(connection: sa.Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.exec_driver_sql(DESCRIBE)]


def described_by_spec(tables: list[Table]) -> list[tuple[object, ...]]:
    engine = sa.create_engine("duckdb+etl://")
    with engine.begin() as connection:
        metadata(tables).create_all(connection)
        result = described(connection)
    engine.dispose()
    return result


def changed(name: str, columns: tuple[Column, ...] = (), doc: str = "") -> list[Table]:
    """The specification with the columns or the doc of one table changed."""
    old = TABLES[name]
    new = Table(name, doc or old.doc, columns or old.columns)
    return list({**TABLES, name: new}.values())


CLOCK = TABLES["clock"].columns
CHANGES = {
    "a new table": [*TABLES.values(), Table("new", "A row.", CLOCK)],
    "a table less": [table for name, table in TABLES.items() if name != "clock"],
    "a new column": changed("clock", (*CLOCK, Column("more", i32, "", "A sentence."))),
    "a column less": changed("clock", CLOCK[:-1]),
    "another type": changed("clock", (dataclasses.replace(CLOCK[0], type=i16), *CLOCK[1:])),
    "another column comment": changed(
        "clock", (dataclasses.replace(CLOCK[0], doc="Another."), *CLOCK[1:])
    ),
    "another table comment": changed("clock", doc="Another."),
}


@pytest.mark.slow
def test_migrations_lead_to_the_specification(migrated: sa.Connection) -> None:
    assert differences(migrated, metadata()) == []
    assert described(migrated) == described_by_spec(list(TABLES.values()))


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_specification_is_noticed(change: str, migrated: sa.Connection) -> None:
    assert differences(migrated, metadata(CHANGES[change])) != []
    assert described(migrated) != described_by_spec(CHANGES[change])


@pytest.mark.slow
def test_down_to_nothing_and_up_again(connection: sa.Connection) -> None:
    before = described(connection)
    migrate.downgrade_connection(connection, "base")
    assert described(connection) == []
    assert migrate.current(connection) == ""
    migrate.upgrade_connection(connection)
    assert described(connection) == before
    assert migrate.current(connection) == migrate.head()


def imports(source: str) -> set[str]:
    """Modules and names that a migration imports, first part of each."""
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names = {alias.name for node in nodes for alias in node.names}
    return {name.split(".")[0] for name in modules | names}


def test_migrations_do_not_import_the_specification() -> None:
    for path in (migrate.migrations_path() / "versions").glob("*.py"):
        assert "cupti_etl" not in imports(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    "line", ["import cupti_etl.schema.arrow", "from cupti_etl.schema import arrow as a"]
)
def test_an_import_of_the_specification_is_noticed(line: str) -> None:
    assert "cupti_etl" in imports(f"import sqlalchemy as sa\ndef upgrade():\n    {line}\n")


@pytest.mark.slow
def test_upgrade_makes_a_file_with_empty_tables(tmp_path: Path) -> None:
    path = tmp_path / "100 %.duckdb"
    assert migrate.upgrade(path) == ""
    assert migrate.upgrade(path) == migrate.head()
    with duckdb.connect(str(path), read_only=True) as file:
        names = {row[0] for row in file.sql("SELECT table_name FROM duckdb_tables()").fetchall()}
        (tags,) = file.sql("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()[0]
    assert names == {*TABLES, "alembic_version"}
    assert tags["storage_version"].startswith("v1.5.0")


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "newer.duckdb"
    migrate.upgrade(path)
    with duckdb.connect(str(path)) as file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(TraceError, match="schema revision 9999; .* knows") as caught:
        migrate.upgrade(path)
    assert "newer cupti-etl" in caught.value.hint


def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as file:
        file.execute("CREATE VIEW kernel AS SELECT 1 AS a")
    with pytest.raises(TraceError, match="no revision"):
        migrate.upgrade(path)
    with duckdb.connect(str(path)) as file:
        assert file.sql("FROM duckdb_tables()").fetchall() == []


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.duckdb"
    path.write_text("no database" * 1000)
    with pytest.raises(TraceError, match="could not be migrated and is unchanged"):
        migrate.upgrade(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is a folder"):
        migrate.upgrade(tmp_path)


@pytest.mark.slow
def test_no_draft_without_a_difference() -> None:
    assert migrate.migration_draft() == ""


@pytest.mark.slow
def test_the_draft_leads_to_the_specification_and_back(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ``make generate`` would write for a change, applied to a file with rows."""
    path = tmp_path / "run.duckdb"
    migrate.upgrade(path)
    old, revision = described_by_spec(list(TABLES.values())), migrate.next_revision()
    with duckdb.connect(str(path)) as file:
        file.execute("INSERT INTO loss (process_id, records) VALUES (1, 7)")
    columns = tuple(
        dataclasses.replace(column, type=i32, doc="It's how many.")
        if column.name == "records"
        else column
        for column in TABLES["loss"].columns
        if column.name != "detail"
    )
    tables = [
        *changed("loss", (*columns, Column("more", i64, "", "One % more.")), doc="Lost records."),
        Table("new", "A row.", CLOCK),
    ]
    monkeypatch.setattr(migrate, "metadata", lambda: metadata(tables))

    draft = migrate.migration_draft()
    assert draft == migrate.migration_draft()
    (history / f"{revision}_draft.py").write_text(draft, encoding="utf-8")
    assert migrate.migration_draft() == ""
    assert migrate.upgrade(path) != migrate.head() == revision

    engine = sa.create_engine(f"duckdb+etl:///{path}")
    with engine.begin() as connection:
        assert described(connection) == described_by_spec(tables)
        assert connection.exec_driver_sql("SELECT process_id, records FROM loss").all() == [(1, 7)]
        migrate.downgrade_connection(connection, "-1")
        assert described(connection) == old
    engine.dispose()


@pytest.mark.slow
def test_the_draft_renames_what_was_called_otherwise(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the name goes on to another column, which is new, and words change as well."""
    path = tmp_path / "run.duckdb"
    migrate.upgrade(path)
    old, revision = described_by_spec(list(TABLES.values())), migrate.next_revision()
    with duckdb.connect(str(path)) as file:
        file.execute("INSERT INTO clock VALUES (1, 2, 3)")
    realtime, monotonic, boottime = CLOCK
    columns = (
        dataclasses.replace(realtime, name="wall_ns", was=(("realtime_ns", 2),)),
        dataclasses.replace(monotonic, name="realtime_ns", was=(("monotonic_ns", 2),)),
        dataclasses.replace(boottime, name="awake_ns", doc="Awake.", was=(("boottime_ns", 2),)),
        Column("boottime_ns", i64, "", "Another.", unit="ns"),
    )
    monkeypatch.setitem(TABLES, "clock", Table("clock", TABLES["clock"].doc, columns))
    monkeypatch.setattr(migrate, "SCHEMA_VERSION", 2)

    draft = migrate.migration_draft()
    assert "drop_column('clock'" not in draft.split("def downgrade")[0]
    assert "schema_version: int = 2" in draft
    (history / f"{revision}_draft.py").write_text(draft, encoding="utf-8")
    assert migrate.migration_draft() == ""
    assert migrate.upgrade(path) != migrate.head() == revision
    with duckdb.connect(str(path)) as file:
        found = file.sql("SELECT wall_ns, realtime_ns, awake_ns, boottime_ns FROM clock")
        assert found.fetchall() == [(1, 2, 3, None)]
    engine = sa.create_engine(f"duckdb+etl:///{path}")
    with engine.begin() as connection:
        assert described(connection) == described_by_spec(list(TABLES.values()))
        migrate.downgrade_connection(connection, "-1")
        assert described(connection) == old
        assert connection.exec_driver_sql("FROM clock").all() == [(1, 2, 3)]
    engine.dispose()


def test_columns_do_not_exchange_their_names_in_one_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third = CLOCK
    columns = (
        dataclasses.replace(first, was=((second.name, 2),)),
        dataclasses.replace(second, was=((first.name, 2),)),
        third,
    )
    monkeypatch.setitem(TABLES, "clock", Table("clock", TABLES["clock"].doc, columns))
    with pytest.raises(SchemaError, match="clock: columns exchange their names"):
        migrate.migration_draft()


def test_which_names_the_columns_of_a_file_have(
    history: Path,
) -> None:
    for path in history.glob("*.py"):  # of two of one number the folder's order would decide
        path.unlink()
    texts = (("0001", ""), ("0002", ""), ("0003", "schema_version: int = 4\n"), ("0004", ""))
    for number, text in texts:
        (history / f"{number}_planted.py").write_text(text)
    wanted = {"0001": 1, "0002": 1, "0003": 4, "0004": 4}
    assert {number: revisions.schema_version(number) for number in wanted} == wanted


@pytest.mark.slow
def test_a_migration_that_fails_leaves_the_file_as_it_was(history: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    migrate.upgrade(path)
    head, revision = migrate.head(), migrate.next_revision()
    (history / "broken.py").write_text(
        f"from alembic import op\nrevision, down_revision = {revision!r}, {head!r}\n"
        "def upgrade():\n"
        "    op.execute('CREATE TABLE half (a INTEGER)')\n"
        "    op.execute('ALTER TABLE nothing DROP COLUMN a')\n"
    )
    with pytest.raises(TraceError, match="unchanged: Catalog Error"):
        migrate.upgrade(path)
    with duckdb.connect(str(path)) as file:
        assert file.sql("FROM alembic_version").fetchall() == [(head,)]
        assert file.sql("FROM duckdb_tables() WHERE table_name = 'half'").fetchall() == []
