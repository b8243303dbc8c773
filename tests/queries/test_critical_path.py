"""What determined the run time, and what beside it had slack."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows


def test_the_critical_path_goes_over_the_host_where_it_launched_too_late(trace: MakeTrace) -> None:
    # The wait returns at 1110; until 1210 the host prepares and launches b, then all is launched.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1000     1100   a
            1          0         2              1210     1300   b
            1          0         3              1300     1400   ncclAllReduce
            1          0         4              1405     1410   b
            1          0         5              1150     1160   beside
        """,
        api_call="""
            process_id domain  name                  correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel      1              900      950
            1          runtime cudaStreamSynchronize 9              960      1110
            1          runtime cudaLaunchKernel      5              1140     1150
            1          runtime cudaLaunchKernel      2              1200     1210
            1          runtime cudaLaunchKernel      3              1212     1215
            1          runtime cudaLaunchKernel      4              1216     1218
        """,
    )
    assert_rows(
        opened.query("critical_path"),
        """
        class         total_ns slack_ns
        host          100      0
        compute       195      10
        communication 100      0
        copy          0        0
        idle          15       0
        """,
    )


def test_kernels_beside_the_host_have_slack(trace: MakeTrace) -> None:
    # From 110 to 400 the host of GPU 0 prepares the launch of last. Of the 250 after early 20 are
    # busy; after cut, which counts as one with what runs beside it, 90 are idle. The kernel that
    # the wait waited for is on the path. Process 2, with the same ids, has a GPU of its own.
    opened = trace(
        kernel="""
            process_id device_id stream_id correlation_id start_ns end_ns name
            1          0         7         1              0        100    first
            1          0         7         2              120      150    early
            1          0         7         3              300      310    split
            1          0         8         4              290      308    split
            1          0         7         5              410      500    last
            1          0         7         5              500      510    split
            1          0         7         5              510      -      split
            2          0         7         1              0        100    first
            2          0         7         3              100      130    early
        """,
        api_call="""
            process_id domain  name                  correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel      1              -50      -40
            1          runtime cudaStreamSynchronize 9              -30      110
            1          runtime cudaLaunchKernel      2              111      115
            1          runtime cudaLaunchKernel      3              116      119
            1          runtime cudaLaunchKernel      4              119      120
            1          runtime cudaLaunchKernel      5              390      400
            2          runtime cudaLaunchKernel      1              -50      -40
            2          runtime cudaLaunchKernel      3              -30      -20
        """,
        device="process_id device_id device_uuid\n 1 0 A\n 2 0 B",
        kernel_name="mangled short\n split cut",
    )
    assert_rows(
        opened.sql("FROM kernel_slack ORDER BY gpu, mangled"),
        """
        gpu name  runs on_path total_ns path_ns slack_total_ns slack_min_ns slack_median_ns \
slack_max_ns
        0   early 1    0       30       0       230            230          230             230
        0   first 1    1       100      100     0              -            -               0
        0   last  1    1       90       90      0              -            -               0
        0   cut   3    1       38       10      180            90           90              90
        1   early 1    1       30       30      0              -            -               0
        1   first 1    1       100      100     0              -            -               0
        """,
    )


def test_a_call_that_frees_while_the_gpu_works_is_a_wait(trace: MakeTrace) -> None:
    # cudaFree waits for the kernel that was launched before it, and frees for 20 more. The second
    # one finds the GPU idle, and the asynchronous one waits for nothing.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    a
            1          0         2              300      400    a
            1          0         3              500      600    a
        """,
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              50       60
            1          runtime cudaFree         4              70       220
            1          runtime cudaFree         5              230      240
            1          runtime cudaLaunchKernel 2              250      290
            1          runtime cudaFreeAsync    6              300      410
            1          runtime cudaLaunchKernel 3              450      490
        """,
    )
    assert_rows(opened.sql("FROM _host_path"), "start_ns end_ns\n200 490")
    assert_rows(
        opened.query("critical_path"),
        """
        class         total_ns slack_ns
        host          290      0
        compute       200      100
        communication 0        0
        copy          0        0
        idle          10       0
        """,
    )


