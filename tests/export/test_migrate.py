"""cupti-etl migrate: files of every earlier schema are brought up to date, or left alone."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pytest
from alembic.script import ScriptDirectory
from data.make_duckdb import ROWS, make
from support.command import etl

import cupti_etl
from cupti_etl.errors import TraceError
from cupti_etl.queries.catalog import Catalog, library
from cupti_etl.render import duckdb_file
from cupti_etl.render.duckdb_file import migrate_file, pending_migrations
from cupti_etl.schema import revisions
from cupti_etl.storage import migrations as migrate

DATA = Path(__file__).parents[1] / "data"
FIXTURES = sorted(DATA.glob("schema_*.duckdb.gz"))
DESCRIBE = """
    SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
    WHERE NOT internal AND table_name IN (SELECT table_name FROM duckdb_tables())
    ORDER BY ALL
"""


def unpacked(fixture: Path, folder: Path) -> Path:
    path = folder / fixture.stem
    path.write_bytes(gzip.decompress(fixture.read_bytes()))
    return path


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file as it would be written now, for all who only read it."""
    return make(tmp_path_factory.mktemp("now"))


@pytest.fixture
def few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the library, ``kernel_summary`` and what it needs: to bind all takes two seconds.

    That all of it can be bound over the tables of a migrated file, other tests see.
    """
    whole = library()
    left, needed = ["kernel_summary"], set()
    while left:
        name = left.pop()
        if name in whole and name not in needed:
            needed.add(name)
            left += whole[name].needs
    few = Catalog(query for query in whole if query.name in needed)
    monkeypatch.setattr(duckdb_file, "library", lambda: few)


def described(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(path, read_only=True) as con:
        return con.sql(DESCRIBE).fetchall()


def plant(history: Path, *steps: str) -> str:
    """Add a migration; returns its revision."""
    head, revision = migrate.head(), migrate.next_revision()
    (history / f"{revision}_planted.py").write_text(
        f'"""A planted step."""\nfrom alembic import op\nimport sqlalchemy as sa\n'
        f"revision, down_revision = {revision!r}, {head!r}\n"
        "def upgrade():\n" + "".join(f"    {step}\n" for step in steps)
    )
    return revision


STEPS = (
    "op.add_column('kernel', sa.Column('is_planted', sa.Boolean(), comment='A sentence.'))",
    "op.execute('UPDATE kernel SET is_planted = grid_id IS NULL')",
    "op.alter_column('device', 'tpcs', new_column_name='texture_clusters')",
)


def test_every_schema_has_a_file_to_migrate_from() -> None:
    script = ScriptDirectory(str(revisions.migrations_path()))
    made = {f"schema_{each.revision}.duckdb.gz" for each in script.walk_revisions()}
    assert {path.name for path in FIXTURES} == made, "run tests/data/make_duckdb.py"


@pytest.mark.slow
def test_the_newest_file_is_what_would_be_written_now(now: Path, tmp_path: Path) -> None:
    then = unpacked(DATA / f"{now.name}.gz", tmp_path)
    assert described(then) == described(now), "run tests/data/make_duckdb.py"


@pytest.mark.slow
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name)
def test_a_file_of_each_schema_becomes_one_of_this(
    fixture: Path, now: Path, tmp_path: Path
) -> None:
    path = unpacked(fixture, tmp_path)
    migrate_file(path)
    assert described(path) == described(now)
    with cupti_etl.open(path) as trace:
        for table, text in ROWS.items():
            assert trace.sql(f"FROM {table}").count() == text.count("\n")
        summary = trace.query("kernel_summary")
        assert [(row["name"], row["calls"], row["unfinished"]) for row in summary] == [
            ("a", 1, 0),
            ("b", 0, 1),
        ]


@pytest.mark.slow
@pytest.mark.usefixtures("few_queries")
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name)
def test_the_next_migration(fixture: Path, tmp_path: Path, history: Path) -> None:
    path = unpacked(fixture, tmp_path)
    with duckdb.connect(path) as con:
        con.execute("CREATE VIEW mine AS SELECT count(*) AS n FROM kernel")
        con.execute("CREATE OR REPLACE VIEW kernel_summary AS SELECT 'an old query' AS name")
    before = path.read_bytes()
    revision = plant(history, *STEPS)
    was, steps = pending_migrations(path)
    assert was == fixture.name[7:11]
    assert steps[-1] == f"{revision}: A planted step."
    assert path.read_bytes() == before

    assert migrate_file(path) == (was, steps)
    assert pending_migrations(path) == (revision, [])
    with duckdb.connect(path, read_only=True) as con:
        assert con.sql("SELECT is_planted FROM kernel").fetchall() == [(True,), (True,)]
        assert con.sql("SELECT texture_clusters FROM device").fetchall() == [(66,)]
        # The queries are those of this version; what somebody added stays.
        assert con.sql("SELECT sum(calls) FROM kernel_summary").fetchall() == [(1,)]
        assert con.sql("FROM mine").fetchall() == [(2,)]


@pytest.mark.usefixtures("few_queries")
def test_a_file_is_opened_to_be_looked_at_and_to_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpacked(FIXTURES[-1], tmp_path)
    opened = []

    def connect(*args: Any, real: Any = duckdb.connect, **given: Any) -> duckdb.DuckDBPyConnection:
        opened.append(str(args[0]) if args else "")
        return real(*args, **given)

    monkeypatch.setattr(duckdb, "connect", connect)
    migrate_file(path)
    # From outside of the file it is asked what stands in it.
    assert [each for each in opened if each in ("", str(path))] == ["", str(path)]


@pytest.mark.usefixtures("few_queries")
@pytest.mark.parametrize(
    "fault", ["op.execute('ALTER TABLE nothing DROP COLUMN a')", "raise ValueError('a mistake')"]
)
def test_a_step_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, history: Path, fault: str
) -> None:
    path = unpacked(FIXTURES[-1], tmp_path)
    before = path.read_bytes()
    plant(history, *STEPS, fault)
    with pytest.raises((TraceError, ValueError), match="is unchanged: Catalog Error|a mistake"):
        migrate_file(path)
    assert path.read_bytes() == before
    assert not path.with_name(f"{path.name}.wal").exists()


@pytest.mark.usefixtures("few_queries")
def test_a_query_that_fails_leaves_the_file_as_it_was(tmp_path: Path, history: Path) -> None:
    path = unpacked(FIXTURES[-1], tmp_path)
    before = path.read_bytes()
    plant(history, "op.drop_table('kernel')")
    with pytest.raises(TraceError, match="is unchanged: Catalog Error: .*kernel"):
        migrate_file(path)
    assert path.read_bytes() == before


# --- the command


@pytest.mark.slow
def test_a_file_that_is_up_to_date(tmp_path: Path) -> None:
    path = unpacked(FIXTURES[-1], tmp_path)
    for option in ([], ["--dry-run"]):
        done = etl("migrate", *option, path)
        assert (done.returncode, done.stdout) == (0, "")
        assert revisions.newest() in done.stderr
    assert "nothing was changed" in done.stderr


@pytest.mark.slow
def test_what_cannot_be_migrated(tmp_path: Path) -> None:
    newer = unpacked(FIXTURES[-1], tmp_path)
    with duckdb.connect(newer) as con:
        con.execute("UPDATE alembic_version SET version_num = '9999'")
    other = tmp_path / "other.duckdb"
    with duckdb.connect(other) as con:
        con.execute("CREATE TABLE kernel (a INTEGER)")
    empty = tmp_path / "empty.duckdb"
    duckdb.connect(empty).close()
    text = tmp_path / "text.duckdb"
    text.write_text("no database" * 1000)
    for path, message in (
        (newer, f"{newer} has schema revision 9999; this version of cupti-etl knows"),
        (other, f"{other} has tables, but no revision of cupti-etl's schema"),
        (empty, f"{empty} is empty"),
        (text, f"{text} could not be migrated and is unchanged"),
        (tmp_path, f"{tmp_path} is a folder"),
        (tmp_path / "none.duckdb", "there is no file"),
    ):
        before = path.read_bytes() if path.is_file() else None
        for option in ([], ["--dry-run"]):
            done = etl("migrate", *option, path)
            assert done.returncode == 1, path
            assert done.stderr.startswith(f"cupti-etl: {message}")
            assert len(done.stderr.splitlines()) == 2
            assert (path.read_bytes() if path.is_file() else None) == before
