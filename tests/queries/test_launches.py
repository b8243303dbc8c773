"""Queries about launches: which call asked for what, and what it waited for."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

LAUNCHES = {
    # The second begins before its call returns; the third never ended; the fourth has no call.
    "kernel": """
        process_id device_id context_id stream_id correlation_id start_ns end_ns name
        1          0         1          7         1              130      150    a
        1          0         1          7         2              205      209    a
        1          0         1          7         3              300      -      a
        1          0         1          7         99             400      500    a
    """,
    "api_call": """
        process_id correlation_id domain  name             start_ns end_ns thread_id
        1          1              runtime cudaLaunchKernel 100      110    5
        1          2              runtime cudaLaunchKernel 200      210    5
        1          3              runtime cudaLaunchKernel 290      295    5
    """,
}


def test_latency_is_of_finished_kernels_with_a_call(trace: MakeTrace) -> None:
    opened = trace(**LAUNCHES)
    assert_rows(
        opened.query("launch_latency"),
        """
        api_name         name launches api_median_ns queue_median_ns kernel_median_ns
        cudaLaunchKernel a    2        10            10              12
        """,
    )
    assert_rows(opened.query("launch_latency"), "started_early shorter_than_call\n 1 1")


def test_kernels_that_ran_shorter_than_their_call(trace: MakeTrace) -> None:
    # On GPU 0: 20 of a call of 10; 4 and 8 of calls of 10; of the graph 3 of a call of 5, and not
    # its second kernel.  As long as the call is not shorter.  On GPU 1, of another process with the
    # same ids: 30 of 50.  What did not end, and what has no call, is left out.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns graph_node_id name
            1          0         1              130      150    -             a
            1          0         2              205      209    -             a
            1          0         3              230      238    -             b
            1          0         4              300      -      -             a
            1          0         99             400      401    -             a
            1          0         5              510      513    1             a
            1          0         5              520      521    2             b
            1          0         6              610      620    -             b
            2          0         1              140      170    -             a
        """,
        api_call="""
            process_id correlation_id domain  name             start_ns end_ns
            1          1              runtime cudaLaunchKernel 100      110
            1          2              runtime cudaLaunchKernel 200      210
            1          3              runtime cudaLaunchKernel 210      220
            1          4              runtime cudaLaunchKernel 290      295
            1          5              runtime cudaGraphLaunch  500      505
            1          6              runtime cudaLaunchKernel 600      610
            2          1              runtime cudaLaunchKernel 90       140
        """,
        device="process_id device_id device_uuid\n 1 0 GPU-a\n 2 0 GPU-b",
    )
    assert_rows(
        opened.query("short_kernels"),
        """
        gpu launches shorter_than_call percent api_ns kernel_ns
        0   5        3                 60      25     15
        1   1        1                 100     50     30
        """,
    )


