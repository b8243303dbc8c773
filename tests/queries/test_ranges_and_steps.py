"""Ranges and what they asked for, graphs, steps."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

# step [0,100) holds forward [10,60), which holds gemm [20,30); another thread has its own.
RANGES = """
    process_id thread_id marker_id event timestamp_ns name
    1          5         1         start 0            step
    1          5         2         start 10           forward
    1          5         3         start 20           gemm
    1          5         3         end   30           -
    1          5         2         end   60           -
    1          5         1         end   100          -
    1          6         4         start 15           other
    1          6         4         end   90           -
    1          5         5         start 40           overlapping
    1          5         5         end   70           -
"""
CALLS = """
    process_id thread_id correlation_id domain  name             start_ns end_ns
    1          5         1              runtime cudaLaunchKernel 5        6
    1          5         2              runtime cudaLaunchKernel 12       13
    1          5         3              runtime cudaLaunchKernel 20       21
    1          5         4              runtime cudaLaunchKernel 80       81
    1          6         5              runtime cudaLaunchKernel 25       26
    1          5         6              runtime cudaLaunchKernel 200      201
"""
KERNELS = """
    process_id device_id correlation_id start_ns end_ns name
    1          0         1              1000     1010   a
    1          0         2              1020     1030   a
    1          0         3              1030     1050   b
    1          0         4              1100     1101   a
    1          0         5              1040     1060   c
    1          0         6              1200     1300   a
"""


def test_ranges_lie_in_each_other_on_a_thread(trace: MakeTrace) -> None:
    assert_rows(
        trace(marker=RANGES).sql("FROM nvtx_range ORDER BY start_ns"),
        """
        name        depth path
        step        0     step
        forward     1     "step / forward"
        other       0     other
        gemm        2     "step / forward / gemm"
        overlapping 1     "step / overlapping"
        """,
    )


def test_a_range_that_crosses_what_opened_it_has_what_is_around_both(trace: MakeTrace) -> None:
    # As torch.profiler.record_function under with_stack: it begins in a frame that then returns.
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 0            outer
            1          5         2         start 1            enter_new
            1          5         3         start 3            step
            1          5         2         end   5            -
            1          5         4         start 8            forward
            1          5         4         end   20           -
            1          5         3         end   63           -
            1          5         1         end   100          -
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 10       11
            1          5         2              runtime cudaLaunchKernel 30       31
            1          5         3              runtime cudaLaunchKernel 70       71
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1000     1001   a
            1          0         2              1000     1010   a
            1          0         3              1000     1100   a
        """,
    )
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path                     gpu_ns exclusive_gpu_ns
        outer                    111    100
        "outer / step"           11     10
        "outer / step / forward" 1      1
        """,
    )
    assert_rows(
        opened.sql("SELECT path FROM nvtx_range WHERE name = 'enter_new'"),
        'path\n"outer / enter_new"',
    )


def test_work_belongs_to_the_innermost_range_and_to_those_around(trace: MakeTrace) -> None:
    without = "\n".join(line for line in RANGES.splitlines() if " 5         5 " not in line)
    opened = trace(marker=without, api_call=CALLS, kernel=KERNELS)
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path                    ranges activities gpu_ns exclusive_gpu_ns span_ns idle_ns host_ns
        step                    1      4          41     11               101     50      100
        "step / forward"        1      2          30     10               30      0       50
        other                   1      1          20     20               20      0       75
        "step / forward / gemm" 1      1          20     20               20      0       10
        """,
    )


def test_operators_of_one_name_are_one_path(trace: MakeTrace) -> None:
    # As torch.autograd.profiler.emit_nvtx names them.
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 0            "aten::to, op_id = 7"
            1          5         2         start 1            "aten::add, seq = 3, op_id = 8, sizes = [[2]]"
            1          5         2         end   8            -
            1          5         1         end   9            -
            1          5         3         start 10           "aten::to, op_id = 9"
            1          5         3         end   19           -
        """,  # noqa: E501
        api_call=CALLS,
        kernel=KERNELS,
    )
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path                                  ranges gpu_ns exclusive_gpu_ns
        aten::to                              2      20     10
        "aten::to / aten::add, sizes = [[2]]" 1      10     10
        """,
    )