def test_a_copy_for_which_the_call_waits_is_a_wait(trace: MakeTrace) -> None:
    # Two processes, each with its GPU; the second only launches, and its host is never waited for.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    a
            1          0         3              260      300    a
            2          0         1              100      150    a
            2          0         2              150      400    a
        """,
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind bytes
            1          0         2              205      210    DtoH      4
        """,
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              50       60
            1          runtime cudaMemcpyAsync  2              70       220
            1          runtime cudaLaunchKernel 3              250      258
            2          runtime cudaLaunchKernel 1              50       60
            2          runtime cudaLaunchKernel 2              70       80
        """,
        device="process_id device_id device_uuid\n 1 0 GPU-a\n 2 0 GPU-b",
    )
    # From the return of the copy at 220 to that of the launch at 258 the host had it; before the
    # copy it had been waiting for long.
    assert_rows(
        opened.query("critical_path"),
        """
        gpu class         total_ns percent slack_ns
        0   host          38       19      0
        0   compute       140      70      0
        0   communication 0        0       0
        0   copy          5        2.5     0
        0   idle          17       8.5     0
        1   host          0        0       0
        1   compute       300      100     0
        1   communication 0        0       0
        1   copy          0        0       0
        1   idle          0        0       0
        """,
    )


def test_a_copy_from_pageable_memory_is_a_wait(trace: MakeTrace) -> None:
    # Its call waits for a, and returns when the last piece is in the driver's buffer. Then the host
    # is late with b, from 250 to 280.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    a
            1          0         3              285      300    b
        """,
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind src_kind
            1          0         2              202      255    HtoD      pageable
        """,
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              50       60
            1          runtime cudaMemcpyAsync  2              70       250
            1          runtime cudaLaunchKernel 3              270      280
        """,
    )
    assert_rows(
        opened.query("critical_path"),
        """
        class         total_ns slack_ns
        host          30       0
        compute       115      0
        communication 0        0
        copy          48       5
        idle          7        0
        """,
    )


def test_a_call_that_waits_before_it_copies_is_a_wait(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n 1 0 1 100 1000 a",
        memcpy="""
            process_id device_id correlation_id start_ns end_ns copy_kind src_kind
            1          0         2              1020     1050   HtoD      host
        """,
        api_call="""
            process_id domain  name                correlation_id start_ns end_ns
            1          runtime hipLaunchKernel     1              90       95
            1          runtime hipMemcpyWithStream 2              110      1040
        """,
    )
    assert_rows(
        opened.query("critical_path").refined("WHERE total_ns > 0"),
        "class total_ns slack_ns\n host 20 0\n compute 900 0\n copy 30 0",
    )


