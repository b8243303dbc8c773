"""Times of NCCL's channels, of which some are those of another operation."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
PROCESS = "process_id rank world_size\n 1 0 2"


def test_a_channel_with_the_time_of_another_operation(trace: MakeTrace) -> None:
    """Of five kernels, the third has one: its others keep their times, by the clock of the rest."""
    kernels, calls, told = [], [], []
    for n in range(1, 6):
        at = n * 1_000_000
        kernels.append(f"1 0 {n} {at} {at + 90} {NAME}")
        calls.append(f"1 5 {n} {at - 60} {at - 30} cuLaunchKernelEx")
        told.append(f"1 {10 * n} - {n} collective 77 0 2 AllReduce {n} 5 {at - 80} {at - 20} - - -")
        # By the GPU's timer, 900,000,000 later.
        gpu = 900_000_000 + at
        for channel in (0, 1):
            start = gpu + 2 - 1_500_000 * ((n, channel) == (3, 1))
            told.append(f"1 {10 * n + 1 + channel} {10 * n} - channel 77 0 2 - - 5 - - {channel}"
                        f" {start} {gpu + 80}")  # fmt: skip
    run = trace(
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
