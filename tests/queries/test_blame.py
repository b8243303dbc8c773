"""What findings say is to blame: what the time that could be saved went into, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.findings import find
from cupti_etl.api import Trace

DEVICE = "process_id device_id device_uuid\n1 0 GPU-a"
BEGINS = (0, 300_000, 600_000)
# Of what is launched, at the begin of each and in the end.
CALLS = tuple(enumerate((10, *BEGINS[1:], 900_000), 1))


def test_the_call_in_which_the_gpu_was_idle(trace: MakeTrace) -> None:
    # The device is waited for longer, and works meanwhile.
    opened = trace(
        device=DEVICE,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              0        10000  k
            1          0         2              12200    13000  k
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         3              runtime 10       9990   cudaDeviceSynchronize
            1          5         4              runtime 10100    12000  cudaStreamSynchronize
            1          5         2              runtime 12100    12110  cudaLaunchKernel
        """,
    )
    assert_rows(
        opened.query("finding_synchronizing"),
        "saved_ns culprit\n1900 'above all in cudaStreamSynchronize'",
    )


def test_waiting_before_the_first_work_and_after_the_last_is_not_to_blame(
    trace: MakeTrace,
) -> None:
    opened = trace(
        device=DEVICE,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              10000    11000  k
            1          0         2              12200    13000  k
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         3              runtime 0        9000   cudaDeviceSynchronize
            1          5         1              runtime 9100     9110   cudaLaunchKernel
            1          5         4              runtime 10100    12000  cudaStreamSynchronize
            1          5         2              runtime 12100    12110  cudaLaunchKernel
            1          5         5              runtime 15000    20000  cudaDeviceSynchronize
        """,
    )
    assert_rows(
        opened.query("finding_synchronizing"),
        "saved_ns culprit\n1110 'above all in cudaStreamSynchronize'",
    )


def test_a_long_gap_is_not_of_the_range_in_its_middle_alone(trace: MakeTrace) -> None:
    # From 500 to 1,000,000 an optimizer of the host computes, with three operators.
    opened = trace(
        device=DEVICE,
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 10000        update
            1          5         2         start 10000        aten::sqrt
            1          5         2         end   340000       -
            1          5         3         start 340000       aten::div
            1          5         3         end   660000       -
            1          5         4         start 660000       aten::add_
            1          5         4         end   990000       -
            1          5         1         end   990000       -
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         1              runtime 0        10     cudaLaunchKernel
            1          5         2              runtime 999900   999910 cudaLaunchKernel
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns  name
            1          0         1              20       500     k
            1          0         2              1000000  1000100 k
        """,
    )
    assert_rows(opened.query("finding_host"), 'saved_ns culprit\n999400 "most of it in update"')
    assert_rows(opened.sql("FROM _outside_range"), "state name total_ns\nhost update 999400")


