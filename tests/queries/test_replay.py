"""What several runs of a command counted, put together."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

# A process that is run three times; in its second run, `add` comes once more.
PROCESSES = """
    process_id start_ns host argv  rank replay_run
    1          100      a    ./app -    1
    2          200      a    ./app -    2
    3          300      a    ./app -    3
"""
KERNELS = """
    process_id correlation_id name grid_x grid_y grid_z block_x block_y block_z
    1          1              mul  2      1      1      64      1       1
    1          2              add  2      1      1      64      1       1
    2          1              mul  2      1      1      64      1       1
    2          2              add  2      1      1      64      1       1
    2          3              add  2      1      1      64      1       1
    3          1              mul  2      1      1      64      1       1
    3          2              add  2      1      1      64      1       1
"""
MEASURED = """
    process_id range_id correlation_id function metric value unit missing
    1          1        1              mul      x.sum  10    byte -
    1          2        2              add      x.sum  20    byte -
    2          1        1              mul      y.sum  11    inst -
    2          2        2              add      y.sum  21    inst -
    2          3        3              add      y.sum  22    inst -
    3          1        1              mul      z.pct  -     %    lost
    3          2        2              add      z.pct  30    %    -
"""


def test_each_launch_has_the_metrics_of_all_runs(trace: MakeTrace) -> None:
    """But those of a run that launched its kernel more often."""
    found = trace(process=PROCESSES, kernel=KERNELS, launch_metric=MEASURED)
    assert_rows(
        found.query("replay_counter"),
        """
        range_id name grid  nth metric value unit run missing
        1        mul  2x1x1 1   x.sum  10    byte 1   -
        1        mul  2x1x1 1   y.sum  11    inst 2   -
        1        mul  2x1x1 1   z.pct  -     %    3   lost
        2        add  2x1x1 1   x.sum  20    byte 1   -
        2        add  2x1x1 1   y.sum  -     inst 2   "run 2 measured it 2 times, and run 1 1 times"
        2        add  2x1x1 1   z.pct  30    %    3   -
        """,
    )


def test_where_runs_differ_is_said(trace: MakeTrace) -> None:
    found = trace(process=PROCESSES, kernel=KERNELS, launch_metric=MEASURED).query("replay_check")
    assert [*found] == [
        {
            "process_id": 1, "run": 2, "is_same": False, "first_launches": 2, "launches": 3,
            "first_difference": 3, "expected": None, "found": "add 2x1x1 64x1x1",
        },
        {
            "process_id": 1, "run": 3, "is_same": True, "first_launches": 2, "launches": 2,
            "first_difference": None, "expected": None, "found": None,
        },
    ]  # fmt: skip


def test_ranges_have_to_launch_the_same(trace: MakeTrace) -> None:
    """In the second range of the second run, other kernels ran, or in another order."""
    found = trace(
        process=PROCESSES.replace("3          300", "9          300"),
        launch_metric="""
            process_id range_id range_name launches launch_hash metric value missing
            1          1        step       5        77          x.sum  10    -
            1          2        step       5        77          x.sum  20    -
            2          1        step       5        77          y.sum  11    -
            2          2        step       5        78          y.sum  21    -
        """,
    )
    assert_rows(
        found.query("replay_counter"),
        """
        range_id name nth metric value run missing
        1        step 1   x.sum  10    1   -
        1        step 1   y.sum  11    2   -
        2        step 2   x.sum  20    1   -
        2        step 2   y.sum  -     2   "run 2 made other launches in it than run 1"
        """,
    )
    assert_rows(
        found.query("replay_check"),
        """
        process_id run is_same first_launches launches first_difference expected found
        1          2   false   2              2        2                step     step
        """,
    )


def test_processes_are_those_of_the_same_rank(trace: MakeTrace) -> None:
    """Whichever begins first; rank 1 did not measure anything in the second run."""
    found = trace(
        process="""
            process_id start_ns host argv  rank replay_run
            1          100      a    ./app 0    1
            2          101      a    ./app 1    1
            3          200      a    ./app 1    2
            4          201      a    ./app 0    2
        """,
        launch_metric="""
            process_id range_id range_name launch_hash metric value
            1          1        step       7           x.sum  10
            2          1        step       7           x.sum  20
            4          1        step       7           y.sum  11
        """,
    )
    assert_rows(
        found.query("replay_counter"),
        """
        process_id metric value missing
        1          x.sum  10    -
        1          y.sum  11    -
        2          x.sum  20    -
        2          y.sum  -     "run 2 did not measure it"
        """,
    )
    assert_rows(
        found.query("replay_check"),
        """
        process_id is_same first_launches launches first_difference expected found
        1          true    1              1        -                -        -
        2          false   1              0        1                step     -
        """,
    )


def test_each_chip_has_its_own_groups(trace: MakeTrace) -> None:
    """Rank 1 counts y.sum in its first run and x.sum in its second, and z.sum of one launch."""
    found = trace(
        process="""
            process_id start_ns host argv  rank replay_run
            1          100      a    ./app 0    1
            2          101      a    ./app 1    1
            3          200      a    ./app 0    2
            4          201      a    ./app 1    2
        """,
        launch_metric="""
            process_id range_id range_name launch_hash metric value
            1          1        step       7           x.sum  10
            1          1        step       7           z.sum  30
            3          1        step       7           y.sum  11
            2          1        step       7           y.sum  21
            2          2        step       7           y.sum  22
            2          2        step       7           z.sum  32
            4          1        step       7           x.sum  20
            4          2        step       7           x.sum  25
        """,
    )
    assert_rows(
        found.query("replay_counter"),
        """
        process_id range_id metric value run missing
        1          1        x.sum  10    1   -
        1          1        y.sum  11    2   -
        1          1        z.sum  30    1   -
        2          1        x.sum  20    2   -
        2          1        y.sum  21    1   -
        2          1        z.sum  -     1   "CUPTI gave no value"
        2          2        x.sum  25    2   -
        2          2        y.sum  22    1   -
        2          2        z.sum  32    1   -
        """,
    )


def test_runs_that_lack_different_launches_are_not_mixed(trace: MakeTrace) -> None:
    """Run 1 lacks the first of three, run 2 the last, run 3 the first, as run 1 does."""
    found = trace(
        process=PROCESSES,
        launch_metric="""
            process_id range_id function metric value
            1          2        mul      x.sum  12
            1          3        mul      x.sum  13
            2          1        mul      y.sum  21
            2          2        mul      y.sum  22
            3          2        mul      z.sum  32
            3          3        mul      z.sum  33
        """,
    )
    assert_rows(
        found.query("replay_counter"),
        """
        range_id metric value run missing
        2        x.sum  12    1   -
        2        y.sum  -     2   "run 1 or 2 lacks others, so this may be another one"
        2        z.sum  32    3   -
        3        x.sum  13    1   -
        3        y.sum  -     2   "run 1 or 2 lacks others, so this may be another one"
        3        z.sum  33    3   -
        """,
    )


def test_a_command_that_is_run_once_has_no_runs(trace: MakeTrace) -> None:
    found = trace(
        process="process_id start_ns\n 1 100",
        launch_metric="process_id range_id function metric value\n 1 1 mul x.sum 10",
    )
    assert [*found.query("replay_counter")] == [*found.query("replay_check")] == []
