"""The native join: small cases, an obvious oracle in Python, and its own SELECT."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trace import MakeTrace, as_table, assert_rows

from cupti_etl.errors import NativeError
from cupti_etl.pm.attribution import overlap
from cupti_etl.queries.catalog import library
from cupti_etl.queries.materialize import Operator
from cupti_etl.queries.plain_library import library_views
from cupti_etl.queries.runner import connect, empty_views
from cupti_etl.queries.views import Views


def device_rows(letters: str) -> str:
    rows = [f"1 {at} GPU-{letter}" for at, letter in enumerate(letters)]
    return "\n".join(["process_id device_id device_uuid", *rows])


def metric_rows(letters: str) -> str:
    rows = [f"busy GPU-{each} % mean 100\nbytes GPU-{each} bytes sum 100" for each in letters]
    return "\n".join(["metric device_uuid unit aggregation interval_ns", *rows])


DEVICE, METRIC = device_rows("ab"), metric_rows("ab")
PROCESS = "process_id host\n 1 n"
Run = tuple[int, int, int]
Sample = tuple[int, int, int, float | None, float | None]


def opened(trace: MakeTrace, kernel: str, samples: str, **more: str) -> Any:
    return trace(
        device=DEVICE, process=PROCESS, pm_metric=METRIC, kernel=kernel, pm_sample=samples, **more
    )


def test_a_run_gets_the_samples_that_it_overlaps_by_time(trace: MakeTrace) -> None:
    run = opened(
        trace,
        "process_id device_id correlation_id start_ns end_ns name\n 1 0 7 150 400 a",
        "device_uuid start_ns end_ns busy bytes\n"
        " GPU-a 100 200 80 1000\n GPU-a 200 300 40 500\n GPU-a 300 400 20 0",
    )
    # (50 x 80 + 100 x 40 + 100 x 20) / 250; half of 1000 bytes, and 500.
    assert_rows(
        run.query("_activity_sampled"),
        """
        device_uuid activity_group correlation_id start_ns end_ns samples covered_ns alone_ns
        GPU-a       1              7              150      400    3       250        250
        """,
    )
    assert_rows(
        run.query("kernel_run_metric"),
        """
        name metric unit  value samples coverage_pct alone_pct
        a    busy   %     40    3       100          100
        a    bytes  bytes 1000  3       100          100
        """,
    )


def test_runs_that_overlap_get_the_same_samples_and_are_not_alone(trace: MakeTrace) -> None:
    run = opened(
        trace,
        """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              0        200    a
        1          0         2              150      300    b
        1          1         3              0        200    c
        """,
        "device_uuid start_ns end_ns busy bytes\n"
        " GPU-a 0 100 10 -\n GPU-b 0 100 90 -\n GPU-a 100 200 30 -\n GPU-a 200 300 50 -",
        memcpy="process_id device_id start_ns end_ns copy_kind\n 1 0 250 260 HtoD",
    )
    assert_rows(
        run.sql("FROM kernel_run_metric() WHERE metric = 'busy' ORDER BY correlation_id"),
        """
        gpu correlation_id value gpu_value samples coverage_pct alone_pct
        0   1              -     20        2       100          75
        0   2              -     43.3333   2       100          60
        1   3              90    90        1       50           100
        """,
    )
    assert_rows(
        run.sql(
            "SELECT value, reason FROM kernel_run_metric(min_alone_pct := 70)"
            " WHERE metric = 'busy' ORDER BY correlation_id"
        ),
        """
        value reason
        20    -
        -     "others ran beside it"
        90    -
        """,
    )


def test_nothing_is_made_up_where_samples_are_missing(trace: MakeTrace) -> None:
    run = opened(
        trace,
        """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              0        300    covered
        1          0         2              300      700    hardly
        1          0         3              900      950    not
        1          0         4              500      500    empty
        """,
        "device_uuid start_ns end_ns busy bytes\n GPU-a 0 100 10 4\n GPU-a 200 350 20 6",
    )
    assert_rows(
        run.sql("FROM kernel_run_metric() WHERE metric = 'busy' ORDER BY correlation_id"),
        """
        name    value samples coverage_pct alone_pct
        covered 15    2       66.6667      100
        hardly  -     1       12.5         100
        not     -     0       0            100
        empty   -     0       -            -
        """,
    )


def test_a_metric_without_a_value_is_missing_alone(trace: MakeTrace) -> None:
    run = opened(
        trace,
        "process_id device_id correlation_id start_ns end_ns name\n 1 0 1 0 200 a",
        "device_uuid start_ns end_ns busy bytes\n GPU-a 0 100 10 nan\n GPU-a 100 200 - nan",
    )
    assert_rows(
        run.sql("FROM kernel_run_metric() ORDER BY metric"),
        """
        metric value coverage_pct
        busy   10    100
        bytes  -     100
        """,
    )


def test_samples_that_are_stored_out_of_order_are_sorted(trace: MakeTrace) -> None:
    run = opened(
        trace,
        "process_id device_id correlation_id start_ns end_ns name\n 1 0 1 0 200 a",
        "device_uuid start_ns end_ns busy bytes\n GPU-a 100 200 30 1\n GPU-a 0 100 10 1",
    )
    assert_rows(
        run.sql("FROM kernel_run_metric() WHERE metric = 'busy'"),
        """
        value samples
        20    2
        """,
    )


# ---- the join against an oracle

# Of the devices of a world, each has times of its own.  To bind what asks them takes far longer
# than to compute it, so there are several.
LETTERS = "abcdef"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with connect() as connection:
        for statement in (*empty_views(), *library_views(library())):
            connection.execute(statement)
        put(connection, "device", device_rows(LETTERS))
        put(connection, "process", PROCESS)
        put(connection, "pm_metric", metric_rows(LETTERS))
        yield connection


def put(con: duckdb.DuckDBPyConnection, table: str, text: str) -> None:
    con.register("_given", as_table(table, text))
    con.execute(f"CREATE OR REPLACE TABLE _{table} AS FROM _given")
    con.execute(f"CREATE OR REPLACE VIEW {table} AS FROM _{table}")
    con.unregister("_given")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Run], list[Sample]]:
    """Runs ``device, start, end`` and samples ``device, start, end, busy, bytes``."""
    length = st.one_of(st.integers(0, 30), st.integers(0, 900))
    begin = st.integers(0, 1000)
    runs = [
        (device, *run)
        for device in range(len(LETTERS))
        for run in draw(st.lists(st.tuples(begin, length), min_size=device == 0, max_size=25))
    ]
    value = st.one_of(st.none(), st.just(math.nan), st.floats(0, 100))
    samples: list[Sample] = []
    for device in range(len(LETTERS)):
        now = 0
        for gap, size, busy, counted in draw(
            st.lists(st.tuples(st.integers(0, 60), st.integers(1, 90), value, value), max_size=25)
        ):
            now += gap if gap > 40 else 0
            samples.append((device, now, now + size, busy, counted))
            now += size
    samples.sort(key=lambda sample: sample[1])
    return [(device, start, start + size) for device, start, size in runs], samples


def oracle(runs: list[Run], samples: list[Sample]) -> list[tuple[Any, ...]]:
    """For each run of a device with samples: samples, covered, alone, busy, bytes."""
    rows = []
    for at, (device, start, end) in enumerate(runs):
        mine = [s for s in samples if s[0] == device]
        others = [r for i, r in enumerate(runs) if i != at and r[0] == device and r[2] > r[1]]
        if not mine:
            continue
        under = [(s, min(end, s[2]) - max(start, s[1])) for s in mine]
        under = [(s, ns) for s, ns in under if ns > 0]
        alone = sum(all(not o[1] <= t < o[2] for o in others) for t in range(start, end))
        values = []
        for column, is_sum in ((3, False), (4, True)):
            known = [
                (s[column] / (s[2] - s[1]) if is_sum else s[column], ns)
                for s, ns in under
                if s[column] is not None and not math.isnan(s[column])
            ]
            weight = sum(ns for _, ns in known)
            total = sum(value * ns for value, ns in known)
            is_known = weight > 0 and 2 * weight >= end - start
            values.append((total if is_sum else total / weight) if is_known else None)
        rows.append((at, len(under), sum(ns for _, ns in under), alone, *values))
    return rows


def ask(con: duckdb.DuckDBPyConnection, rows: str) -> list[tuple[Any, ...]]:
    return con.sql(
        "SELECT correlation_id, samples, covered_ns, alone_ns, sampled[1], sampled[2]"
        f" FROM ({rows}) ORDER BY correlation_id"
    ).fetchall()


def is_same(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> bool:
    flat = [x for row in one for x in row], [x for row in other for x in row]
    return len(flat[0]) == len(flat[1]) and all(
        a == b or (None not in (a, b) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9))
        for a, b in zip(*flat, strict=True)
    )


@pytest.mark.slow
@settings(max_examples=14, deadline=None)
@given(worlds())
def test_it_is_what_an_obvious_loop_says(
    con: duckdb.DuckDBPyConnection, world: tuple[list[Run], list[Sample]]
) -> None:
    runs, samples = world
    put(con, "kernel", "process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(
        f"1 {device} {at} {start} {end} k{at % 3}" for at, (device, start, end) in enumerate(runs)
    ))  # fmt: skip
    put(con, "pm_sample", "device_uuid start_ns end_ns busy bytes\n" + "\n".join(
        f"GPU-{LETTERS[device]} {start} {end} {'-' if busy is None else busy}"
        f" {'-' if counted is None else counted}"
        for device, start, end, busy, counted in samples
    ))  # fmt: skip
    overlap.make_sampled(con, "_made")
    expected = oracle(runs, samples)
    assert is_same(ask(con, "FROM _made"), expected)
    assert is_same(ask(con, library()["_activity_sampled"].sql), expected)
    overlap.make_metric(con, "_metric")
    by_sort = con.sql(
        "SELECT sum(runs), sum(covered_ns), sum(alone_ns), sum(known_runs) FROM _metric"
    ).fetchall()
    counted = [0, 0, 0, 0]
    for row in expected:
        known = sum(value is not None for value in row[4:])
        for at, more in enumerate((2, 2 * row[2], 2 * row[3], known)):
            counted[at] += more
    assert [x or 0 for x in by_sort[0]] == counted


def test_the_oracle_sees_a_slip() -> None:
    runs, samples = [(0, 0, 10)], [(0, 0, 10, 5.0, 1.0)]
    right = oracle(runs, samples)
    assert is_same(right, oracle(runs, samples))
    assert not is_same(right, oracle(runs, [(0, 0, 9, 5.0, 1.0)]))
    assert not is_same(right, [])


def test_without_the_native_part_the_select_is_asked(trace: MakeTrace) -> None:
    def refuse(*_: object) -> None:
        raise NativeError("it cannot be made")

    asked = opened(
        trace,
        "process_id device_id correlation_id start_ns end_ns name\n 1 0 1 0 9 a",
        "device_uuid start_ns end_ns busy bytes\n GPU-a 0 9 1 2",
    )
    name = "_activity_sampled"
    operator = Operator("sampled", overlap.READS, (f"_derived_{name}",), refuse)
    asked._connection.views = Views(library(), lambda: {name: operator})
    asked._connection.views.open(asked._sources)
    assert asked.sql(f"FROM {name}").count() == 1
