"""Ranks in groups of two, as shards and their copies have them: no operation is of all ranks."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows


def groups(rounds: int) -> dict[str, str]:
    """Reductions of ranks 0 and 1 and of 2 and 3, then of 0 and 2: rank 0 is late to all.

    In each round rank 1 waits 50 for it, and rank 2 waits 30. Rank 3 waits 20 for rank 2 in every
    other round, as 2 does for 3.
    """
    kernels, calls, events = [], [], []
    for n in range(rounds):
        at = 1000 * (n + 1)
        odd = 20 * (n % 2)
        for rank, number, communicator, start, end in (
            (0, 1, 7, at + 50, at + 100),
            (1, 1, 7, at, at + 100),
            (2, 1, 8, at + odd, at + 100),
            (3, 1, 8, at + 20 - odd, at + 100),
            (0, 2, 9, at + 330, at + 400),
            (2, 2, 9, at + 300, at + 400),
        ):
            call = 2 * n + number
            process = rank + 1
            kernels.append(f"{process} {rank} {call} {start} {end} ncclDevKernel_AllReduce_Sum_f32")
            calls.append(f"{process} 5 {call} driver cuLaunchKernelEx {start - 20} {start - 10}")
            events.append(
                f"{process} {call} {call} collective {communicator} {rank // number % 2} 2 {n}"
                f" AllReduce 5 {start - 30} {start - 5}"
            )
    return {
        "kernel": "\n".join(
            ["process_id device_id correlation_id start_ns end_ns name", *kernels],
        ),
        "api_call": "\n".join(
            ["process_id thread_id correlation_id domain name start_ns end_ns", *calls],
        ),
        "nccl_event": "\n".join(
            [
                "process_id event_id group_id kind communicator rank ranks sequence function"
                " thread_id launch_start_ns launch_end_ns",
                *events,
            ],
        ),
        "process": "\n".join(
            ["process_id rank world_size host", *(f"{rank + 1} {rank} 4 n" for rank in range(4))],
        ),
    }


def test_a_rank_that_is_late_in_its_groups_is_found(trace: MakeTrace) -> None:
    opened = trace(**groups(12))
    assert_rows(
        opened.sql("FROM collective_wait ORDER BY rank"),
        """
        rank operations wait_ns caused_ns last is_straggler
        0    24         0       960       24   true
        1    12         600     0         0    false
        2    24         480     120       6    false
        3    12         120     120       6    false
        """,
    )
    # Rank 1 waits 600 for it, and rank 2 meanwhile 360.
    assert_rows(
        opened.query("finding_straggler"),
        "saved_ns\n600",
    )
    assert [row["culprit"] for row in opened.query("finding_straggler")] == ["rank 0"]


def test_waiting_for_others_is_no_time_of_communication(trace: MakeTrace) -> None:
    tables = groups(12)
    # Rank 1 computes for 40 while it communicates, of which it waits for 30.
    beside = [f"2 1 - {1000 * (n + 1) + 20} {1000 * (n + 1) + 60} k" for n in range(12)]
    device = "process_id device_id device_uuid\n1 0 a\n2 1 b\n3 2 c\n4 3 d"
    kernel = "\n".join([tables["kernel"], *beside])
    opened = trace(**tables | {"kernel": kernel, "device": device})
    assert_rows(
        opened.sql("FROM _exposed_wait ORDER BY gpu, last_rank"),
        """
        gpu last_rank wait_ns
        1   0         240
        2   0         360
        2   3         120
        3   2         120
        """,
    )
    assert_rows(
        opened.sql("FROM finding_rank_wait ORDER BY gpu"),
        """
        gpu saved_ns culprit
        2   120      "above all for rank 3"
        3   120      "above all for rank 2"
        """,
    )
    # Without waiting: 50 and 70 of rank 0, 50 of which 10 have compute beside them of rank 1, ...
    assert_rows(
        opened.sql("FROM finding_communication ORDER BY gpu"),
        "gpu saved_ns\n0 1440\n1 480\n2 1800\n3 960",
    )


def test_of_all_ranks_the_longest_wait_for_a_straggler_counts(trace: MakeTrace) -> None:
    rows = []
    for at in range(12):
        begin = 1000 * (at + 1) + at * at * 37 % 400
        rows += [
            f"{rank + 1} {rank} {begin + late} {begin + 100} ncclDevKernel_AllReduce_Sum_f32"
            for rank, late in enumerate((50, 0, at % 2, 10))
        ]
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n" + "\n".join(rows),
        process="process_id rank host\n 1 0 n\n 2 1 n\n 3 2 n\n 4 3 n",
    )
    assert_rows(opened.query("finding_straggler"), "saved_ns\n600")


@pytest.mark.parametrize(
    "name", ["ncclDevKernel_AllReduce_Sum_f32", "nvshmemi_barrier_kernel(int)"]
)
def test_all_wait_for_the_last_at_a_barrier(trace: MakeTrace, name: str) -> None:
    rows = []
    for at in range(12):
        begin = 1000 * (at + 1) + at * at * 37 % 400
        rows += [f"{rank + 1} {rank} {begin + 50 * rank} {begin + 100} {name}" for rank in (0, 1)]
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n" + "\n".join(rows),
        process="process_id rank host\n 1 0 n\n 2 1 n",
    )
    assert_rows(
        opened.sql("FROM collective_wait ORDER BY rank"),
        "rank operations wait_ns caused_ns\n 0 12 600 0\n 1 12 0 600",
    )
    assert_rows(
        opened.sql("FROM rank_stragglers ORDER BY rank"),
        "rank operations waiting_caused_ns\n 0 12 0\n 1 12 600",
    )


def test_what_ends_nearer_to_the_next_operation_is_of_the_one_between(trace: MakeTrace) -> None:
    # The second of rank 1 ends 60 after that of rank 0, and 40 before the third one.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         900      1000   ncclDevKernel_AllReduce_Sum_f32
            1          0         1500     2000   ncclDevKernel_AllReduce_Sum_f32
            1          0         2010     2100   ncclDevKernel_AllReduce_Sum_f32
            2          1         950      1000   ncclDevKernel_AllReduce_Sum_f32
            2          1         1700     2060   ncclDevKernel_AllReduce_Sum_f32
            2          1         2070     2100   ncclDevKernel_AllReduce_Sum_f32
        """,
        process="process_id rank host\n 1 0 n\n 2 1 n",
    )
    assert_rows(
        opened.sql("FROM _collective_match ORDER BY operation, rank"),
        """
        operation rank end_ns
        1         0    1000
        1         1    1000
        2         0    2000
        2         1    2060
        3         0    2100
        3         1    2100
        """,
    )
