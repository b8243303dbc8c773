"""Collective operations over ranks with clocks that differ."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

NAME = "ncclDevKernel_AllReduce_Sum_f32"


def test_bandwidth_is_of_the_rank_that_waited_least(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    {NAME}
            2          0         1              150      200    {NAME}
            1          0         2              120      170    gemm
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 50       60
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 40           ncclAllReduce
            1          5         1         end   70           -
        """,
        marker_data="process_id marker_id payload_kind payload\n 1 1 uint64 1000",
        process="process_id rank world_size\n 1 0 2\n 2 1 2",
    )
    assert_rows(
        opened.query("collective_bandwidth"),
        """
        collective bytes ranks operations median_ns total_ns exposed_ns waiting_ns \
algorithm_gbps bus_gbps
        AllReduce  1000  2     1          50        150      100        50         \
20             20
        """,
    )


def test_the_rank_that_is_always_late(trace: MakeTrace) -> None:
    # Rank 2 comes 50 later than the others; the clock of rank 1 is 1000000 ahead.
    rows = []
    for at in range(20):
        for rank, late, clock in ((0, 0, 0), (1, at % 3, 1000000), (2, 50, 0)):
            start = 10000 + at * 1000 + late + clock
            rows.append(f"{rank} 0 {start} {10000 + at * 1000 + 100 + clock} {NAME}")
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n" + "\n".join(rows),
        process="process_id rank\n 0 0\n 1 1\n 2 2",
    )
    found = {row["rank"]: row for row in opened.query("rank_stragglers")}
    assert [found[rank]["last"] for rank in range(3)] == [0, 0, 20]
    assert [found[rank]["is_persistent"] for rank in range(3)] == [False, False, True]
    assert found[2]["mean_late_ns"] == pytest.approx(50)
    assert found[1]["mean_late_ns"] == pytest.approx(0.95)
    assert found[1]["clock_offset_ns"] - found[0]["clock_offset_ns"] == pytest.approx(1000000)
    assert found[2]["waiting_caused_ns"] == pytest.approx(20 * 50 + 20 * 50 - 19)
    assert found[2]["own_ns"] > found[0]["own_ns"]


def test_one_rank_alone_is_late_for_nobody(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"process_id device_id start_ns end_ns name\n 1 0 10 20 {NAME}",
        process="process_id rank\n 1 0",
    )
    assert opened.query("rank_stragglers").count() == 0