def test_of_a_graph_the_first_kernel_alone_counts(trace: MakeTrace) -> None:
    # The first kernel of call 1 did not end: the end of the second is not its own.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns graph_node_id name
            1          0         1              10       -      1             a
            1          0         1              20       24     2             b
            1          0         2              120      122    2             b
            1          0         2              110      113    1             -
        """,
        api_call="""
            process_id correlation_id domain  name            start_ns end_ns
            1          1              runtime cudaGraphLaunch 0        5
            1          2              runtime cudaGraphLaunch 100      105
        """,
        device="process_id device_id device_uuid\n 1 0 GPU-a",
    )
    assert_rows(opened.query("_launch_time"), "name api_ns queue_ns kernel_ns\n - 5 5 3")
    assert_rows(opened.query("short_kernels"), "launches api_ns kernel_ns\n 1 5 3")


GRAPHS = {
    # As traces of other tools have them: no number of a graph or node.  Three nodes of the first
    # launch, of which the second begins first, and one of the next, and a launch without a graph.
    "kernel": """
        process_id device_id context_id stream_id correlation_id start_ns end_ns name
        1          0         1          7         1              130      150    a
        1          0         1          7         1              120      124    b
        1          0         1          8         1              140      145    b
        1          0         1          7         2              320      330    a
        1          0         1          7         3              400      408    a
    """,
    "api_call": """
        process_id correlation_id domain  name            start_ns end_ns thread_id
        1          1              runtime hipGraphLaunch  100      110    5
        1          2              runtime hipGraphLaunch  300      305    5
        1          3              runtime hipLaunchKernel 390      395    5
    """,
    "device": "process_id device_id device_uuid\n 1 0 GPU-a",
}


def test_the_name_of_a_call_says_that_it_launched_a_graph(trace: MakeTrace) -> None:
    opened = trace(**GRAPHS)
    assert_rows(
        opened.query("launch_latency"),
        """
        api_name        name launches api_median_ns queue_median_ns kernel_median_ns
        hipGraphLaunch  a    1        5             15              10
        hipGraphLaunch  b    1        10            10              4
        hipLaunchKernel a    1        5             5               8
        """,
    )
    assert_rows(
        opened.query("short_kernels"),
        "launches shorter_than_call api_ns kernel_ns\n 3 1 10 4",
    )
    assert_rows(
        opened.sql("SELECT sum(is_graph::INT) AS graph, count(*) AS n FROM launch_to_gpu"),
        "graph n\n 4 5",
    )


def test_a_graph_launch_is_on_the_queue_of_a_stream_as_one(trace: MakeTrace) -> None:
    # In stream 7 from 110 to 150, 305 to 330 and 395 to 408; in stream 8 from 110 to 145.
    assert_rows(
        trace(**GRAPHS).query("queue_depth"),
        """
        stream_id activities max_depth empty_ns span_ns
        7         3          1         220      298
        8         1          1         0        35
        """,
    )


def test_the_queue_holds_what_was_launched_and_did_not_end(trace: MakeTrace) -> None:
    # Launched at 110 and 205, ended at 150 and 209: two of 99 ns are full, 55 empty.
    assert_rows(
        trace(**LAUNCHES).query("queue_depth"),
        """
        stream_id activities mean_depth max_depth empty_ns span_ns full_ns
        7         2          0.444444   1         55       99      0
        """,
    )


def test_of_nested_calls_the_outer_one_launched(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id correlation_id start_ns end_ns\n 1 1 50 60\n 2 1 55 65",
        api_call="""
            process_id correlation_id domain  name             start_ns end_ns
            1          1              runtime cudaLaunchKernel 10       40
            1          1              driver  cuLaunchKernel   15       35
            2          1              driver  cuLaunchKernelEx 20       30
        """,
    )
    assert_rows(
        opened.sql("FROM launch_to_gpu ORDER BY process_id"),
        """
        process_id api_name         api_start_ns start_ns
        1          cudaLaunchKernel 10           50
        2          cuLaunchKernelEx 20           55
        """,
    )


def test_ids_that_began_anew_join_the_call_before(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id correlation_id start_ns end_ns\n 1 7 50 60\n 1 7 5000 5010",
        api_call="""
            process_id correlation_id domain  name   start_ns end_ns
            1          7              runtime first  10       20
            1          7              runtime second 4000     4010
        """,
    )
    assert_rows(
        opened.sql("FROM launch_to_gpu ORDER BY start_ns"),
        "api_name start_ns\n first 50\n second 5000",
    )


def test_waiting_is_split_by_what_the_gpu_did(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 150 a\n 1 0 300 310 a",
        api_call="""
            process_id thread_id domain  name                    start_ns end_ns
            1          5         runtime cudaDeviceSynchronize   120      180
            1          5         driver  cuCtxSynchronize        125      175
            1          5         runtime cudaDeviceSynchronize   290      320
            1          6         runtime cudaMemcpyAsync         0        400
        """,
        marker="""
            process_id marker_id event timestamp_ns name thread_id
            1          1         start 100          step 5
            1          1         end   200          -    5
        """,
    )
    assert_rows(
        opened.query("sync_cost"),
        """
        thread_id name                  calls total_ns busy_ns idle_ns gap_ns max_ns longest_range
        5         cudaDeviceSynchronize 2     90       40      50      40     60     step
        """,
    )


def test_a_copy_for_which_the_call_waits_costs_as_a_wait_does(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 150 a",
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind
            1          0         1              160      165    DtoH
            1          0         2              185      190    DtoH
            1          0         3              205      210    HtoD
        """,
        api_call="""
            process_id thread_id correlation_id domain  name            start_ns end_ns
            1          5         1              runtime cudaMemcpyAsync 120      170
            1          5         2              runtime cudaMemcpy      180      200
            1          5         3              runtime cudaMemcpyAsync 201      204
        """,
    )
    assert_rows(
        opened.query("sync_cost"),
        """
        name            calls total_ns busy_ns idle_ns
        cudaMemcpyAsync 1     50       35      15
        cudaMemcpy      1     20       5       15
        """,
    )


# Those of CUDA, but of arrays, were timed on an H100: each after a kernel of 20 ms.
WAITING = """
    cudaMemcpy cudaMemcpy_ptds cudaMemcpy2D cudaMemcpy2DToArray cudaMemcpy3D_ptds
    cudaMemcpyFromSymbol cuMemcpy cuMemcpyHtoD_v2 cuMemcpyDtoH_v2_ptds cuMemcpyAtoH_v2
    hipMemcpy hipMemcpyWithStream hipMemcpyDtoH hipStreamSynchronize
"""
NOT_WAITING = """
    cudaMemcpyAsync_ptsz cudaMemcpyPeer cudaMemcpy2DArrayToArray cudaMemcpyBatchAsync
    cudaMemcpy3DPeer_ptds cuMemcpyDtoD_v2 cuMemcpyAtoD_v2 cuMemcpyHtoDAsync_v2 cuMemcpyAtoA
    cudaGraphAddMemcpyNode hipMemcpyDtoDAsync hipMemcpyPeer cudaMemset cudaHostRegister
"""


