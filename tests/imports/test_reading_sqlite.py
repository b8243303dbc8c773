"""Pages of SQLite files: what sqlite3 wrote is what comes out, and damage is said."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupti_etl.errors import ForeignError
from cupti_etl.imports.nsys.sqlite import SqliteTables

WANTED = {"n": "i", "id": "i", "d": "d", "t": "s", "missing": "i", "T2": "s"}
ROW = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 127, -129, 2**47]),
    st.none() | st.floats(allow_nan=False),
    st.none()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.just("x" * 9000),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
)


def write(path: Path, rows: list[tuple[Any, ...]], page: int = 4096) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute(f"PRAGMA page_size = {page}")
        con.execute("CREATE TABLE other (a)")
        con.execute("CREATE TABLE things (n INTEGER, id INTEGER PRIMARY KEY, d REAL, t TEXT, t2)")
        con.executemany("INSERT INTO things (n, d, t, t2) VALUES (?, ?, ?, ?)", rows)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    found = []
    for batch in SqliteTables(path).batches("things", WANTED):
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, max_size=40), page=st.sampled_from([512, 1024, 4096, 65536]))
def test_what_sqlite_wrote(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]], page: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "some.sqlite"
    assert read(write(path, rows, page)) == [
        {"n": n, "id": i, "d": d, "t": t, "missing": None, "T2": t2}
        for i, (n, d, t, t2) in enumerate(rows, 1)
    ]


@pytest.mark.slow
def test_many_rows_on_several_levels_of_pages(tmp_path: Path) -> None:
    rows = [(i * i, i / 2, f"name {i % 7}", None) for i in range(100_000)]
    path = write(tmp_path / "t.sqlite", rows, 512)
    found = read(path)
    assert [(row["n"], row["d"], row["t"], row["T2"]) for row in found] == rows
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("DELETE FROM things WHERE id % 3 = 0")
    assert [row["id"] for row in read(path)] == [i for i in range(1, 100_001) if i % 3]


@pytest.mark.slow
def test_damage_is_an_error_or_another_value_but_no_crash(tmp_path: Path) -> None:
    rows = [(i, float(i), "x" * (i % 300) * (i % 11), "y") for i in range(400)]
    whole = write(tmp_path / "t.sqlite", rows, 512).read_bytes()
    dice, errors = random.Random(7), 0
    for _ in range(300):
        bits = bytearray(whole)
        for _ in range(dice.choice((1, 5, 50))):
            bits[dice.randrange(100, len(bits))] = dice.choice((0, 0xFF, dice.randrange(256)))
        path = tmp_path / "damaged.sqlite"
        path.write_bytes(bits)
        try:
            read(path)
        except ForeignError:
            errors += 1
    assert errors > 50


def test_pages_in_a_circle(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", [(i, 0.5, "x" * 50, "y") for i in range(2000)], 512)
    bits = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as con:
        (root,) = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'things'").fetchone()
    at = (root - 1) * 512
    assert bits[at] == 5  # an inner page; its last child becomes itself
    bits[at + 8 : at + 12] = root.to_bytes(4, "big")
    path.write_bytes(bits)
    with pytest.raises(ForeignError, match="in a circle"):
        read(path)


def test_columns_that_are_younger_than_rows(tmp_path: Path) -> None:
    """Such rows have the column's default, and no value of it."""
    path = write(tmp_path / "t.sqlite", [(1, 0.5, "x", "y")])
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("ALTER TABLE things ADD COLUMN missing INTEGER DEFAULT 7")
        con.execute("INSERT INTO things VALUES (2, 2, 1.5, 'z', 3, 8)")
        con.execute("INSERT INTO things VALUES ('a', 3, 'b', x'c3a9ff', 0.5, 1e300)")
    assert read(path) == [
        {"n": 1, "id": 1, "d": 0.5, "t": "x", "missing": 7, "T2": "y"},
        {"n": 2, "id": 2, "d": 1.5, "t": "z", "missing": 8, "T2": "3"},
        {"n": None, "id": 3, "d": None, "t": "\u00e9\ufffd", "missing": None, "T2": "0.5"},
    ]


@pytest.mark.parametrize("kind", ["VIRTUAL", "STORED"])
def test_generated_columns(tmp_path: Path, kind: str) -> None:
    """One that is not stored is not there, and moves no other."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute(f"CREATE TABLE things (n, d AS (n * 2) {kind}, t)")
        con.execute("INSERT INTO things VALUES (1, 'x')")
    (row,) = read(path)
    assert (row["n"], row["t"], row["d"]) == (1, "x", None if kind == "VIRTUAL" else 2)


def test_a_schema_that_is_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", [])
    bits = path.read_bytes()
    path.write_bytes(bits.replace(b"CREATE TABLE other (a)", b"CREATE \xffABLE other (a)"))
    with pytest.raises(ForeignError, match="schema is not in UTF-8|malformed database schema"):
        SqliteTables(path)
