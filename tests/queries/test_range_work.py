"""What ranges ran, counted and allocated: kernels, metrics and memory by range."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

# forward holds layer; each launches once, and layer copies and allocates, too.
GIVEN = {
    "marker": """
        process_id timestamp_ns marker_id event name    thread_id
        1          0            1         start forward 9
        1          100          2         start layer   9
        1          200          2         end   -       9
        1          300          1         end   -       9
    """,
    "api_call": """
        process_id correlation_id domain  name             thread_id start_ns end_ns
        1          1              runtime cudaLaunchKernel 9         50       60
        1          2              runtime cudaLaunchKernel 9         110      120
        1          3              runtime cudaMemcpyAsync  9         130      140
        1          4              runtime cudaMalloc       9         150      160
        1          5              runtime cudaFree         9         250      260
        1          6              runtime cudaLaunchKernel 9         400      410
    """,
    "kernel": """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              1000     2000   a
        1          0         2              2000     5000   b
        1          0         6              6000     7000   a
    """,
    "memcpy": """
        process_id device_id correlation_id start_ns end_ns copy_kind bytes
        1          0         3              5000     5500   HtoD      4096
    """,
    "memory": """
        process_id device_id timestamp_ns operation  memory_kind address bytes correlation_id
        1          0         155          allocation device      16      512   4
        1          0         255          release    device      16      512   5
        1          0         500          allocation device      32      64    -
    """,
    "device": "process_id device_id device_uuid name\n1 0 GPU-a H200",
    "process": "process_id pid host\n1 7 n",
}


def test_work_of_ranges_is_that_of_the_ranges_inside_too(trace: MakeTrace) -> None:
    assert_rows(
        trace(**GIVEN).query("range_work"),
        """
        path              gpu ranges kernels sum_ns max_ns mean_ns copies copied_bytes sets
        forward           0   1      2       4000   3000   2000    1      4096         0
        "forward / layer" 0   1      1       3000   3000   3000    1      4096         0
        """,
    )


def test_operators_of_pytorch_are_one_whatever_their_numbers(trace: MakeTrace) -> None:
    marks = [
        f"1 {at} {number} {event} {name} 9"
        for number, begin in enumerate((40, 390))
        for at, event, name in (
            (begin, "start", f"'aten::mm, op_id = {31 + number}'"),
            (begin + 40, "end", "-"),
        )
    ]
    marker = "process_id timestamp_ns marker_id event name thread_id\n" + "\n".join(marks)
    memory = "process_id timestamp_ns operation memory_kind address bytes correlation_id\n"
    memory += "1 55 allocation device 16 512 1\n1 405 allocation device 17 512 6"
    run = trace(**{**GIVEN, "marker": marker, "memory": memory})
    assert_rows(run.query("range_work"), "path ranges kernels\naten::mm 2 2")
    assert_rows(run.query("range_memory"), "path ranges allocations\naten::mm 2 2")


def test_metrics_of_ranges_are_put_together_over_kernels(trace: MakeTrace) -> None:
    run = trace(
        **GIVEN,
        pm_sample="""
            device_uuid start_ns end_ns sm_active_pct dram_read_bytes
            GPU-a       1000     2000   50            100
            GPU-a       2000     3000   90            200
            GPU-a       3000     4000   90            200
            GPU-a       4000     5000   60            200
            GPU-a       5000     6000   0             0
            GPU-a       6000     7000   10            10
        """,
        pm_metric="""
            metric          device_uuid unit  aggregation interval_ns
            sm_active_pct   GPU-a       %     mean        1000
            dram_read_bytes GPU-a       bytes sum         1000
        """,
    )
    assert_rows(
        run.query("range_metric"),
        """
        path              metric          unit  ranges kernels measured sum max mean
        forward           dram_read_bytes bytes 1      2       2        700 600 350
        forward           sm_active_pct   %     1      2       2        -   80  72.5
        "forward / layer" dram_read_bytes bytes 1      1       1        600 600 600
        "forward / layer" sm_active_pct   %     1      1       1        -   80  80
        """,
    )


def test_memory_of_ranges(trace: MakeTrace) -> None:
    run = trace(**GIVEN)
    assert_rows(
        run.query("range_memory"),
        """
        path              ranges allocations allocated_bytes releases released_bytes most_bytes
        forward           1      1           512             1        512            512
        "forward / layer" 1      1           512             0        0              512
        """,
    )
    assert_rows(
        run.query("memory_operation"),
        """
        timestamp_ns operation  bytes thread_id path
        155          allocation 512   9         "forward / layer"
        255          release    512   9         forward
        500          allocation 64    -         -
        """,
    )


def test_totals_of_a_gpu(trace: MakeTrace) -> None:
    assert_rows(
        trace(**GIVEN).query("gpu_totals"),
        """
        gpu device_name kernels kernel_ns copies copy_ns copied_bytes busy_ns idle_ns span_ns
        0   H200        3       5000      1      500     4096         5500    500     6000
        """,
    )


def test_a_range_that_began_before_the_part_has_the_work_in_the_part(trace: MakeTrace) -> None:
    with trace(**GIVEN) as whole, whole.scope(from_="1500ns") as part:
        assert_rows(
            part.query("range_work"),
            """
            path              gpu ranges kernels sum_ns copies copied_bytes
            forward           0   1      1       3000   1      4096
            "forward / layer" 0   1      1       3000   1      4096
            """,
        )
        assert_rows(
            part.sql("FROM range_gpu ORDER BY range_id"),
            "activities exclusive_activities gpu_ns\n 2 0 3500\n 2 2 3500",
        )


def test_ranges_of_nccl_whose_end_was_not_told_have_nothing_inside(trace: MakeTrace) -> None:
    """A group that hangs is the last of its thread, and goes on."""
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain name
            1          5         1         start 0            NCCL   ncclCommInitRankConfig
            1          5         2         start 100          -      step
            1          5         2         end   200          -      -
            1          6         3         start 0            NCCL   ncclGroupEnd
            1          7         4         start 0            -      server
            1          7         5         start 50           -      request
            1          7         5         end   60           -      -
        """,
    )
    assert_rows(
        opened.sql("FROM nvtx_range ORDER BY thread_id, start_ns"),
        """
        path             start_ns end_ns
        step             100      200
        ncclGroupEnd     0        -
        server           0        -
        "server / request" 50     60
        """,
    )


