"""gpu_busy: the union of what overlaps, against small cases and a brute-force union."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trace import ONE_THREAD, assert_rows, write_tables

import cupti_etl
from cupti_etl.errors import UsageError

DEVICES = """
    process_id device_id device_uuid name
    1          0         GPU-a       H200
    1          1         GPU-b       H200
    2          0         GPU-a       H200
"""
PROCESSES = """
    process_id host
    1          node7
    2          node7
"""


def test_streams_that_overlap_count_once(trace) -> None:
    opened = trace(
        device=DEVICES,
        process=PROCESSES,
        kernel="""
            process_id device_id stream_id start_ns end_ns
            1          0         7         100      200
            1          0         8         150      250
            1          0         9         160      170
        """,
        memcpy="""
            process_id device_id start_ns end_ns
            1          0         400      500
        """,
        memset="""
            process_id device_id start_ns end_ns
            1          0         250      300
        """,
    )
    assert_rows(
        opened.query("gpu_busy"),
        """
        device_uuid device_name host  processes activities busy_ns span_ns busy_pct gaps
        GPU-a       H200        node7 1         5          300     400     75       1
        """,
    )
    assert_rows(
        opened.query("gpu_busy"),
        """
        longest_gap_ns start_ns end_ns unfinished
        100            100      500    0
        """,
    )


def test_two_processes_on_one_gpu_are_put_together(trace) -> None:
    opened = trace(
        device=DEVICES,
        process=PROCESSES,
        kernel="""
            process_id device_id start_ns end_ns
            1          0         100      200
            2          0         150      300
            1          1         100      110
        """,
    )
    assert_rows(
        opened.query("gpu_busy"),
        """
        device_uuid processes activities busy_ns busy_pct gaps longest_gap_ns
        GPU-a       2         2          200     100      0    -
        GPU-b       1         1          10      100      0    -
        """,
    )


def test_containers_name_one_host_differently(trace) -> None:
    opened = trace(
        device=DEVICES,
        process="""
            process_id host
            1          pod-b
            2          pod-a
        """,
        kernel="""
            process_id device_id start_ns end_ns
            1          0         100      200
            2          0         100      200
        """,
    )
    assert_rows(opened.query("gpu_busy"), 'device_uuid host\n GPU-a "pod-a, pod-b"')


def test_without_device_records_each_process_and_device_stands_alone(trace) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns
            1          0         100      200
            2          0         150      300
            2          1         150      160
            2          -         150      155
        """
    )
    rows = sorted(row["busy_ns"] for row in opened.query("gpu_busy"))
    assert rows == [5, 10, 100, 150]


def test_unfinished_work_is_counted_apart(trace) -> None:
    opened = trace(
        device=DEVICES,
        kernel="""
            process_id device_id start_ns end_ns
            1          0         100      200
            1          0         150      -
            1          0         -        -
            1          1         150      -
        """,
    )
    assert_rows(
        opened.query("gpu_busy"),
        """
        device_uuid activities unfinished busy_ns span_ns busy_pct gaps start_ns
        GPU-a       1          2          100     100     100      0    100
        GPU-b       0          1          0       0       -        0    -
        """,
    )


def test_an_activity_of_no_duration_splits_a_gap(trace) -> None:
    opened = trace(
        device=DEVICES,
        kernel="""
            process_id device_id start_ns end_ns
            1          0         100      200
            1          0         250      250
            1          0         300      400
        """,
    )
    assert_rows(
        opened.query("gpu_busy"),
        """
        activities busy_ns span_ns gaps longest_gap_ns
        3          200     300     2    50
        """,
    )


def test_a_device_recorded_twice_doubles_nothing(trace) -> None:
    opened = trace(
        device=DEVICES + "    1 0 GPU-a H200",
        kernel="""
            process_id device_id start_ns end_ns
            1          0         100      200
        """,
    )
    assert_rows(opened.query("gpu_busy"), "device_uuid activities busy_ns\n GPU-a 1 100")


def brute_force(intervals: list[tuple[int, int]]) -> tuple[int, int, int]:
    """Busy time, gaps and the longest gap, one nanosecond after the other."""
    first, last = min(start for start, _ in intervals), max(end for _, end in intervals)
    busy = {at for start, end in intervals for at in range(start, end)}
    touched = {start for start, _ in intervals}
    gaps, run = [], 0
    for at in range(first, last + 1):
        if at in touched and run:
            gaps.append(run)
            run = 0
        if at not in busy and at < last:
            run += 1
        elif run:
            gaps.append(run)
            run = 0
    if run:
        gaps.append(run)
    return len(busy), len(gaps), max(gaps, default=0)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 60), st.integers(0, 12)),
        min_size=1,
        max_size=120,
    )
)
@settings(max_examples=15, deadline=None)  # each opens a trace
def test_the_union_is_that_of_brute_force(work: list[tuple[str, int, int]]) -> None:
    lines = "\n".join(
        # Spread over the tables and over two processes that share GPU a.
        f"{1 if gpu == 'b' or at % 2 else 2} {int(gpu == 'b')} {start} {start + length}"
        for at, (gpu, start, length) in enumerate(work)
    ).splitlines()
    header = "process_id device_id start_ns end_ns\n"
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            table: header + "\n".join(lines[at::3])
            for at, table in enumerate(("kernel", "memcpy", "memset"))
        }
        path = write_tables(Path(folder) / "run", device=DEVICES, **tables)
        with cupti_etl.open(path, settings=ONE_THREAD) as opened:
            rows = {row["device_uuid"]: row for row in opened.query("gpu_busy")}
    for gpu in {gpu for gpu, _, _ in work}:
        row = rows[f"GPU-{gpu}"]
        intervals = [(start, start + length) for each, start, length in work if each == gpu]
        assert row["activities"] == len(intervals)
        assert row["start_ns"] == min(start for start, _ in intervals)
        assert row["end_ns"] == max(end for _, end in intervals)
        found = (row["busy_ns"], row["gaps"], row["longest_gap_ns"] or 0)
        assert found == brute_force(intervals)


def test_gpus_are_said_as_an_option_says_them_too(trace) -> None:
    kernel = "process_id device_id start_ns end_ns\n1 0 10 20\n1 1 30 40\n2 0 50 60"
    whole = trace(device=DEVICES, process=PROCESSES, kernel=kernel)
    for said, gpus in (
        ("all", [0, 1]),
        ("", [0, 1]),
        (0, [0]),
        ("1", [1]),
        ([0], [0]),
        ("0,1", [0, 1]),
    ):
        with whole.scope(gpu=said, rank="all", process="all", from_="0s") as part:
            assert [row["gpu"] for row in part.sql("FROM gpu_busy ORDER BY gpu")] == gpus
    for said in ("0,x", "al", 0.5, [None]):
        with pytest.raises(UsageError, match="not a number, numbers with commas between, or all"):
            whole.scope(gpu=said)