def test_what_beginning_a_kernel_takes_after_the_host_is_no_waiting_on_a_queue(
    trace: MakeTrace,
) -> None:
    # The host comes late with the second, which begins 5 us after its call; the third waits for 90.
    opened = trace(
        device=DEVICE,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         1              runtime 0        10     cudaLaunchKernel
            1          5         2              runtime 90000    95000  cudaLaunchKernel
            1          5         3              runtime 96000    97000  cudaLaunchKernel
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns  name
            1          0         1              20       1000    a
            1          0         2              100000   110000  b
            1          0         3              200000   210000  c
        """,
    )
    assert_rows(
        opened.query("finding_queued"),
        'saved_ns culprit kernel\n90000 "above all before" c',
    )


@pytest.mark.slow
def test_copies_beside_kernels_are_not_to_blame(trace: MakeTrace) -> None:
    kernel = "process_id device_id start_ns end_ns name\n1 0 0 1000 k"
    opened = trace(
        device=DEVICE,
        kernel=kernel,
        memcpy="""
            process_id device_id start_ns end_ns copy_kind src_kind dst_kind
            1          0         0        900    HtoD      pinned   device
            1          0         2000     2300   DtoH      device   pageable
        """,
    )
    # What can be changed is the memory of the host.
    assert_rows(
        opened.query("finding_copies"),
        'saved_ns culprit\n300 "above all DtoH to pageable memory"',
    )
    for kinds, culprit in (
        ("HtoD pageable device", "HtoD from pageable memory"),
        ("DtoD device device", "DtoD"),
        ("DtoH device -", "DtoH"),
    ):
        opened = trace(
            device=DEVICE,
            kernel=kernel,
            memcpy="process_id device_id start_ns end_ns copy_kind src_kind dst_kind\n"
            f"1 0 2000 2300 {kinds}",
        )
        assert_rows(opened.query("finding_copies"), f'saved_ns culprit\n300 "above all {culprit}"')
    opened = trace(
        device=DEVICE,
        kernel=kernel,
        memcpy="process_id device_id start_ns end_ns copy_kind src_kind\n1 0 2000 2030 DtoH device",
        memset="process_id device_id start_ns end_ns\n1 0 3000 3400",
    )
    assert_rows(opened.query("finding_copies"), 'saved_ns culprit\n430 "above all memsets"')
    # Without kernels, there is nothing to copy beside.
    opened = trace(device=DEVICE, memset="process_id device_id start_ns end_ns\n1 0 3000 3400")
    assert_rows(opened.query("finding_copies"), "saved_ns culprit")


def test_what_allocating_costs_is_not_of_copies(trace: MakeTrace) -> None:
    # The GPU is idle for 8,900 ns in cudaMalloc and 11,000 ns in cudaMemcpy.
    opened = trace(
        device=DEVICE,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              0        100    k
            1          0         4              30100    30200  k
        """,
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind src_kind dst_kind
            1          0         3              9100     19100  HtoD      pageable device
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         2              runtime 100      9000   cudaMalloc
            1          5         3              runtime 9000     30000  cudaMemcpy
            1          5         4              runtime 30010    30020  cudaLaunchKernel
        """,
    )
    assert_rows(
        opened.query("memcpy_blocking"),
        "api_name host_ns saved_ns idle_ns\ncudaMemcpy 21000 16000 11000",
    )
    assert_rows(
        opened.query("finding_blocking_copies"),
        'saved_ns culprit\n11000 "one by cudaMemcpy"',
    )
    assert_rows(
        opened.query("finding_memory_calls"), 'saved_ns culprit\n8900 "above all in cudaMalloc"'
    )


def test_of_calls_about_memory_that_in_which_the_gpu_was_idle_is_to_blame(
    trace: MakeTrace,
) -> None:
    # cudaFree takes longest, beside a kernel; the copy is a wait, as it ends before its call.
    opened = trace(
        device=DEVICE,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              0        10000  k
            1          0         6              20000    20100  k
        """,
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind
            1          0         4              15000    15100  DtoH
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         2              runtime 100      9900   cudaFree
            1          5         3              runtime 11000    12000  cudaMemsetAsync
            1          5         4              runtime 12000    17000  cudaMemcpyAsync
            1          5         5              runtime 17000    17500  cudaMalloc
            1          5         6              runtime 19000    19100  cudaLaunchKernel
        """,
    )
    assert_rows(
        opened.query("finding_memory_calls"),
        'saved_ns culprit\n1500 "above all in cudaMemsetAsync"',
    )


def test_of_other_calls_that_in_which_the_gpu_was_idle_is_to_blame(trace: MakeTrace) -> None:
    # cuCtxCreate_v4 takes longest, beside a kernel.
    opened = trace(
        device=DEVICE,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              0        10000  k
            1          0         6              20000    20100  k
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         2              driver  100      9900   cuCtxCreate_v4
            1          5         3              runtime 11000    12000  cudaMalloc
            1          5         4              runtime 12000    15000  cudaStreamCreate
            1          5         5              runtime 15000    16000  cudaGraphInstantiate
            1          5         6              runtime 19000    19100  cudaLaunchKernel
        """,
    )
    assert_rows(
        opened.query("finding_other_calls"),
        'saved_ns culprit\n4000 "above all in cudaStreamCreate"',
    )


