"""What exact counters say of kernels."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

TABLES = {
    "kernel_name": """
        mangled demangled        short
        _Z4gemm gemm<int>(float) gemm
    """,
    "kernel": """
        process_id correlation_id name    grid_x grid_y grid_z block_x block_y block_z
        1          1              _Z4gemm 2      3      1      64      1       1
        1          2              _Z4gemm 2      3      1      64      1       1
        1          3              other   2      3      1      64      1       1
        1          3              other   2      3      1      64      1       1
        1          5              other   2      3      1      64      1       1
    """,
    "launch_metric": """
        process_id range_id correlation_id function passes metric value unit one_pass missing
        1          1        1              _Z4gemm  2      a.sum  10    byte true     -
        1          1        1              _Z4gemm  2      b.pct  50    %    -        -
        1          2        2              _Z4gemm  2      a.sum  30    byte true     -
        1          2        2              _Z4gemm  2      b.pct  -     %    -        lost
        1          3        3              other    1      a.sum  5     byte false    -
        1          4        4              gone     1      a.sum  7     byte true     -
        1          5        5              named    1      a.sum  9     byte true     -
    """,
}  # fmt: skip


def test_counters_by_kernel_and_shape(trace: MakeTrace) -> None:
    """A value that is missing is in no mean, and is counted."""
    assert_rows(
        trace(**TABLES).query("kernel_counter"),
        """
        name  grid  block  metric unit mean least most total launches missing passes certain reason
        gemm  2x3x1 64x1x1 a.sum  byte 20   10    30   40    2        0       2      true    -
        gemm  2x3x1 64x1x1 b.pct  %    50   50    50   50    2        1       2      -       lost
        gone  -     -      a.sum  byte 7    7     7    7     1        0       1      true    -
        named 2x3x1 64x1x1 a.sum  byte 9    9     9    9     1        0       1      true    -
        other 2x3x1 64x1x1 a.sum  byte 5    5     5    5     1        0       1      false   -
        """,
    )


def test_a_launch_without_its_kernel_is_seen(trace: MakeTrace) -> None:
    assert_rows(
        trace(**TABLES).query("counter_join"),
        """
        process_id is_whole launches joined without_kernel several_kernels other_name
        1          false    5        2      1              1               1
        """,
    )


def test_three_ways_to_count_stand_side_by_side(trace: MakeTrace) -> None:
    """ncu saw 10 % more in gemm, and knows it by its demangled name."""
    found = trace(
        kernel_name="mangled demangled short\n _Z4gemm gemm<int>(float) gemm<int>",
        kernel="""
            process_id correlation_id name              grid_x grid_y grid_z block_x block_y block_z
            1          1              _Z4gemm           2      3      1      64      1       1
            2          1              gemm(float,int)   2      3      1      64      1       1
        """,
        launch_metric="""
            process_id correlation_id function        metric value unit one_pass source
            1          1              _Z4gemm         a.sum  100   byte true     range_profiler
            2          1              gemm(float,int) a.sum  110   byte -        ncu
            2          1              gemm(float,int) b.sum  3     byte -        ncu
        """,
    )
    assert_rows(
        found.query("metric_agreement"),
        """
        name grid  block  metric unit exact ncu ncu_apart_pct sampled certain launches
        gemm 2x3x1 64x1x1 a.sum  byte 100   110 10            -       true    1
        gemm 2x3x1 64x1x1 b.sum  byte -     3   -             -       -       0
        """,
    )


def test_counters_of_ranges_say_whether_they_are_of_the_same_work(trace: MakeTrace) -> None:
    """Two steps launch the same; of the tail, nothing is known."""
    found = trace(
        launch_metric="""
            process_id range_id range_name launches launch_hash metric value unit passes
            1          1        step       2        77          x.sum  10    byte 1
            1          2        step       2        77          x.sum  30    byte 1
            1          3        tail       1        -           x.sum  7     byte 1
            1          3        tail       1        -           y.sum  8     -    1
        """,
    ).query("range_counter")
    assert_rows(
        found,
        """
        range metric mean unit ranges least most launches same_launches missing
        step  x.sum  20   byte 2      10    30   2        true          -
        tail  x.sum  7    byte 1      7     7    1        -             -
        tail  y.sum  8    -    1      8     8    1        -             -
        """,
    )


def test_ranges_with_other_launches_are_said_to_differ(trace: MakeTrace) -> None:
    found = trace(
        launch_metric="""
            process_id range_id range_name launches launch_hash metric value unit passes
            1          1        step       1        77          x.sum  10    byte 1
            1          2        step       1        78          y.sum  30    byte 1
            1          3        none       0        0           y.sum  30    byte 1
        """,
    ).query("range_counter")
    assert [row["same_launches"] for row in found] == [True, False, False]
