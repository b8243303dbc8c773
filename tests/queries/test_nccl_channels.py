"""Times of NCCL's channels, of which some are those of another operation."""

from __future__ import annotations

from collections.abc import Iterable

from support.trace import MakeTrace, assert_rows

import cupti_etl

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
PROCESS = "process_id rank world_size\n 1 0 2"
# What the GPU's timer is ahead of the clock of kernels.
GPU = 900_000_000


def operations(trace: MakeTrace, channels: Iterable[tuple[int, int, int, int]]) -> cupti_etl.Trace:
    """Kernels of 90 ns at each millisecond; of channels: kernel, channel, begin and end as told."""
    channels = list(channels)
    kernels, calls, told = [], [], []
    for n in dict.fromkeys(n for n, *_ in channels):
        at = n * 1_000_000
        kernels.append(f"1 0 {n} {at} {at + 90} {NAME}")
        calls.append(f"1 5 {n} {at - 60} {at - 30} cuLaunchKernelEx")
        told.append(f"1 {10 * n} - {n} collective 77 0 2 AllReduce {n} 5 {at - 80} {at - 20} - - -")
    for n, channel, start, end in channels:
        told.append(f"1 {10 * n + 1 + channel} {10 * n} - channel 77 0 2 - - 5 - - {channel}"
                    f" {GPU + start} {GPU + end}")  # fmt: skip
    return trace(
        process=PROCESS,
        kernel="\n".join(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
        api_call="\n".join(
            ["process_id thread_id correlation_id start_ns end_ns name", *calls]
        ),
        nccl_event="\n".join(
            ["process_id event_id parent_id group_id kind communicator rank ranks function"
             " sequence thread_id launch_start_ns launch_end_ns channel gpu_start gpu_end", *told]
        ),
    )  # fmt: skip


def test_a_channel_with_the_start_of_another_operation(trace: MakeTrace) -> None:
    """Of five kernels, the third has one: its others keep their times, by the clock of the rest."""
    run = operations(
        trace,
        (
            (n, channel, n * 1_000_000 + 2 - 1_500_000 * ((n, channel) == (3, 1)),
             n * 1_000_000 + 80)
            for n in range(1, 6)
            for channel in (0, 1)
        ),
    )  # fmt: skip
    assert_rows(
        run.sql("SELECT event_id, channel, start_ns, end_ns FROM _nccl_channel"
                " WHERE event_id IN (20, 30) ORDER BY event_id, channel"),
        """
        event_id channel start_ns end_ns
        20       0       2000000  2000078
        20       1       2000000  2000078
        30       0       3000000  3000078
        30       1       -        3000078
        """,
    )  # fmt: skip


def test_what_a_rank_sends_to_itself_shifts_the_times_of_a_channel(trace: MakeTrace) -> None:
    """The second kernel does so in channel 0, of which NCCL does not tell: later ones are told the
    times before their own there, and nobody those of the last."""
    run = operations(
        trace,
        [
            (1, 0, 1_000_002, 1_000_080), (1, 1, 1_000_002, 1_000_082),
            (2, 1, 2_000_002, 2_000_084),
            (3, 0, 2_000_002, 2_000_040), (3, 1, 3_000_002, 3_000_086),
            (4, 0, 3_000_002, 3_000_060), (4, 1, 4_000_002, 4_000_088),
            (5, 0, 4_000_002, 4_000_070), (5, 1, 5_000_002, 5_000_090),
        ],
    )  # fmt: skip
    assert_rows(
        run.sql("SELECT event_id, channel, start_ns, end_ns FROM _nccl_channel"
                " ORDER BY event_id, channel"),
        """
        event_id channel start_ns end_ns
        10       0       1000000  1000078
        10       1       1000000  1000080
        20       1       2000000  2000082
        30       0       3000000  3000058
        30       1       3000000  3000084
        40       0       4000000  4000068
        40       1       4000000  4000086
        50       0       -        -
        50       1       5000000  5000088
        """,
    )  # fmt: skip
