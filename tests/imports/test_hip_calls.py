"""AMD's runtime says with the call how large a launch is, and not always with the kernel."""

from __future__ import annotations

from pathlib import Path

from imports.conftest import Import, event, kineto
from support.trace import assert_rows

HIP = {"block": [256, 1, 1], "shared memory": 512}


def test_grids_and_blocks_of_calls_are_those_of_their_kernels(
    tmp_path: Path, imported: Import
) -> None:
    # The second call takes threads; 1000 of them are four blocks.  Of the kernel of the third, the
    # call says nothing new; the graph's and the last say nothing, or what cannot be.
    place = {"device": 2, "stream": 0}
    trace = imported(
        kineto(
            tmp_path / "a.json",
            event("kernel", "before_its_call", 1e15 + 9, 1, 2, correlation=1, **place),
            event("cuda_runtime", "hipLaunchKernel", 1e15, 1, correlation=1, grid=[8, 4, 2], **HIP),
            event(
                "cuda_runtime",
                "hipExtModuleLaunchKernel",
                1e15 + 1,
                1,
                correlation=2,
                grid=[1000, 1, 1],
                **HIP,
            ),
            event(
                "kernel",
                "in_threads",
                1e15 + 19,
                1,
                2,
                correlation=2,
                grid=[1000, 1, 1],
                block=[256, 1, 1],
                **place,
            ),
            event("cuda_runtime", "hipLaunchKernel", 1e15 + 2, 1, correlation=3),
            event(
                "kernel",
                "own",
                1e15 + 29,
                1,
                2,
                correlation=3,
                grid=[7, 1, 1],
                block=[64, 2, 1],
                **place,
            ),
            event("cuda_runtime", "hipGraphLaunch", 1e15 + 3, 1, correlation=4),
            event("kernel", "of_a_graph", 1e15 + 39, 1, 2, correlation=4, **place),
            event(
                "cuda_runtime",
                "hipModuleLaunchKernel",
                1e15 + 4,
                1,
                correlation=5,
                grid=[-3, 0, 1],
                block=[0, 1, 1],
            ),
            event("kernel", "nonsense", 1e15 + 49, 1, 2, correlation=5, **place),
        )
    )
    assert_rows(
        trace.sql("FROM kernel ORDER BY start_ns"),
        """
        name            grid_x grid_y grid_z block_x block_y block_z dynamic_shared_bytes
        before_its_call 8      4      2      256     1       1       512
        in_threads      4      1      1      256     1       1       512
        own             7      1      1      64      2       1       -
        of_a_graph      -      -      -      -       -       -       -
        nonsense        -      -      1      -       1       1       -
        """,
    )


def test_sizes_follow_the_work_to_its_process(tmp_path: Path, imported: Import) -> None:
    # Whose the work is is known only when its caller is, who is not the first in the file.
    trace = imported(
        kineto(
            tmp_path / "a.json",
            event("cpu_op", "aten::add", 1e15, 1, pid=8, tid=8),
            event("kernel", "k", 1e15 + 9, 1, 2, correlation=1, device=2, stream=0),
            event("cuda_runtime", "hipLaunchKernel", 1e15, 1, correlation=1, grid=[8, 1, 1], **HIP),
        )
    )
    assert_rows(
        trace.sql("SELECT pid, grid_x, block_x FROM kernel JOIN process USING (process_id)"),
        "pid grid_x block_x\n 7 8 256",
    )


def test_a_copy_from_or_to_the_host_is_one_if_its_call_says_so(
    tmp_path: Path, imported: Import
) -> None:
    """ROCm reports those of pinned memory as copies within the device."""
    within = "Memcpy DtoD (Device -> Device)"
    copies = [
        # The copy may be before its call in the file.
        ("hipMemcpyAsync", {"kind": "1", "bytes": "8"}, within),
        ("hipMemcpyWithStream", {"kind": "2"}, within),
        ("hipMemcpyAsync", {"kind": "3"}, within),
        ("hipMemcpyAsync", {"kind": "4"}, within),
        ("hipGraphLaunch", {"kind": "1"}, within),
        ("hipMemcpyWithStream", {"kind": "1"}, "Memcpy HtoD (Host -> Device)"),
    ]
    events = []
    for number, (call, said, copy) in enumerate(copies, 1):
        at = 1e15 + 10 * number
        events += [
            event("gpu_memcpy", copy, at + 5, 1, 2, correlation=number, device=2, stream=0),
            event("cuda_runtime", call, at, 1, correlation=number, **said),
        ]
    trace = imported(kineto(tmp_path / "a.json", *events))
    assert_rows(
        trace.sql("FROM memcpy ORDER BY start_ns"),
        """
        correlation_id copy_kind src_kind dst_kind
        1              HtoD      host     device
        2              DtoH      device   host
        3              DtoD      device   device
        4              DtoD      device   device
        5              DtoD      device   device
        6              HtoD      host     device
        """,
    )
