"""A new ``.duckdb`` file is a copy of one that is made once; without one it is the same."""

from __future__ import annotations

import sys
from errno import ENOSPC
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.render import duckdb_file
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.storage import migrations

# Each runs all migrations.
pytestmark = pytest.mark.slow

ALL = """
    SELECT 'column', table_name || '.' || column_name, data_type, comment FROM duckdb_columns()
    WHERE NOT internal
    UNION ALL SELECT 'view', view_name, sql, comment FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'macro', function_name, macro_definition, comment FROM duckdb_functions()
    WHERE NOT internal
    UNION ALL SELECT 'revision', version_num, NULL, NULL FROM alembic_version
    ORDER BY ALL
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", kernel="start_ns end_ns name\n 0 10 a")


def exported(run: Path, name: str) -> list[tuple[object, ...]]:
    """All that an export holds, after a look at its rows."""
    out = run.with_name(f"{name}.duckdb")
    with cupti_etl.open(run) as trace:
        assert export_duckdb(trace, out) == []
    with duckdb.connect(out, read_only=True) as con:
        assert con.sql("SELECT name, calls FROM kernel_summary").fetchall() == [("a", 1)]
        return con.sql(ALL).fetchall()


def test_the_migrations_run_once(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    first = exported(run, "first")
    (kept,) = (tmp_path / "compiled").rglob("file-*.duckdb")
    former = kept.rename(kept.with_name("file-0123456789abcdef.duckdb"))
    assert exported(run, "second") == first
    assert kept.exists()
    assert not former.exists()
    monkeypatch.setattr(migrations, "upgrade", None)
    assert exported(run, "third") == first
    # What is copied stays as it is: no row of an export is in it.
    with duckdb.connect(kept, read_only=True) as con:
        assert con.sql("SELECT count(*) FROM kernel").fetchall() == [(0,)]


@pytest.mark.parametrize("damage", [b"", b"no database" * 500])
def test_a_damaged_one_is_made_anew(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: bytes
) -> None:
    kept = tmp_path / "file.duckdb"
    monkeypatch.setattr(duckdb_file, "_kept_file", lambda: kept)
    kept.write_bytes(damage)
    first = exported(run, "first")
    assert not kept.exists()
    assert exported(run, "second") == first
    assert kept.exists()


# Not even its superuser can write into /proc: an installation that belongs to somebody else.
@pytest.mark.parametrize("folder", ["/dev/null/compiled", "/proc"])
def test_a_file_is_the_same_where_none_can_be_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    expected = exported(run, "first")
    monkeypatch.setattr(duckdb_file, "_kept_file", lambda: Path(folder, "file.duckdb"))
    assert exported(run, "second") == expected


def test_a_full_disk_damages_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "file.duckdb"
    monkeypatch.setattr(duckdb_file, "_kept_file", lambda: kept)
    exported(run, "first")
    before = kept.read_bytes()
    monkeypatch.setattr(duckdb_file.shutil, "copyfile", Mock(side_effect=OSError(ENOSPC, "full")))
    exported(run, "second")  # there was room for a moment only
    assert kept.read_bytes() == before