@pytest.mark.parametrize(
    ("begin", "end", "host", "compute", "idle"),
    [
        (None, None, 50, 200, 150),
        # Up to 130 the host waits for the GPU; from 160 on it prepares the launch, up to 210.
        (None, "180ns", 0, 100, 30),
        ("180ns", None, 50, 100, 120),
        (None, "240ns", 30, 100, 60),
        ("240ns", "280ns", 20, 0, 20),
    ],
)
def test_the_path_of_a_part_adds_up_to_the_part(
    trace: MakeTrace, begin: str | None, end: str | None, host: int, compute: int, idle: int
) -> None:
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              0        100    a
            1          0         2              300      400    b
        """,
        api_call="""
            process_id domain  name                  correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel      1              -50      -40
            1          runtime cudaStreamSynchronize 9              -30      160
            1          runtime cudaLaunchKernel      2              200      210
        """,
    )
    with opened.scope(from_=begin, to=end) as part:
        assert_rows(
            part.query("critical_path"),
            f"""
            class         total_ns
            host          {host}
            compute       {compute}
            communication 0
            copy          0
            idle          {idle}
            """,
        )


def test_a_kernel_whose_name_is_not_known_has_slack(trace: MakeTrace) -> None:
    # From 110 to 200 the host prepares the launch of last; the other ends at 130 and could at 200.
    opened = trace(
        kernel="""
            process_id correlation_id start_ns end_ns name
            1          1              0        100    first
            1          2              120      130    -
            1          3              210      300    last
        """,
        api_call="""
            process_id domain  name                  correlation_id start_ns end_ns
            1          runtime cudaStreamSynchronize 9              -30      110
            1          runtime cudaLaunchKernel      2              111      115
            1          runtime cudaLaunchKernel      3              190      200
        """,
    )
    assert_rows(
        opened.sql("SELECT mangled, on_path, path_ns, slack_total_ns FROM kernel_slack"),
        """
        mangled on_path path_ns slack_total_ns
        first   1       100     0
        last    1       90      0
        -       0       0       70
        """,
    )


def test_a_launch_whose_start_is_not_known_leads_nowhere(trace: MakeTrace) -> None:
    # Since when the host prepared it is not known: not since the beginning of the GPU's span.
    opened = trace(
        kernel="""
            process_id correlation_id start_ns end_ns name
            1          1              0        100    a
            1          2              210      300    a
        """,
        api_call="""
            process_id domain  name                  correlation_id start_ns end_ns
            1          runtime cudaStreamSynchronize 9              -30      110
            1          runtime cudaLaunchKernel      2              -        200
        """,
    )
    assert list(opened.query("_host_path")) == []


@pytest.mark.parametrize(
    ("launched", "expected"),
    [
        # The GPU had b all along, which waits for another GPU, and needed nothing of the host's.
        (60, "host 0\n compute 130\n idle 170"),
        # From 105 on it was not the host that the GPU waited for.
        (105, "host 105\n compute 30\n idle 165"),
    ],
)
def test_a_gpu_that_has_other_work_does_not_wait_for_the_host(
    trace: MakeTrace, launched: int, expected: str
) -> None:
    opened = trace(
        kernel="""
            process_id device_id stream_id correlation_id start_ns end_ns name
            1          0         7         1              0        100    a
            1          0         7         2              280      300    b
            1          0         8         3              210      220    late
        """,
        api_call=f"""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              -20      -10
            1          runtime cudaLaunchKernel 2              50       {launched}
            1          runtime cudaLaunchKernel 3              200      210
        """,
    )
    assert_rows(
        opened.sql(
            "SELECT class, total_ns FROM critical_path WHERE class IN ('host', 'compute', 'idle')"
        ),
        f"class total_ns\n {expected}",
    )
    # From 220 to 280 as well; 5 of the first gap are of the call that launched b.
    own = {60: "queued 170", 105: "queued 165\n launching 5"}[launched]
    assert_rows(opened.sql("SELECT cause, idle_ns FROM idle_summary"), f"cause idle_ns\n {own}")
    with opened.scope(from_="150ns", to="250ns") as part:
        assert_rows(part.query("idle_summary"), "cause idle_ns\n queued 90")
        assert_rows(
            part.query("critical_path"),
            "class total_ns\n host 0\n compute 10\n communication 0\n copy 0\n idle 90",
        )


def test_a_wait_for_nothing_does_not_end_the_part_of_the_host(trace: MakeTrace) -> None:
    # The GPU is done at 1100, and the first wait with it. When the second begins, nothing is left.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1000     1100   a
            1          0         2              1910     2000   b
        """,
        api_call="""
            process_id domain  name                  correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel      1              900      950
            1          runtime cudaStreamSynchronize 8              960      1105
            1          runtime cudaEventSynchronize  9              1800     1805
            1          runtime cudaLaunchKernel      2              1890     1900
        """,
    )
    assert_rows(
        opened.query("critical_path"),
        """
        class         total_ns slack_ns
        host          795      0
        compute       190      0
        communication 0        0
        copy          0        0
        idle          15       0
        """,
    )


def test_an_id_that_begins_anew_was_not_launched_ahead(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      110    a
            1          0         2              200      210    b
            1          0         1              300      310    c
        """,
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              90       95
            1          runtime cudaLaunchKernel 2              190      195
            1          runtime cudaLaunchKernel 1              290      295
        """,
    )
    # Of what began later, the call of the smallest id is the last, though an earlier one has it.
    assert_rows(
        opened.sql("SELECT queued_ns, outside_ns FROM _gap_cause ORDER BY start_ns LIMIT 1"),
        "queued_ns outside_ns\n 5 80",
    )