def test_copies_that_no_name_calls_asynchronous_wait_but_within_the_device(
    trace: MakeTrace,
) -> None:
    waiting, others = WAITING.split(), NOT_WAITING.split()
    rows = [f"1 5 runtime {n} {100 * n} {100 * n + 50} {name}" for n, name in enumerate(waiting)]
    rows += [f"1 6 runtime {n} {100 * n} {100 * n + 50} {name}" for n, name in enumerate(others)]
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 10 20 a",
        api_call="process_id thread_id domain correlation_id start_ns end_ns name\n"
        + "\n".join(rows),
    )
    assert {row["name"] for row in opened.query("sync_cost")} == {*waiting}
    assert {row["name"] for row in opened.sql("FROM _host_span WHERE class = 3")} == {*others}


def test_to_set_pinned_memory_waits(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 300 a",
        memset="""
            process_id device_id correlation_id start_ns end_ns memory_kind
            1          0         1              300      302    pinned
            1          0         2              310      311    device
        """,
        api_call="""
            process_id thread_id correlation_id domain  name       start_ns end_ns
            1          5         1              runtime cudaMemset 120      305
            1          5         2              runtime cudaMemset 306      315
        """,
    )
    assert_rows(
        opened.query("sync_cost"), "name reason calls total_ns busy_ns\ncudaMemset copies 1 185 182"
    )


def test_a_call_that_frees_while_the_gpu_works_waits(trace: MakeTrace) -> None:
    # The first one makes a context; the last ones have nothing to wait for, or do not wait.
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 300 a\n 1 0 400 500 b",
        api_call="""
            process_id thread_id correlation_id domain  name               start_ns end_ns
            1          5         1              runtime cudaFree           10       90
            1          5         2              runtime cudaFree           120      310
            1          5         3              driver  cuMemFree_v2       130      305
            1          5         4              runtime cudaFree           320      390
            1          5         5              runtime cudaHostUnregister 410      502
            1          5         6              runtime cudaFreeAsync      503      504
            1          5         7              runtime cudaFree           505      510
        """,
    )
    assert_rows(
        opened.query("sync_cost"),
        """
        name               reason calls total_ns busy_ns idle_ns
        cudaFree           frees  1     190      180     10
        cudaHostUnregister frees  1     92       90      2
        """,
    )


def test_a_copy_from_pageable_memory_waits_for_what_is_before_it(trace: MakeTrace) -> None:
    # Of 1, only the last piece is left when the call returns; 2 is pinned; of 3, most is left.
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 150 a",
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind src_kind
            1          0         1              150      200    HtoD      pageable
            1          0         2              210      260    HtoD      pinned
            1          0         3              270      320    HtoD      pageable
        """,
        api_call="""
            process_id thread_id correlation_id domain  name            start_ns end_ns
            1          5         1              runtime cudaMemcpyAsync 110      195
            1          5         2              runtime cudaMemcpyAsync 205      255
            1          5         3              runtime cudaMemcpyAsync 265      280
        """,
    )
    assert_rows(
        opened.query("sync_cost"),
        "name calls total_ns busy_ns idle_ns\ncudaMemcpyAsync 1 85 85 0",
    )
    assert_rows(opened.sql("SELECT is_done FROM _blocking_copy"), "is_done\nfalse")


def test_loading_after_the_start_is_late(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id start_ns end_ns name\n 1 1000 1001 a\n 1 2000 2001 a",
        overhead="""
            process_id start_ns end_ns overhead_kind
            1          900      950    lazy_function_loading
            1          1500     1510   lazy_function_loading
            1          1600     1700   cupti_buffer_flush
            1          1700     -      lazy_function_loading
        """,
        jit="process_id start_ns end_ns operation\n 1 800 890 compile",
    )
    assert_rows(
        opened.query("jit_module_load"),
        """
        source   name                  count total_ns max_ns late late_ns
        jit      compile               1     90       90     0    0
        overhead lazy_function_loading 2     60       50     1    10
        """,
    )


def test_what_is_loaded_before_the_20th_kernel_is_no_finding(trace: MakeTrace) -> None:
    def found(kernels: int) -> list[object]:
        rows = "".join(f"\n 1 {1000 * n} {1000 * n + 1} a" for n in range(kernels))
        opened = trace(
            kernel=f"process_id start_ns end_ns name{rows}",
            overhead="process_id start_ns end_ns overhead_kind\n 1 15000 15010 module_loading",
        )
        return [row["saved_ns"] for row in opened.query("finding_late_loading")]

    assert found(19) == []
    assert found(20) == [10]


def test_calls_outside_a_time_count_what_lies_before_and_after_it(trace: MakeTrace) -> None:
    # The second of a lasts over both edges, the third lies within; b only ends in the time.
    opened = trace(
        api_call="""
        process_id thread_id name start_ns end_ns
        1          5         a    0        10
        1          5         a    90       220
        1          5         a    120      180
        1          6         a    300      305
        1          5         b    80       130
        1          5         b    400      -
        """
    )
    assert_rows(
        opened.query("_call_outside", from_ns=100, to_ns=200),
        """
        process_id thread_id name total_ns
        1          5         a    40
        1          5         b    20
        1          6         a    5
        """,
    )
