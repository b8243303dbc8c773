"""Sends and receives of NCCL: those to and from all ranks."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

# A rank of three sends 10 bytes to each, itself too, and receives 20 from each.
TO_ALL = """
    process_id event_id group_id kind communicator rank ranks function size_bytes peer thread_id \
launch_start_ns launch_end_ns
    1 4 3 p2p 77 0 3 Send 10 0 5 1010 1040
    1 5 3 p2p 77 0 3 Send 10 1 5 1010 1040
    1 6 3 p2p 77 0 3 Send 10 2 5 1010 1040
    1 7 3 p2p 77 0 3 Recv 20 0 5 1010 1040
    1 8 3 p2p 77 0 3 Recv 20 1 5 1010 1040
    1 9 3 p2p 77 0 3 Recv 20 2 5 1010 1040
"""
# PyTorch neither sends nor receives what is empty.
ALL_BUT_ONE = "\n".join(TO_ALL.rstrip().splitlines()[:-1])


@pytest.mark.parametrize(
    ("nccl_event", "operator", "collective", "size"),
    [
        (TO_ALL, "aten::add", "AllToAll", 60),
        (ALL_BUT_ONE, "aten::add", "SendRecv", 40),
        (ALL_BUT_ONE, "c10d::alltoall_base_,sizes=[[5,2]]", "AllToAll", 40),
        (ALL_BUT_ONE, "c10d::send", "SendRecv", 40),
    ],
)
def test_to_all_and_from_all(
    trace: MakeTrace, nccl_event: str, operator: str, collective: str, size: int
) -> None:
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1100     1200   ncclDevKernel_SendRecv
        """,
        api_call="""
            process_id thread_id correlation_id domain name             start_ns end_ns
            1          5         1              driver cuLaunchKernelEx 1020     1030
        """,
        nccl_event=nccl_event,
        marker=f"""
            process_id thread_id marker_id event timestamp_ns name       domain
            1          5         1         start 1000         {operator} pytorch.operator
            1          5         1         end   1050         -          pytorch.operator
        """,
        process="process_id rank world_size\n 1 0 3",
    )
    assert_rows(
        opened.sql("SELECT collective, bytes FROM collective"),
        f"collective bytes\n {collective} {size}",
    )


# Stages of a pipeline: at the same time as the first sends to the second, the third sends to the
# fourth. Then the second sends to both of its neighbours, of which one has its half early.
STAGES = "process_id rank world_size host\n" + "\n".join(f" {n + 1} {n} 4 n" for n in range(4))
STAGE_KERNEL = """
    process_id device_id correlation_id start_ns end_ns name
    1          0         1              1100     1200   ncclDevKernel_SendRecv
    2          1         1              1180     1200   ncclDevKernel_SendRecv
    3          2         1              1110     1205   ncclDevKernel_SendRecv
    4          3         1              1190     1205   ncclDevKernel_SendRecv
    1          0         2              2100     2200   ncclDevKernel_SendRecv
    2          1         2              2150     2200   ncclDevKernel_SendRecv
    3          2         2              2120     2160   ncclDevKernel_SendRecv
"""
STAGE_CALL = """
    process_id thread_id correlation_id domain name             start_ns end_ns
    1          5         1              driver cuLaunchKernelEx 1020     1030
    2          5         1              driver cuLaunchKernelEx 1020     1030
    3          5         1              driver cuLaunchKernelEx 1020     1030
    4          5         1              driver cuLaunchKernelEx 1020     1030
    1          5         2              driver cuLaunchKernelEx 2020     2030
    2          5         2              driver cuLaunchKernelEx 2020     2030
    3          5         2              driver cuLaunchKernelEx 2020     2030
"""
STAGE_EVENT = """
    process_id event_id group_id kind communicator rank ranks function size_bytes peer thread_id \
launch_start_ns launch_end_ns
    1 1 1 p2p 77 0 4 Send 30 1 5 1010 1040
    2 1 1 p2p 77 1 4 Recv 30 0 5 1010 1040
    3 1 1 p2p 77 2 4 Send 30 3 5 1010 1040
    4 1 1 p2p 77 3 4 Recv 30 2 5 1010 1040
    1 2 2 p2p 77 0 4 Recv 10 1 5 2010 2040
    2 2 2 p2p 77 1 4 Send 10 0 5 2010 2040
    2 3 2 p2p 77 1 4 Send 10 2 5 2010 2040
    3 2 2 p2p 77 2 4 Recv 10 1 5 2010 2040
"""
STAGE_TABLES = {"kernel": STAGE_KERNEL, "api_call": STAGE_CALL, "process": STAGES}


def test_who_sends_to_whom_in_a_pipeline(trace: MakeTrace) -> None:
    opened = trace(**STAGE_TABLES, nccl_event=STAGE_EVENT)
    assert_rows(
        opened.sql("FROM _collective_match ORDER BY operation, rank"),
        """
        operation rank start_ns matched_by
        1         0    1100     nccl
        1         1    1180     nccl
        2         2    1110     nccl
        2         3    1190     nccl
        3         0    2100     nccl
        3         1    2150     nccl
        3         2    2120     nccl
        """,
    )
    assert_rows(
        opened.query("collective_bandwidth"),
        """
        bytes operations unmatched waiting_ns bus_gbps
        30    2          0         160        1.75
        20    1          0         70         0.4
        """,
    )