def test_a_range_that_ends_before_it_begins_has_nothing_inside(trace: MakeTrace) -> None:
    """The clock was set back by 1000 while reset was open, and what follows lies in nothing."""
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 2000         reset
            1          5         1         end   1100         -
            1          5         2         start 2050         step
            1          5         2         end   2090         -
            2          5         1         end   1100         -
            2          5         2         start 2000         open
            2          5         2         start 1000         twice
            2          5         2         end   1500         -
        """,
    )
    assert_rows(
        opened.sql("FROM nvtx_range ORDER BY process_id, start_ns"),
        """
        path  start_ns end_ns end_thread_id
        reset 2000     2000   5
        step  2050     2090   5
        twice 1000     1500   5
        open  2000     -      -
        """,
    )


def test_steps_are_one_range_and_a_single_one_keeps_its_name(trace: MakeTrace) -> None:
    # layer 1 and layer 2 are no steps.
    opened = trace(
        marker="""
            process_id timestamp_ns marker_id event name    thread_id
            1          0            1         start step_7  9
            1          10           2         start layer_1 9
            1          20           2         end   -       9
            1          30           1         end   -       9
            1          40           3         start step_8  9
            1          50           4         start layer_1 9
            1          60           4         end   -       9
            1          65           5         start layer_2 9
            1          70           5         end   -       9
            1          80           3         end   -       9
        """,
        api_call="""
            process_id correlation_id domain  name             thread_id start_ns end_ns
            1          1              runtime cudaLaunchKernel 9         12       14
            1          2              runtime cudaLaunchKernel 9         52       54
            1          3              runtime cudaLaunchKernel 9         66       68
        """,
        device="process_id device_id device_uuid\n1 0 GPU-a",
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              15       18     a
            1          0         2              55       60     a
            1          0         3              70       71     a
        """,
        memory="""
            process_id device_id timestamp_ns operation  memory_kind address bytes thread_id
            1          0         13           allocation device      16      64    9
            1          0         52           release    device      16      64    9
            1          0         53           allocation device      32      32    9
        """,
    )
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path               ranges activities gpu_ns exclusive_gpu_ns host_ns other_threads
        step_*             2      3          9      0                70      none
        "step_* / layer_1" 2      2          8      8                20      none
        "step_8 / layer_2" 1      1          1      1                5       none
        """,
    )
    assert_rows(
        opened.query("range_work"),
        """
        path               ranges kernels sum_ns mean_ns
        step_*             2      3       9      3
        "step_* / layer_1" 2      2       8      4
        "step_8 / layer_2" 1      1       1      1
        """,
    )
    # At 13 and 53 in layer_1 of both; what was released counts, whichever step did so.
    assert_rows(
        opened.query("range_memory"),
        """
        path               ranges allocations allocated_bytes released_bytes most_bytes
        step_*             2      2           96              64             64
        "step_* / layer_1" 2      2           96              64             64
        """,
    )
    assert_rows(
        opened.query("memory_peak_holders"),
        'range              allocations bytes\n"step_* / layer_1" 1           64',
    )
    assert_rows(
        opened.scope(steps="0").query("nvtx_projection"),
        'path gpu_ns\nstep_7 3\n"step_7 / layer_1" 3',
    )