def test_steps_of_nvtx_run_until_the_next(trace: MakeTrace) -> None:
    opened = trace(
        marker="process_id marker_id event timestamp_ns name thread_id\n"
        + "\n".join(
            f"1 {s} start {s * 100} 'train step {s}' 5\n1 {s} end {s * 100 + 90} - 5"
            for s in range(3)
        ),
        api_call="process_id correlation_id domain name start_ns end_ns thread_id\n"
        + "\n".join(
            f"1 {s} runtime cudaLaunchKernel {s * 100 + 1} {s * 100 + 2} 5" for s in range(3)
        ),
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         0              1000     1040   a
            1          0         1              1100     1120   a
            1          0         2              1200     1260   a
        """,
        memcpy="process_id device_id start_ns end_ns copy_kind bytes\n 1 0 1030 1050 HtoD 8",
    )
    assert_rows(
        opened.query("step_breakdown"),
        """
        step name           source duration_ns compute_ns exposed_copy_ns idle_ns is_outlier
        0    "train step 0" nvtx   100         40         10              50      false
        1    "train step 1" nvtx   100         20         0               80      false
        2    "train step 2" nvtx   60          60         0               0       false
        """,
    )


def test_kinds_of_kernels_by_step(trace: MakeTrace) -> None:
    # Steps from 1000, 1100 and 1200 on, to the end of what they asked for.  A kernel counts where
    # it began, whatever launched it; one before the first step, one after the last, one of another
    # process, one that did not end, and copies, do not.
    opened = trace(
        marker="process_id marker_id event timestamp_ns name thread_id\n"
        + "\n".join(
            f"1 {s} start {s * 100} 'step {s}' 5\n1 {s} end {s * 100 + 90} - 5" for s in range(3)
        ),
        api_call="process_id correlation_id domain name start_ns end_ns thread_id\n"
        + "\n".join(
            f"1 {s} runtime cudaLaunchKernel {s * 100 + 1} {s * 100 + 2} 5" for s in range(3)
        ),
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         -              900      950    my_gemm
            1          0         0              1000     1040   my_gemm
            1          0         -              1040     1050   your_gemm
            1          0         -              1095     1145   softmax
            1          0         1              1100     1120   my_gemm
            2          0         -              1110     1190   my_gemm
            1          0         -              1130     -      my_gemm
            1          0         2              1200     1260   my_gemm
            1          0         -              1260     1270   my_gemm
        """,
        memcpy="process_id device_id start_ns end_ns copy_kind bytes\n 1 0 1030 1050 HtoD 8",
        device="process_id device_id device_uuid\n 1 0 GPU-a\n 2 0 GPU-a",
    )
    assert_rows(
        opened.query("step_category"),
        """
        gpu step category percent calls total_ns median_ns ratio
        0   0    gemm     50      2     50       50        1
        0   0    softmax  50      1     50       50        1
        0   1    gemm     100     1     20       50        0.4
        0   2    gemm     100     1     60       50        1.2
        """,
    )


def periodic(lengths: list[int]) -> str:
    """Steps of a first kernel and ten others, each of the given length."""
    rows, at = [], 1000
    for length in lengths:
        rows.append(f"1 0 {at} {at + 5} begin")
        rows += [f"1 0 {at + 10 + n * 8} {at + 15 + n * 8} layer" for n in range(10)]
        at += length
    return "process_id device_id start_ns end_ns name\n" + "\n".join(rows)


def test_steps_are_found_by_the_period_of_kernels(trace: MakeTrace) -> None:
    opened = trace(kernel=periodic([100, 101, 99, 100, 300, 100, 102, 98, 100, 100]))
    rows = list(opened.query("step_breakdown"))
    assert [row["duration_ns"] for row in rows] == [100, 101, 99, 100, 300, 100, 102, 98, 100]
    assert {(row["name"], row["source"]) for row in rows} == {("begin", "kernels")}
    assert [row["step"] for row in rows if row["is_outlier"]] == [4]
    assert {row["compute_ns"] for row in rows} == {55}


def test_the_last_step_of_ranges_is_not_judged(trace: MakeTrace) -> None:
    # The work of a step ends 120 after the next has begun; only the last waits for its own.
    starts = list(range(1000, 2000, 100))
    opened = trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {at} {at} {at + 220 + at // 100 % 3} a" for at in starts),
        api_call="process_id thread_id correlation_id domain name start_ns end_ns\n"
        + "\n".join(f"1 5 {at} runtime cudaLaunchKernel {at - 20} {at - 10}" for at in starts),
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        + "\n".join(
            f"1 5 {at} start {at - 30} step\n1 5 {at} end {at - 5 - at // 100 % 3} -"
            for at in starts
        ),
    )
    rows = list(opened.query("step_breakdown"))
    assert [row["duration_ns"] > 200 for row in rows] == [False] * 9 + [True]
    assert not any(row["is_outlier"] for row in rows)


def test_no_steps_are_made_up(trace: MakeTrace) -> None:
    gaps = [3, 700, 20, 5000, 60, 9, 1, 30000, 88, 2, 410]
    rows, at = [], 0
    for gap in gaps:
        at += gap
        rows.append(f"1 0 {at} {at + 1} a")
    opened = trace(kernel="process_id device_id start_ns end_ns name\n" + "\n".join(rows))
    assert opened.query("step").count() == 0


