"""The library that is kept in the user's cache: taken when it is right, and never missed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.queries import prepared
from cupti_etl.queries.catalog import library
from cupti_etl.queries.runner import connect, empty_views, library_views

KERNEL = """
    process_id device_id start_ns end_ns name
    1          0         10       20     a
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "cupti-etl"


@pytest.fixture
def answer(tmp_path: Path) -> Callable[[], list[tuple[str, int]]]:
    """Opens a trace and asks a query of the library."""
    path = write_trace(tmp_path / "run", kernel=KERNEL)

    def ask() -> list[tuple[str, int]]:
        with cupti_etl.open(path) as trace:
            return [(row["name"], row["total_ns"]) for row in trace.query("kernel_summary")]

    return ask


def test_it_is_made_once(cache: Path, answer: Callable[[], object]) -> None:
    first = answer()
    assert first == [("a", 10)]
    (file,) = cache.iterdir()
    made = file.stat().st_mtime_ns
    assert answer() == first
    assert file.stat().st_mtime_ns == made


def test_what_is_copied_is_the_library(cache: Path) -> None:
    """Every view, macro and comment; DuckDB may write their SQL in other words."""
    statements = [*empty_views(), *library_views(library())]
    what = (
        "SELECT view_name, column_count::VARCHAR, comment FROM duckdb_views() WHERE NOT internal"
        " UNION ALL SELECT function_name, parameters::VARCHAR, comment"
        " FROM duckdb_functions() WHERE NOT internal ORDER BY ALL"
    )
    with connect() as con:
        for statement in statements:
            con.execute(statement)
        expected = con.execute(what).fetchall()
    for _ in range(2):
        with connect() as con:
            assert prepared.load(con, statements)
            assert con.execute(what).fetchall() == expected
    assert len(expected) > 80
    other = [*statements, "CREATE VIEW one_more AS SELECT 1 AS one"]
    with connect() as con:
        assert prepared.load(con, other)
        assert con.execute("FROM one_more").fetchall() == [(1,)]
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"no database", None])
def test_a_damaged_file_is_passed_over(
    cache: Path, answer: Callable[[], object], damage: bytes | None
) -> None:
    answer()
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:5000] if damage is None else damage)
    assert answer() == [("a", 10)]


@pytest.mark.parametrize("place", ["/proc/nothing", "/dev/null"])
def test_no_place_for_it(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[], object], place: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    assert answer() == [("a", 10)]


def test_what_nobody_used_for_long_is_removed(cache: Path, answer: Callable[[], object]) -> None:
    cache.mkdir(parents=True)
    for name, days in (("library-old.duckdb", 31), ("library-new.duckdb", 29), ("mine", 99)):
        (cache / name).touch()
        when = time.time() - days * 86400
        os.utime(cache / name, (when, when))
    answer()
    assert {"library-new.duckdb", "mine"} < {file.name for file in cache.iterdir()}
    assert not (cache / "library-old.duckdb").exists()
