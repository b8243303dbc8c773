"""GPUs that do different work, as the stages of a pipeline do: each has a culprit of its own."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.findings import find

SHAPE = "grid_x grid_y grid_z block_x block_y block_z registers_per_thread"
DEVICES = """
    process_id device_id device_uuid compute_capability_major compute_capability_minor multiprocessors max_blocks_per_multiprocessor max_warps_per_multiprocessor threads_per_warp max_registers_per_multiprocessor max_shared_per_multiprocessor_bytes
    1          0         A           9                        0                        132             32                            64                           32               65536                            233472
    2          1         B           9                        0                        132             32                            64                           32               65536                            233472
"""  # noqa: E501


def test_a_kernel_that_does_not_fill_one_gpu_is_not_to_blame_on_another(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id start_ns end_ns name     {SHAPE}
            1          0         0        1000   attend   1 1 1 64 1 1 32
            2          1         0        600    embed    1 1 1 64 1 1 32
            2          1         600      700    classify 1 1 1 64 1 1 32
        """,
        device=DEVICES,
    )
    assert_rows(
        opened.sql("SELECT gpu, culprit, kernel FROM finding_small_grids ORDER BY gpu"),
        """
        gpu culprit                                                              kernel
        0   "with grid 1x1x1 and block 64x1x1 in"                                attend
        1   "2 names and shapes, above all with grid 1x1x1 and block 64x1x1 in" embed
        """,
    )
    assert [each.text for each in find(opened)] == [
        "GPUs 0-1: kernels do not fill the device, with grid 1x1x1 and block 64x1x1 in attend"
        " on GPU 0"
    ]


def test_slow_executions_are_those_of_the_gpu(trace: MakeTrace) -> None:
    rows = "".join(
        f"{1 + gpu} {gpu} {1 + at * 1000} {1 + at * 1000 + (10 if at else 100 + gpu)} {name}\n"
        for gpu, name in enumerate(("attend", "embed"))
        for at in range(20)
    )
    opened = trace(kernel=f"process_id device_id start_ns end_ns name\n{rows}", device=DEVICES)
    assert_rows(
        opened.sql("FROM finding_slow_executions ORDER BY gpu"),
        "gpu saved_ns culprit\n0 90 'in attend'\n1 91 'in embed'",
    )


def test_calls_that_keep_the_host_are_those_of_the_gpu(trace: MakeTrace) -> None:
    opened = trace(
        device=DEVICES,
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         0        100    k
            1          0         90000    90100  k
            2          1         0        100    k
            2          1         90000    90100  k
        """,
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind src_kind dst_kind
            1          0         3              9100     19100  HtoD      pageable device
            1          0         4              39100    49100  HtoD      pageable device
            2          1         3              9100     19100  HtoD      pageable device
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         3              runtime 9000     30000  cudaMemcpy
            1          5         4              runtime 39000    60000  cudaMemcpy
            2          6         3              runtime 9000     30000  cudaMemcpyAsync
        """,
    )
    assert_rows(
        opened.sql("FROM finding_blocking_copies ORDER BY gpu"),
        """
        gpu culprit
        0   "2 of them, above all by cudaMemcpy"
        1   "one by cudaMemcpyAsync"
        """,
    )


def test_kernels_that_follow_one_another_are_those_of_the_gpu(trace: MakeTrace) -> None:
    mul, add, sums = (
        f"'void at::native::{name}<4, at::native::{functor}<float>>(int)'"
        for name, functor in (
            ("vectorized_elementwise_kernel", "MulFunctor"),
            ("vectorized_elementwise_kernel", "AddFunctor"),
            ("reduce_kernel", "ReduceOp"),
        )
    )
    opened = trace(
        device=DEVICES,
        kernel=f"""
            process_id device_id context_id stream_id start_ns end_ns name
            1          0         1          7         0        40     {mul}
            1          0         1          7         100      160    {sums}
            2          1         1          7         0        40     {add}
            2          1         1          7         100      160    {sums}
            2          1         1          7         200      240    {add}
            2          1         1          7         300      360    {sums}
        """,
    )
    assert_rows(
        opened.sql("SELECT gpu, culprit, kernel FROM finding_fusion ORDER BY gpu"),
        f"""
        gpu culprit                       kernel
        0   'once, after'                 {mul}
        1   '3 times, above all after' {add}
        """,
    )


def test_small_copies_are_those_of_the_gpu(trace: MakeTrace) -> None:
    opened = trace(
        device=DEVICES,
        memcpy="""
            process_id device_id context_id stream_id start_ns end_ns copy_kind bytes
            1          0         1          7         0        10     HtoD      8
            1          0         1          7         20       30     HtoD      8
            2          1         1          7         0        10     HtoD      8
            2          1         1          7         20       30     HtoD      8
            2          1         1          7         40       50     HtoD      8
        """,
    )
    assert_rows(
        opened.sql("FROM finding_small_copies ORDER BY gpu"),
        """
        gpu culprit
        0   "2 copies HtoD in 1 run"
        1   "3 copies HtoD in 1 run"
        """,
    )


def test_what_most_is_of_is_summed_over_threads_and_directions(trace: MakeTrace) -> None:
    opened = trace(
        device=DEVICES,
        kernel="process_id device_id start_ns end_ns name\n1 0 0 10 k\n1 0 90000 90010 k",
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         4              runtime 9000     30000  cudaMemcpyAsync
            1          5         5              runtime 31000    52000  cudaMemcpyAsync
            1          5         6              runtime 53000    79000  cudaMemcpy
        """,
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind src_kind dst_kind
            1          0         4              9100     9110   HtoD      pageable device
            1          0         5              31100    31110  DtoH      device   pageable
            1          0         6              53100    53110  HtoD      pageable device
        """,
    )
    assert_rows(
        opened.query("finding_blocking_copies"),
        "culprit\n '3 of them, above all by cudaMemcpyAsync'",
    )
    opened = trace(
        device=DEVICES,
        kernel="process_id device_id start_ns end_ns name\n1 0 0 10 k\n1 0 90000 90010 k",
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         1              runtime 1000     1500   cudaStreamSynchronize
            1          6         2              runtime 2000     2500   cudaStreamSynchronize
            1          7         3              runtime 3000     3800   cudaDeviceSynchronize
        """,
    )
    assert_rows(
        opened.query("finding_synchronizing"), "culprit\n 'above all in cudaStreamSynchronize'"
    )


def test_slow_executions_are_summed_over_shapes(trace: MakeTrace) -> None:
    rows = "".join(
        f"1 0 {at * 1000} {at * 1000 + (10 if at % 20 else slow)} {name} {grid}\n"
        for name, grid, slow, first in (("a", 1, 70, 0), ("a", 2, 70, 20), ("b", 1, 90, 40))
        for at in range(first, first + 20)
    )
    opened = trace(kernel=f"process_id device_id start_ns end_ns name grid_x\n{rows}")
    assert_rows(
        opened.query("finding_slow_executions"),
        "saved_ns culprit\n 200 '3 names and shapes, above all in a'",
    )
