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


SAID = """\
'{"Collective name": "%s", "dtype": "%s", "In msg nelems": %d, "Out msg nelems": %d, \
"Group size": %d, "Process Group Name": "%s"}'"""


def test_what_pytorch_says_of_a_collective(trace: MakeTrace) -> None:
    # The first kernel carries the arguments itself; of the others the range around the call does,
    # whose payload is the number of an operator, and no size.
    gather = SAID % ("_allgather_base", "BFloat16", 50, 100, 2, "tp")
    spread = SAID % ("all_to_allv", "Float", 10, 10, 4, "ep")
    again = SAID % ("_allgather_base", "Half", 5, 10, 2, "dp")
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    ncclDevKernel_AllGather_RING_LL
            1          0         2              300      400    ncclDevKernel_SendRecv
            1          0         3              500      600    ncclDevKernel_AllGather_RING_LL
            1          0         4              700      800    ncclDevKernel_AllGather_RING_LL
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 50       60
            1          5         2              runtime cudaLaunchKernel 150      160
            1          5         3              runtime cudaLaunchKernel 250      260
            1          5         4              runtime cudaLaunchKernel 350      360
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name               domain
            1          5         1         start 40           record_param_comms cpu_op
            1          5         1         end   70           -                  cpu_op
            1          5         2         start 140          record_param_comms cpu_op
            1          5         3         start 145          nccl:all_to_all    user_annotation
            1          5         3         end   165          -                  user_annotation
            1          5         2         end   170          -                  cpu_op
            1          5         4         start 240          record_param_comms cpu_op
            1          5         4         end   270          -                  cpu_op
            1          5         5         start 345          nccl:_all_gather   user_annotation
            1          5         5         end   365          -                  user_annotation
        """,
        marker_data="process_id marker_id payload_kind payload\n 1 3 int64 777\n 1 5 int64 778",
        argument=f"""
            process_id marker_id correlation_id arguments
            1          -         1              {gather}
            1          1         -              {spread}
            1          2         -              {spread}
            1          4         -              {again}
        """,
        process="process_id rank world_size\n 1 0 8",
    )
    assert_rows(
        opened.sql("FROM collective ORDER BY start_ns"),
        """
        collective number bytes elements element_type group_size process_group
        AllGather  0      200   100      BFloat16     2          tp
        AllToAll   0      40    10       Float        4          ep
        AllGather  0      20    10       Half         2          dp
        AllGather  0      -     -        -            -          -
        """,
    )
    assert_rows(
        opened.sql("FROM collective_bandwidth ORDER BY bytes NULLS LAST"),
        """
        collective bytes element_type ranks algorithm_gbps bus_gbps
        AllGather  20    Half         2     0.2            0.1
        AllToAll   40    Float        4     0.4            0.3
        AllGather  200   BFloat16     2     2              1
        AllGather  -     -            8     -              -
        """,
    )


def test_nccl_gives_the_part_of_one_rank(trace: MakeTrace) -> None:
    size = """'{"NCCL communicator ID": 7, "Message size [bytes]": 100}'"""
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    ncclDevKernel_AllGather_RING_LL
            1          0         2              300      400    ncclDevKernel_AllReduce_Sum_f32
            1          0         3              500      600    ncclDevKernel_AllReduce_Sum_f32
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 50       60
            1          5         2              runtime cudaLaunchKernel 150      160
            1          5         3              runtime cudaLaunchKernel 250      260
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name          domain
            1          5         1         start 40           ncclAllGather NCCL
            1          5         1         end   70           -             NCCL
            1          5         2         start 140          ncclAllReduce NCCL
            1          5         2         end   170          -             NCCL
            1          5         3         start 240          ncclAllReduce NCCL
            1          5         3         end   270          -             NCCL
        """,
        argument=f"""
            process_id marker_id arguments
            1          1         {size}
            1          2         {size}
            1          3         "Message size [bytes]: no JSON"
        """,
        process="process_id rank world_size\n 1 0 8",
    )
    assert_rows(
        opened.sql("FROM collective ORDER BY start_ns"), "bytes number\n 800 0\n 100 0\n - 1"
    )