def test_replays_of_a_graph(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name graph_id graph_node_id
            1          0         1              100      110    a    3        1
            1          0         1              120      150    b    3        2
            1          0         2              200      212    a    3        1
            1          0         2              212      240    b    3        2
        """,
        api_call="""
            process_id correlation_id domain  name            start_ns end_ns
            1          1              runtime cudaGraphLaunch 80       90
            1          2              runtime cudaGraphLaunch 180      194
        """,
    )
    assert_rows(
        opened.query("graph_replay"),
        """
        graph_id replays nodes wall_median_ns wall_total_ns busy_ns launch_median_ns
        3        2       2     45             90            80      12
        """,
    )
    assert_rows(
        opened.query("graph_node_summary"),
        """
        graph_node_id name runs total_ns percent mean_ns
        2             b    2    58       72.5    29
        1             a    2    22       27.5    11
        """,
    )


def test_a_graph_whose_number_is_not_known(trace: MakeTrace) -> None:
    # The kernel of 400 is launched by itself, that of 500 has no call: they are in no graph.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              110      120    a
            1          0         1              120      124    b
            1          0         2              210      216    a
            1          0         2              226      230    b
            1          0         3              400      405    a
            1          0         4              500      501    a
        """,
        memcpy="process_id device_id correlation_id start_ns end_ns copy_kind\n1 0 2 216 226 DtoD",
        api_call="""
            process_id correlation_id domain  name             start_ns end_ns
            1          1              runtime cudaGraphLaunch  100      108
            1          1              driver  cuGraphLaunch    101      107
            1          2              runtime cudaGraphLaunch  200      204
            1          3              runtime cudaLaunchKernel 300      303
        """,
    )
    assert_rows(
        opened.query("graph_replay"),
        """
        graph_id replays nodes wall_median_ns wall_total_ns busy_ns launch_median_ns
        -        2       2.5   17             34            34      6
        """,
    )
    assert_rows(
        opened.query("graph_node_summary"),
        """
        graph_id graph_node_id kind   name runs total_ns
        -        -             kernel a    2    16
        -        -             memcpy DtoD 1    10
        -        -             kernel b    2    8
        """,
    )
    assert_rows(
        opened.query("_graph_kernel"),
        """
        graph_id name runs mean_ns eager_runs eager_mean_ns eager_launch_ns
        -        a    2    8       2          3             3
        -        b    2    4       0          -             -
        """,
    )
    assert_rows(
        opened.query("graph_against_eager"),
        """
        graph_id replays kernels eager_pct busy_ns eager_busy_ns eager_launch_ns launch_saved_ns
        -        2       2       50        8       3             3               -
        """,
    )


def test_a_graph_beside_its_kernels_launched_one_by_one(trace: MakeTrace) -> None:
    # Graph 3 is a, a and b, of which all ran eagerly; c of graph 4 never did; graph 5 is known as
    # a whole only. Process 2 has the same ids, and b alone.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name graph_id graph_node_id
            1          0         1              100      110    a    3        1
            1          0         1              120      150    b    3        2
            1          0         1              150      164    a    3        3
            1          0         2              200      212    a    4        1
            1          0         2              212      240    c    4        2
            1          0         3              300      320    a    -        -
            1          0         4              320      340    a    -        -
            1          0         5              340      380    b    -        -
            1          0         9              900      -      a    -        -
            2          0         1              100      101    b    3        1
        """,
        graph_trace="""
            process_id device_id correlation_id start_ns end_ns graph_id
            1          0         6              500      600    5
        """,
        api_call="""
            process_id correlation_id domain  name             start_ns end_ns
            1          1              runtime cudaGraphLaunch  80       92
            1          2              runtime cudaGraphLaunch  180      190
            1          3              runtime cudaLaunchKernel 280      285
            1          4              runtime cudaLaunchKernel 290      297
            1          5              runtime cudaLaunchKernel 300      309
            1          5              driver  cuLaunchKernel   301      308
            1          6              runtime cudaGraphLaunch  480      484
        """,
        kernel_name="mangled short\n b bee",
    )
    assert_rows(
        opened.sql("FROM _graph_kernel ORDER BY process_id, graph_id, name"),
        """
        process_id graph_id name runs mean_ns eager_runs eager_mean_ns eager_launch_ns \
difference_pct
        1          3        a    2    12      2          20            6               -40
        1          3        bee  1    30      1          40            9               -25
        1          4        a    1    12      2          20            6               -40
        1          4        c    1    28      0          -             -               -
        2          3        bee  1    1       0          -             -               -
        """,
    )
    assert_rows(
        opened.sql("FROM graph_against_eager ORDER BY process_id, graph_id"),
        """
        process_id graph_id replays wall_median_ns launch_median_ns kernels eager_pct busy_ns \
eager_busy_ns eager_launch_ns launch_saved_ns
        1          3        1       64             12               3       100       54      \
80            21              9
        1          4        1       40             10               2       50        12      \
20            6               -
        1          5        1       100            4                -       -         -       \
-             -               -
        2          3        1       1              -                1       0         -       \
-             -               -
        """,
    )
