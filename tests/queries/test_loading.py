"""Idle time while the driver loads code, beside what CUPTI costs."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows, by_sql


@pytest.mark.parametrize("way", ["operator", "sql"])
def test_code_that_the_driver_loads_is_not_the_profilers(trace: MakeTrace, way: str) -> None:
    # A call loads code for 30. Then a launch of 900, of which 250 load code, 40 wait for the queue
    # and 153 are CUPTI's: 50 of its buffer while a module is loaded, 50 after it, and 53 of five
    # other kinds.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name correlation_id
            1          0         900      1000   a    1
            1          0         2000     2100   a    2
        """,
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              800      850
            1          runtime cudaLaunchKernel 2              1050     1950
            1          driver  cuModuleLoadData 3              1010     1040
        """,
        overhead="""
            process_id start_ns end_ns overhead_kind
            1          1100     1300   module_loading
            1          1250     1350   cupti_buffer_flush
            1          1400     1420   lazy_function_loading
            1          1500     1530   driver_compiler
            1          1600     1640   command_buffer_full
            1          1700     1705   cupti_instrumentation
            1          1710     1717   activity_buffer_request
            1          1720     1731   cupti_resource
            1          1740     1753   uvm_activity_init
            1          1760     1777   -
            1          1800     1850   library_loading
        """,
    )
    if way == "sql":
        by_sql(opened)
    assert_rows(
        opened.query("gap_attribution", min_ns=1),
        """
        gap_ns queued_ns profiler_ns loading_ns waiting_ns launching_ns outside_ns cause
        1000   50        153         280        40         457          20         launching
        """,
    )
    assert_rows(
        opened.query("idle_summary"),
        """
        cause     idle_ns gaps
        launching 457     1
        loading   280     1
        profiler  153     1
        queued    50      1
        waiting   40      1
        host      20      1
        """,
    )


@pytest.mark.parametrize("way", ["operator", "sql"])
def test_a_long_first_launch_of_a_kernel_loads_its_code(trace: MakeTrace, way: str) -> None:
    # torch.profiler and nsys record a launch and not the loading in it.  The first launches of a
    # and b take 0.2 ms and more; a's third one takes as long, for another reason, and so does b's
    # on another device, where it is loaded once more.  c's first takes what launches take, and of
    # a graph one cannot tell.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns  name correlation_id graph_id
            1          0         100000   200000  a    1              -
            1          0         500000   600000  a    2              -
            1          0         900000   1000000 a    3              -
            1          0         1500000  1600000 b    4              -
            1          1         2100000  2200000 b    5              -
            1          0         2220000  2300000 c    6              -
            1          0         2700000  2800000 d    7              9
        """,
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              -150000  90000
            1          runtime cudaLaunchKernel 2              480000   490000
            1          runtime cudaLaunchKernel 3              650000   880000
            1          runtime cudaLaunchKernel 4              1100000  1490000
            1          runtime cudaLaunchKernel 5              1800000  2050000
            1          runtime cudaLaunchKernel 6              2060000  2150000
            1          runtime cudaGraphLaunch  7              2400000  2650000
        """,
    )
    if way == "sql":
        by_sql(opened)
    assert_rows(
        opened.query("jit_module_load"),
        """
        source       name count total_ns late late_ns
        first_launch b    2     640000   2    640000
        first_launch a    1     240000   0    0
        """,
    )
    assert_rows(
        opened.query("gap_attribution"),
        """
        gap_ns loading_ns launching_ns
        620000 250000     90000
        500000 390000     0
        400000 0          250000
        300000 0          10000
        300000 0          230000
        """,
    )
    assert_rows(
        opened.query("finding_loading"), 'saved_ns culprit kernel\n640000 "above all before" b'
    )


@pytest.mark.parametrize("way", ["operator", "sql"])
def test_getting_the_function_of_a_kernel_loads_it_the_first_time(
    trace: MakeTrace, way: str
) -> None:
    # With lazy loading.  The second one, of a kernel that is there, is an other call of CUDA.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns  name correlation_id
            1          0         100000   200000  a    1
            1          0         600000   700000  a    4
        """,
        api_call="""
            process_id domain  name                correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel    1              90000    95000
            1          driver  cuKernelGetFunction 2              250000   380000
            1          runtime cudaGetFuncBySymbol 3              400000   401000
            1          runtime cudaLaunchKernel    4              590000   600000
        """,
    )
    if way == "sql":
        by_sql(opened)
    assert_rows(
        opened.query("gap_attribution", min_ns=1),
        """
        gap_ns loading_ns launching_ns other_cuda_ns outside_ns
        400000 130000     10000        1000          259000
        """,
    )
    assert_rows(
        opened.query("jit_module_load"),
        "source name count total_ns\napi_call cuKernelGetFunction 1 130000",
    )


