"""export --to sqlite: the same rows, in a file that sqlite3 reads."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.command import etl
from support.exported import is_told
from support.trace import write_trace

import cupti_etl
from cupti_etl.render.sqlite_file import export_sqlite
from cupti_etl.schema.arrow import TABLES

NAME = 'a"b;--\u2603'


def asked(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as con:
        return con.execute(statement).fetchall()


@pytest.mark.slow
def test_rows_types_and_units(tmp_path: Path) -> None:
    """64-bit times stay whole, booleans are 0 and 1, and NULL is NULL."""
    path = write_trace(
        tmp_path / "run",
        kernel=f"""
            start_ns            end_ns              name       is_device_launched
            1795209557402283799 1795209557402283800 '{NAME}'   true
            20                  -                   b          false
        """,
    )
    with cupti_etl.open(path) as opened:
        export_sqlite(opened, opened.tables, tmp_path / "run.sqlite")
    assert asked(
        tmp_path / "run.sqlite",
        "SELECT start_ns, end_ns, name, is_device_launched, typeof(end_ns) FROM kernel"
        " ORDER BY start_ns DESC",
    ) == [
        (1795209557402283799, 1795209557402283800, NAME, 1, "integer"),
        (20, None, "b", 0, "null"),
    ]
    about = "SELECT type, unit, doc FROM _column WHERE table_name = 'kernel' AND column_name = "
    ((kind, unit, doc),) = asked(tmp_path / "run.sqlite", f"{about}'start_ns'")
    assert (kind, unit) == ("INTEGER", "ns")
    assert doc == next(each.doc for each in TABLES["kernel"].columns if each.name == "start_ns")


@pytest.mark.slow
def test_every_table_of_a_recording(tmp_path: Path) -> None:
    recording = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
    assert etl("import", recording, "-o", tmp_path / "run").returncode == 0
    done = etl("export", tmp_path / "run", "--to", "sqlite", tmp_path / "run.sqlite")
    assert (done.returncode, done.stdout) == (0, "")
    assert is_told(done.stderr, "sqlite", tmp_path / "run.sqlite")
    with cupti_etl.open(tmp_path / "run") as trace:
        for table in trace.tables:
            (row,) = trace.sql(f"SELECT count(*) AS n FROM {table}")
            assert asked(tmp_path / "run.sqlite", f"SELECT count(*) FROM {table}") == [(row["n"],)]
        sums = "SELECT sum(end_ns - start_ns) AS s, min(start_ns) AS f FROM kernel"
        (row,) = trace.sql(sums)
        assert asked(tmp_path / "run.sqlite", sums) == [(row["s"], row["f"])]


def test_a_part_of_some_tables(tmp_path: Path) -> None:
    path = write_trace(
        tmp_path / "run",
        capture="start_ns\n0",
        kernel="start_ns end_ns name\n0 10 a\n2000000 2000010 b",
    )
    words = ["--to", "sqlite", "--table", "kernel", "--from", "1ms"]
    assert etl("export", path, *words, tmp_path / "part.sqlite").returncode == 0
    assert asked(tmp_path / "part.sqlite", "SELECT name FROM kernel") == [("b",)]
    tables = "SELECT name FROM sqlite_master ORDER BY name"
    assert asked(tmp_path / "part.sqlite", tables) == [("_column",), ("kernel",)]


@pytest.mark.parametrize(
    ("out", "says"), [("there.sqlite", "exists"), ("-", "cannot be written to a pipe")]
)
def test_what_is_refused(tmp_path: Path, out: str, says: str) -> None:
    path = write_trace(tmp_path / "run", kernel="start_ns end_ns name\n0 10 a")
    (tmp_path / "there.sqlite").write_text("mine")
    done = etl("export", path, "--to", "sqlite", out if out == "-" else tmp_path / out)
    assert done.returncode == 2
    assert says in done.stderr
    assert (tmp_path / "there.sqlite").read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run", "there.sqlite"]