def test_without_nccl_it_is_not_known_who_sends_to_whom(trace: MakeTrace) -> None:
    opened = trace(**STAGE_TABLES)
    (row,) = opened.query("collective_bandwidth")
    assert (row["operations"], row["unmatched"], row["waiting_ns"]) == (0, 7, None)
    assert row["reason"] == "it is not known who sends to whom"


def test_sends_of_many_ranks_do_not_tell_the_clocks(trace: MakeTrace) -> None:
    kernels = [
        f"{p} {p - 1} {n} {at} {at + 10} ncclDevKernel_SendRecv"
        for p in (1, 2, 3)
        for n, at in enumerate([1000, 2100, 3300, 4600, 6000, 7500])
    ]
    opened = trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(kernels),
        process="process_id rank world_size host\n 1 0 3 a\n 2 1 3 b\n 3 2 3 c",
    )
    assert_rows(
        opened.sql("SELECT rank, ahead_ns, known_by FROM rank_clock"),
        "rank ahead_ns known_by\n 0 0 host\n 1 - -\n 2 - -",
    )


def test_stages_of_a_pipeline_wait_for_each_other(trace: MakeTrace) -> None:
    # On one host, so that their clocks are one. Rank 0 computes for 40 while it waits, of which the
    # last 10 are transfer; and at last it sends what is kept for rank 1, which comes later: neither
    # waits.
    opened = trace(
        kernel=f"""{STAGE_KERNEL}
            1          0         3              1150     1190   k
            1          0         4              3100     3105   ncclDevKernel_SendRecv
            2          1         4              3300     3310   ncclDevKernel_SendRecv
        """,
        api_call=f"""{STAGE_CALL}
            1          5         4              driver cuLaunchKernelEx 3020     3030
            2          5         4              driver cuLaunchKernelEx 3020     3030
        """,
        nccl_event=f"""{STAGE_EVENT}
            1 9 9 p2p 77 0 4 Send 1 1 5 3010 3040
            2 9 9 p2p 77 1 4 Recv 1 0 5 3010 3040
        """,
        process="process_id rank world_size host\n"
        + "\n".join(f"{n + 1} {n} 4 h" for n in range(4)),
        device="process_id device_id device_uuid\n1 0 a\n2 1 b\n3 2 c\n4 3 d",
    )
    assert_rows(
        opened.sql("FROM _send_wait ORDER BY gpu, start_ns"),
        """
        gpu start_ns wait_ns last_rank last_gpu
        0   1100     80      1         1
        0   2100     50      1         1
        2   1110     80      3         3
        2   2120     30      1         1
        """,
    )
    assert_rows(
        opened.sql("FROM finding_send_wait ORDER BY gpu"),
        """
        gpu saved_ns culprit
        0   100      "above all for rank 1"
        2   110      "above all for rank 3"
        """,
    )
    # Of 205, 135 and 60 without compute, that much is not waiting.
    assert_rows(
        opened.sql("FROM finding_communication ORDER BY gpu"),
        """
        gpu saved_ns culprit
        0   65       "above all SendRecv"
        1   80       "above all SendRecv"
        2   25       "above all SendRecv"
        3   15       "above all SendRecv"
        """,
    )
    assert not list(opened.query("finding_rank_wait"))


def test_where_nobody_knows_who_sends_to_whom_waiting_is_part_of_it(trace: MakeTrace) -> None:
    kernel = "process_id device_id start_ns end_ns name\n1 0 10 20 ncclDevKernel_SendRecv"
    (row,) = trace(kernel=kernel).query("finding_communication")
    assert row["culprit"] == "above all SendRecv (with waiting for its other end)"


@pytest.mark.parametrize(
    ("ranks", "said"), [(1, ""), (2, " (with waiting for ranks that are not in the trace)")]
)
def test_waiting_for_ranks_that_are_not_in_the_trace_is_part_of_it(
    trace: MakeTrace, ranks: int, said: str
) -> None:
    # Profilers write a file for each rank, and one of them is what people have at hand.
    opened = trace(
        process=f"process_id pid rank world_size state\n1 10 0 {ranks} imported",
        kernel="process_id device_id start_ns end_ns name\n1 0 10 20 ncclDevKernel_AllReduce_Sum",
    )
    (row,) = opened.query("finding_communication")
    assert row["culprit"] == "above all AllReduce" + said


def test_waiting_for_ranks_that_were_not_chosen_is_part_of_it(trace: MakeTrace) -> None:
    opened = trace(
        process="process_id pid rank world_size\n1 10 0 2\n2 20 1 2",
        kernel="process_id device_id start_ns end_ns name\n1 0 10 20 ncclDevKernel_AllReduce_Sum"
        "\n2 1 15 20 ncclDevKernel_AllReduce_Sum",
    )
    said = {row["culprit"] for row in opened.query("finding_communication")}
    assert said == {"above all AllReduce"}
    (row,) = opened.scope(rank=0).query("finding_communication")
    assert row["culprit"] == "above all AllReduce (with waiting for ranks that were not chosen)"