@pytest.mark.parametrize("way", ["operator", "sql"])
def test_overhead_without_a_name_is_loading_within_a_call_that_launches_or_loads(
    trace: MakeTrace, way: str
) -> None:
    # nsys calls kinds of CUPTI that are newer than itself unknown. This launch failed, and so is of
    # no kernel; what lies in no call, or in one that does something else, is the profiler's.
    opened = trace(
        memcpy="""
            process_id device_id start_ns end_ns copy_kind correlation_id bytes
            1          0         100000   200000 HtoD      1              8
            1          0         600000   700000 DtoH      4              8
        """,
        api_call="""
            process_id thread_id domain  name                correlation_id start_ns end_ns
            1          5         runtime cudaMemcpyAsync     1              90000    95000
            1          5         runtime cudaLaunchKernel    2              250000   380000
            1          5         runtime cudaEventCreate     3              400000   430000
            1          5         runtime cudaMemcpyAsync     4              590000   600000
        """,
        overhead="""
            process_id thread_id overhead_kind start_ns end_ns
            1          5         unknown       255000   375000
            1          5         unknown       410000   420000
            1          5         unknown       500000   530000
        """,
    )
    if way == "sql":
        by_sql(opened)
    assert_rows(
        opened.query("gap_attribution", min_ns=1),
        """
        gap_ns loading_ns profiler_ns launching_ns memory_ns other_cuda_ns outside_ns
        400000 120000     40000       10000        10000     20000         200000
        """,
    )
    assert_rows(
        opened.query("jit_module_load"), "source name count total_ns\noverhead unknown 1 120000"
    )


def test_what_is_loaded_late_in_a_gap_is_not_said_twice(trace: MakeTrace) -> None:
    # The gap from 100 to 900,000 begins before the first tenth, up to 91,900, is over; of what is
    # loaded in it, the second comes later, in a launch.
    later = "".join(f"\n1 0 {900000 + 1000 * n} {900500 + 1000 * n} b {n + 2}" for n in range(20))
    opened = trace(
        kernel=f"process_id device_id start_ns end_ns name correlation_id\n1 0 0 100 a 1{later}",
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              -50      -10
            1          runtime cudaLaunchKernel 2              400000   899000
        """,
        overhead="""
            process_id start_ns end_ns overhead_kind
            1          10000    30000  module_loading
            1          500000   800000 lazy_function_loading
        """,
    )
    assert_rows(opened.query("finding_loading"), "saved_ns kernel\n20000 b")
    assert_rows(
        opened.query("finding_late_loading"),
        'saved_ns culprit kernel\n499000 "once, by a launch of" b',
    )


@pytest.mark.parametrize("way", ["operator", "sql"])
def test_captures_of_graphs_are_loading(trace: MakeTrace, way: str) -> None:
    # What is launched in them does not run.  A capture lasts from its begin to the next end of its
    # thread; of two at a time the inner one, of one that another thread ends none.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns  name correlation_id
            1          0         100000   200000  a    1
            1          0         900000   1000000 a    9
        """,
        api_call="""
            process_id thread_id domain  name                        correlation_id start_ns end_ns
            1          5         runtime cudaLaunchKernel            1              90000    95000
            1          5         runtime cudaStreamBeginCapture      2              300000   310000
            1          5         driver  cuStreamBeginCapture        3              302000   308000
            1          5         runtime cudaLaunchKernel            4              400000   405000
            1          5         driver  cuLaunchKernel              5              401000   404000
            1          6         runtime cudaLaunchKernel            6              410000   415000
            1          5         runtime cudaGraphLaunch             7              420000   425000
            1          5         runtime cudaStreamEndCapture        8              500000   520000
            1          5         runtime cudaLaunchKernel            9              880000   890000
            1          7         runtime cudaStreamBeginCapture      10             600000   610000
            1          8         runtime cudaStreamEndCapture        11             700000   710000
            1          8         runtime cudaStreamIsCapturing       12             720000   720500
        """,
    )
    if way == "sql":
        by_sql(opened)
    assert_rows(
        opened.sql("FROM _graph_capture"),
        "thread_id start_ns end_ns launches\n5 308000 500000 2",
    )
    assert_rows(
        opened.query("gap_attribution", min_ns=1),
        """
        gap_ns loading_ns launching_ns other_cuda_ns queued_ns outside_ns
        700000 192000     10000        48500         10000     439500
        """,
    )
    assert_rows(
        opened.query("finding_loading"),
        'saved_ns culprit kernel\n192000 "most of it capturing graphs" -',
    )
    assert_rows(
        [row for row in opened.query("run_summary") if row["section"] == "graphs"],
        """
        subject  value unit     detail
        captured 2     launches "in 1 capture of 0.2 ms; they run when the graph is launched"
        """,
    )
