"""The views that other queries are built from: joins that neither lose nor invent rows."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows


def test_of_a_runtime_call_and_the_driver_call_inside_it_the_runtime_call_launched(
    trace: MakeTrace,
) -> None:
    opened = trace(
        kernel="""
            process_id correlation_id start_ns end_ns
            1          7              100      200
            1          8              200      300
        """,
        api_call="""
            process_id correlation_id domain  name             start_ns end_ns
            1          7              driver  cuLaunchKernel   12       18
            1          7              runtime cudaLaunchKernel 10       20
            1          8              driver  cuLaunchKernelEx 30       40
        """,
    )
    assert_rows(
        opened.sql("FROM launch ORDER BY correlation_id"),
        """
        process_id correlation_id domain  name             start_ns end_ns
        1          7              runtime cudaLaunchKernel 10       20
        1          8              driver  cuLaunchKernelEx 30       40
        """,
    )


def test_processes_with_the_same_correlation_ids_are_kept_apart(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id correlation_id start_ns
            1          7              100
            2          7              500
        """,
        api_call="""
            process_id correlation_id domain  start_ns
            1          7              runtime 10
            2          7              runtime 20
        """,
    )
    assert_rows(
        opened.sql("""
            SELECT process_id, kernel.start_ns AS kernel_ns, launch.start_ns AS launch_ns
            FROM kernel JOIN launch USING (process_id, correlation_id) ORDER BY process_id
        """),
        """
        process_id kernel_ns launch_ns
        1          100       10
        2          500       20
        """,
    )


def test_a_graph_launch_is_one_launch_of_many_kernels(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id correlation_id graph_node_id
            1          7              1
            1          7              2
        """,
        memset="""
            process_id correlation_id graph_node_id
            1          7              3
        """,
        api_call="""
            process_id correlation_id domain  name
            1          7              runtime cudaGraphLaunch
        """,
    )
    assert_rows(opened.sql("FROM launch"), "name\n cudaGraphLaunch")
    joined = opened.sql("FROM gpu_activity JOIN launch USING (process_id, correlation_id)")
    assert joined.count() == 3


def test_only_calls_that_asked_for_work_are_launches(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id correlation_id
            1          7
            1          -
        """,
        memcpy="""
            process_id correlation_id
            1          8
        """,
        api_call="""
            process_id correlation_id name
            1          7              cudaLaunchKernel
            1          8              cudaMemcpy
            1          9              cudaMalloc
            2          7              cudaMalloc
            1          -              cudaGetLastError
        """,
    )
    assert_rows(
        opened.sql("FROM launch ORDER BY correlation_id"), "name\n cudaLaunchKernel\n cudaMemcpy"
    )


def test_a_call_recorded_twice_is_one_launch(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id correlation_id\n 1 7",
        api_call="""
            process_id correlation_id domain  name   start_ns end_ns
            1          7              runtime second 10       20
            1          7              runtime first  10       30
        """,
    )
    assert_rows(opened.sql("FROM launch"), "name\n first")


def test_activities_of_three_tables_have_one_shape(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         10       20     _Z1av
        """,
        memcpy="""
            process_id device_id stream_id start_ns end_ns copy_kind bytes
            1          0         8         30       -      HtoD      64
        """,
        memset="""
            process_id device_id stream_id start_ns end_ns bytes
            1          1         9         50       60     128
        """,
    )
    assert_rows(
        opened.sql("FROM gpu_activity ORDER BY start_ns"),
        """
        kind   device_id stream_id start_ns end_ns name  bytes
        kernel 0         7         10       20     _Z1av -
        memcpy 0         8         30       -      HtoD  64
        memset 1         9         50       60     -     128
        """,
    )


def test_ranges_pair_start_and_end_within_a_process(trace: MakeTrace) -> None:
    opened = trace(
        marker="""
            process_id marker_id event   timestamp_ns name     domain thread_id
            1          5         start   100          step     -      11
            1          6         start   110          forward  torch  11
            1          6         end     150          -        torch  11
            1          5         end     200          -        -      12
            2          5         start   300          step     -      21
            2          5         end     310          -        -      21
            1          7         instant 120          mark     -      11
            1          8         start   400          unclosed -      11
            1          9         end     50           -        -      11
        """,
        marker_data="""
            process_id marker_id category payload_kind payload payload_double has_color color
            1          5         3        int64        42      2.5            true      255
            1          6         4        double       99      0.5            false     255
            2          5         6        uint64       7       2.5            false     -
        """,
    )
    assert_rows(
        opened.sql("FROM nvtx_range ORDER BY start_ns"),
        """
        process_id start_ns end_ns name     domain thread_id end_thread_id marker_id
        1          100      200    step     -      11        12            5
        1          110      150    forward  torch  11        11            6
        2          300      310    step     -      21        21            5
        1          400      -      unclosed -      11        -             8
        """,
    )
    assert_rows(
        opened.sql("FROM nvtx_range ORDER BY start_ns"),
        """
        name     category payload_int payload_double color
        step     3        42          -              255
        forward  4        -           0.5            -
        step     6        7           -              -
        unclosed -        -           -              -
        """,
    )


def test_a_marker_number_used_again_makes_two_ranges(trace: MakeTrace) -> None:
    opened = trace(
        marker="""
            process_id marker_id event timestamp_ns name
            1          5         start 100          one
            1          5         end   110          -
            1          5         start 200          two
            1          5         end   220          -
        """,
        marker_data="process_id marker_id category\n 1 5 3\n 1 5 3",
    )
    assert_rows(
        opened.sql("FROM nvtx_range ORDER BY start_ns"),
        """
        name start_ns end_ns
        one  100      110
        two  200      220
        """,
    )
