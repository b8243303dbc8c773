"""The sketch of quantiles: within its error of quantile_cont, however the values are divided."""

from __future__ import annotations

import math
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupti_etl.engines.sketch import ERROR, MACROS

QUANTILES = (0.0, 0.05, 0.5, 0.95, 0.99, 1.0)
# Bytes a nanosecond are far below 1, and times of hostile traces as long as integers get.
NUMBERS = st.one_of(
    st.integers(1, 100),
    st.integers(1, 2**63 - 1),
    st.floats(1e-12, 1e12, allow_nan=False),
)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for macro in MACROS:
            connection.execute(macro)
        yield connection


def estimated(con: duckdb.DuckDBPyConnection, parts: list[list[float]]) -> list[float]:
    """Quantiles of the values of several workers, as a merge makes them of their sketches."""
    quantiles = ", ".join(f"sketch_quantile(bucket, until, n, {q}, least, most)" for q in QUANTILES)
    con.execute("CREATE OR REPLACE TABLE value (worker INTEGER, x DOUBLE)")
    rows = [(at, value) for at, part in enumerate(parts) for value in part]
    con.executemany("INSERT INTO value VALUES (?, ?)", rows)
    con.execute(
        "CREATE OR REPLACE TABLE partial AS SELECT sketch(x) AS xs, count(x) AS n, min(x) AS least,"
        " max(x) AS most FROM value GROUP BY worker"
    )
    found = con.execute(
        f"""
        WITH sums AS (SELECT sum(n) AS n, min(least) AS least, max(most) AS most FROM partial),
        buckets AS (
            SELECT entry.key AS bucket, sum(entry.value) AS n
            FROM (SELECT unnest(map_entries(xs)) AS entry FROM partial)
            GROUP BY bucket
        ),
        placed AS (SELECT bucket, sum(n) OVER (ORDER BY bucket) AS until FROM buckets)
        SELECT {quantiles} FROM placed, sums"""
    ).fetchall()
    return list(found[0])


def exact(con: duckdb.DuckDBPyConnection) -> list[float]:
    """The same of the values of the last call, by quantile_cont."""
    return con.execute(f"SELECT quantile_cont(x, {list(QUANTILES)}) FROM value").fetchall()[0][0]


def within(found: list[float], expected: list[float], error: float) -> bool:
    return all(
        math.isclose(one, other, rel_tol=0, abs_tol=error * abs(other) + 1e-300)
        for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.lists(NUMBERS, min_size=1, max_size=12), min_size=1, max_size=4))
def test_quantiles_are_within_the_error(con: duckdb.DuckDBPyConnection, parts) -> None:  # type: ignore[no-untyped-def]
    assert within(estimated(con, parts), exact(con), ERROR * (1 + 1e-9))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(values=st.lists(NUMBERS, min_size=1, max_size=20), cut=st.integers(0, 20))
def test_it_does_not_matter_who_counted(con: duckdb.DuckDBPyConnection, values, cut) -> None:  # type: ignore[no-untyped-def]
    parts = [part for part in (values[:cut], values[cut:]) if part]
    assert estimated(con, parts) == estimated(con, [values])


@pytest.mark.parametrize(
    "values", [[0], [7], [3, 9], [0, 0, 0], [-5, -5], [12.5] * 9, [-(2**63)], [5e-324]]
)
def test_what_is_exact(con: duckdb.DuckDBPyConnection, values: list[float]) -> None:
    assert estimated(con, [values]) == exact(con)


def test_values_of_both_signs_keep_their_order(con: duckdb.DuckDBPyConnection) -> None:
    values = [-1000, -30, -0.5, 0, 0.25, 20, 3000]
    buckets = [con.execute("SELECT sketch_bucket(?)", [x]).fetchall()[0][0] for x in values]
    assert buckets == sorted(set(buckets))
    assert estimated(con, [values])[2] == 0


def test_a_larger_error_is_seen(con: duckdb.DuckDBPyConnection) -> None:
    values = [float(at**3) for at in range(1, 400)]
    found = estimated(con, [values])
    assert within(found, exact(con), ERROR * (1 + 1e-9))
    assert not within(found, exact(con), ERROR / 100)