def test_waiting_for_input_is_said(trace: MakeTrace) -> None:
    opened = trace(
        device=DEVICE,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1000     2000   k
            1          0         2              402000   403000 k
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         1              runtime 10       20     cudaLaunchKernel
            1          5         2              runtime 401900   401910 cudaLaunchKernel
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 100000       enumerate(DataLoader)#0
            1          5         2         start 120000       'resize'
            1          5         2         end   380000       -
            1          5         1         end   390000       -
        """,
    )
    # Of the gap, 290 us are in the loader, and 260 of these in what it calls.
    assert_rows(opened.query("finding_input"), 'saved_ns culprit\n290000 "most of it in resize"')
    # The rest of the gap, before and after.
    assert_rows(
        opened.query("finding_host"), 'saved_ns culprit kernel\n109900 "above all before" k'
    )


@pytest.mark.parametrize(
    ("around", "inner", "culprit"),
    [
        ("rollout", ("env 1", "env 2", "env 3"), "most of it in env N"),
        ("rollout", ("think", "act", "look"), "most of it in rollout"),
        # All work is in steps, and the host did something else in each.
        ("train_step", ("think", "act", "look"), "above all before"),
        ("rollout", ("aten::add, sizes = [[2]]",) * 3, "most of it in aten::add"),
    ],
)
def test_the_range_in_which_the_host_was(
    trace: MakeTrace, around: str, inner: tuple[str, ...], culprit: str
) -> None:
    marks = [
        f'1 5 {n} start {at} "{name}"\n1 5 {n} end {end} -'
        for n, (name, at, end) in enumerate(
            [
                (around, 5, 900_900),
                *(
                    (name, at + 50_000, at + 250_000)
                    for name, at in zip(inner, BEGINS, strict=True)
                ),
            ]
        )
    ]
    opened = trace(
        device=DEVICE,
        marker="\n".join(["process_id thread_id marker_id event timestamp_ns name", *marks]),
        api_call="\n".join(
            [
                "process_id thread_id correlation_id domain start_ns end_ns name",
                *(f"1 5 {n} runtime {at} {at + 10} cudaLaunchKernel" for n, at in CALLS),
            ]
        ),
        kernel="\n".join(
            [
                "process_id device_id correlation_id start_ns end_ns name",
                *(f"1 0 {n} {at + 20} {at + 500} k" for n, at in CALLS),
            ]
        ),
    )
    assert_rows(opened.query("finding_host"), f'saved_ns culprit\n898490 "{culprit}"')


def test_executions_of_communication_are_as_slow_as_others_let_them_wait(
    trace: MakeTrace,
) -> None:
    def kernels(name: str) -> str:
        lengths = [10] * 20 + [110]
        return "process_id device_id start_ns end_ns name\n" + "\n".join(
            f"1 0 {at * 1000} {at * 1000 + ns} {name}" for at, ns in enumerate(lengths)
        )

    gemm = trace(kernel=kernels("gemm"))
    assert_rows(gemm.query("finding_slow_executions"), 'saved_ns culprit\n100 "in gemm"')
    nccl = trace(kernel=kernels("ncclDevKernel_AllReduce"))
    assert nccl.query("finding_slow_executions").count() == 0


def _opened_with_steps(trace: MakeTrace, begins: Sequence[int]) -> Trace:
    return trace(
        device=DEVICE,
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        + "\n".join(f"1 5 {at} start {at} step\n1 5 {at} end {at + 99} -" for at in begins),
        api_call="process_id thread_id correlation_id domain start_ns end_ns name\n"
        + "\n".join(f"1 5 {at + 1} runtime {at} {at + 1} cudaLaunchKernel" for at in begins),
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {at + 1} {at + 5} {at + 15} k" for at in begins),
    )


def test_one_slow_step_is_no_steps(trace: MakeTrace) -> None:
    begins = [0, 100, 202, 301, 400, 900, 1003, 1102, 1204, 1304]
    opened = _opened_with_steps(trace, begins)
    assert_rows(opened.query("finding_slow_steps"), 'saved_ns culprit\n400 "step 4"')


def test_of_many_slow_steps_the_first_are_named(trace: MakeTrace) -> None:
    begins = list(accumulate([0, *([100, 101, 102] * 3 + [500]) * 9]))
    opened = _opened_with_steps(trace, begins)
    assert_rows(
        opened.query("finding_slow_steps"),
        'culprit\n"steps 9, 19, 29, 39, 49 and 4 more"',
    )


@pytest.mark.slow
def test_the_name_of_a_kernel_is_cut_and_not_what_is_said_of_it(trace: MakeTrace) -> None:
    name = f"sm80_xmma_{'gemm_' * 20}cublas"
    with trace(
        device="""
            process_id device_id device_uuid multiprocessors threads_per_warp \
max_warps_per_multiprocessor max_blocks_per_multiprocessor max_registers_per_multiprocessor \
max_shared_per_multiprocessor_bytes compute_capability_major
            1 0 GPU-a 132 32 64 32 65536 233472 9
        """,
        kernel=f"""
            process_id device_id start_ns end_ns grid_x grid_y grid_z block_x block_y block_z \
registers_per_thread static_shared_bytes dynamic_shared_bytes name
            1 0 0 1000 1 1 1 32 1 1 16 0 0 {name}
        """,
    ) as opened:
        (found,) = find(opened)
    before, _, kernel = found.culprit.partition(" in ")
    assert before == "with grid 1x1x1 and block 32x1x1"
    assert kernel.startswith("sm80_xmma_gemm_")
    assert kernel.endswith("cublas")
    assert "…" in kernel


@pytest.mark.slow
def test_a_gpu_that_is_not_known_is_not_called_by_a_number(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 0 100 a\n 2 1 0 100 a",
        memcpy="process_id device_id start_ns end_ns copy_kind src_kind dst_kind\n"
        " 1 0 100 900 HtoD pageable device\n 2 1 100 900 HtoD pageable device",
        device="process_id device_id device_uuid\n 1 0 GPU-x",
    )
    (finding,) = find(opened)
    assert finding.text.startswith("GPU 0 and a GPU without a device record: busy with nothing but")
