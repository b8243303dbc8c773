"""Rows that start in intervals of time, or overlap with them, however many there are."""

from __future__ import annotations

import functools

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupti_etl.queries.intervals import LEAST, MOST, Intervals

_CUT = (
    "greatest(rows.start_ns, times.start_ns) AS start_ns,"
    " CASE WHEN rows.end_ns IS NOT NULL THEN least(rows.end_ns, times.end_ns) END AS end_ns"
)
Rows = list[tuple[int | None, int | None, int | None]]


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all: to open one costs more than to ask it."""
    return duckdb.connect()


def _asked(rows: Rows, intervals: Intervals, key: str = "gpu") -> tuple[Rows, Rows]:
    """What the two SELECTs give."""
    con = _database()
    con.begin()
    try:
        con.execute("CREATE TABLE work (gpu BIGINT, start_ns BIGINT, end_ns BIGINT)")
        if rows:
            values = str(rows)[1:-1].replace("None", "NULL")
            con.execute(f"INSERT INTO work VALUES {values}")
        intervals.make(con)
        starting = intervals.starting("work", key, "start_ns")
        overlapping = intervals.overlapping("work", key, "start_ns", "end_ns", _CUT)
        return con.sql(starting).fetchall(), con.sql(overlapping).fetchall()
    finally:
        con.rollback()


def _expected(rows: Rows, intervals: Intervals, key: str = "gpu") -> tuple[Rows, Rows]:
    """The same, by comparing each with each."""
    starting, overlapping = [], []
    for gpu, start, end in rows:
        for of, low, high in intervals.rows:
            if start is None or (key and of != gpu):
                continue
            if low <= start < high:
                starting.append((gpu, start, end))
            if start < high and (start >= low or end is None or end > low):
                overlapping.append((gpu, max(start, low), None if end is None else min(end, high)))
    return starting, overlapping


def _in_order(rows: Rows) -> Rows:
    return sorted(rows, key=str)


def _check(rows: Rows, intervals: Intervals, key: str = "gpu") -> None:
    for asked, expected in zip(
        _asked(rows, intervals, key), _expected(rows, intervals, key), strict=True
    ):
        assert _in_order(asked) == _in_order(expected)


# Of moments close together, and of a whole run.
_TIMES = st.one_of(st.integers(0, 40), st.integers(0, 10**12))
_KEYS = st.integers(0, 1)
_INTERVALS = st.lists(
    st.tuples(_KEYS, st.one_of(_TIMES, st.just(LEAST)), st.one_of(_TIMES, st.just(MOST))).filter(
        lambda row: row[1] < row[2]
    ),
    max_size=40,
)
_ROWS = st.lists(
    st.tuples(_KEYS, st.one_of(st.none(), _TIMES), st.one_of(st.none(), _TIMES)), max_size=20
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(rows=_ROWS, of=_INTERVALS)
def test_rows_are_found_as_by_comparing_each_with_each(rows: Rows, of: Rows) -> None:
    _check(rows, Intervals("times", of))
    anyone = [(None, low, high) for _, low, high in of]
    _check(rows, Intervals("times", anyone), key="")


@pytest.mark.parametrize(
    ("row", "overlaps"),
    [
        ((0, 30, 30), [(0, 30, 30)]),  # takes no time, where an interval begins
        ((0, 35, 35), []),  # where one is over
        ((0, 29, 30), []),  # ends where one begins
        ((0, 34, 36), [(0, 34, 35)]),
        ((0, 12, 42), [(0, 12, 15), (0, 20, 25), (0, 30, 35), (0, 40, 42)]),
        ((0, 985, None), [(0, 990, None)]),  # has no end
        ((1, 30, 31), []),  # of another GPU
    ],
)
def test_what_many_intervals_have_of_a_row(
    row: tuple[int, int, int | None], overlaps: Rows
) -> None:
    intervals = Intervals("times", [(0, start, start + 5) for start in range(0, 1000, 10)])
    assert _in_order(_asked([row], intervals)[1]) == _in_order(overlaps)


def test_intervals_of_one_key_that_meet_are_one() -> None:
    assert Intervals("times", [(0, 5, 9), (0, 1, 3), (1, 3, 5), (0, 3, 4), (0, 6, 7)]).rows == [
        (0, 1, 4),
        (0, 5, 9),
        (1, 3, 5),
    ]


@pytest.mark.parametrize("many", [9, 2000])
def test_no_row_is_compared_with_each_of_many_intervals(many: int) -> None:
    """Bursts far apart, in which intervals are dense: what is looked up is what is near."""
    of = [
        (0, burst * 10**12 + i * 100, burst * 10**12 + i * 100 + 50)
        for burst in range(3)
        for i in range(many)
    ]
    intervals = Intervals("times", of)
    with duckdb.connect() as con:
        intervals.make(con)
        (buckets,) = con.sql("SELECT count(*) FROM times_near").fetchall()[0]
        (most,) = con.sql(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM times_near"
            " WHERE width = (SELECT min(width) FROM times_near) GROUP BY bucket)"
        ).fetchall()[0]
        (widths,) = con.sql("SELECT count(DISTINCT width) FROM times_near").fetchall()[0]
    assert most <= 3
    assert buckets <= 9 * widths * len(of)
