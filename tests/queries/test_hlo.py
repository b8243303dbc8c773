"""HLO modules and operations of XLA, which JAX runs: what is known of their work, and how."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.api import Trace

STEP = "XlaModule:#prefix=jit(step),hlo_module=jit_step,program_id=7#"
TRY = "XlaModule:#hlo_module=dot.3#"
BUFFER = "Thunk:#hlo_op=command_buffer_1#"


def thunk(op: str, name: str = "") -> str:
    return f"Thunk:#{f'name={name},' if name else ''}hlo_op={op},unique_hlo_op_id=9#"


def ranges(*spans: tuple[int, str, int, int]) -> str:
    """(thread, name, start, end) of the domain that XLA uses, and of NCCL's."""
    rows = [
        f'1 {thread} {number} start {start} {"TSL" if "#" in name else "NCCL"} "{name}"\n'
        f"1 {thread} {number} end {end} - -"
        for number, (thread, name, start, end) in enumerate(spans)
    ]
    return "process_id thread_id marker_id event timestamp_ns domain name\n" + "\n".join(rows)


def launched(*calls: tuple[int, int, str]) -> dict[str, str]:
    """(thread, when, kernels): a launch, of several kernels that of a graph; each takes 10 ns."""
    api = ["process_id thread_id correlation_id domain name start_ns end_ns"]
    kernels = ["process_id device_id correlation_id start_ns end_ns name graph_id graph_node_id"]
    for thread, at, names in calls:
        many = names.split()
        name = "cuGraphLaunch" if len(many) > 1 else "cuLaunchKernel"
        api.append(f"1 {thread} {at} driver {name} {at} {at + 1}")
        for node, kernel in enumerate(many):
            start = at + 2 + 10 * node
            graph = f"5 {node + 20}" if len(many) > 1 else "- -"
            kernels.append(f"1 0 {at} {start} {start + 10} {kernel} {graph}")
    return {"api_call": "\n".join(api), "kernel": "\n".join(kernels)}


def test_work_is_of_the_operation_in_whose_range_it_was_launched(trace: MakeTrace) -> None:
    opened = trace(
        marker=ranges(
            (1, STEP, 1000, 1900),
            (1, thunk("dot.1", "jvp()/dot_general"), 1100, 1200),
            (1, thunk("add.2", "transpose(jvp())/add"), 1300, 1400),
            (1, thunk("all-reduce.3"), 1500, 1600),
            (1, "ncclAllReduce", 1510, 1590),
        ),
        **launched(
            (1, 1050, "setup"), (1, 1110, "dot_1"), (1, 1150, "dot_1"), (1, 1310, "add_2"),
            (1, 1520, "ncclDevKernel"), (1, 2000, "mine"),
        ),
    )  # fmt: skip
    assert_rows(
        opened.query("hlo_summary"),
        """
        hlo_op       framework_op                     pass     phase   source percent kernels executions host_ns
        dot.1        "jit(step)/jvp()/dot_general"    forward  program range  40      2       1          100
        add.2        "jit(step)/transpose(jvp())/add" backward program range  20      1       1          100
        all-reduce.3 -                                -        program range  20      1       1          100
        -            -                                -        program range  20      1       -          -
        -            -                                -        -       -      100     1       -          -
        """,  # noqa: E501
    )


def buffered(trace: MakeTrace, **tables: str) -> Trace:
    """A command buffer that ran twice; its operations were seen while it was recorded."""
    return trace(
        marker=ranges(
            (1, STEP, 1000, 1900),
            (1, thunk("dot.1", "dot_general"), 1010, 1020),
            (1, thunk("mul.1"), 1020, 1030),
            (1, thunk("mul_1"), 1030, 1040),
            (1, thunk("add.2"), 1040, 1050),
            (1, thunk("neg.4"), 1050, 1060),
            (1, BUFFER, 1100, 1200),
            (1, STEP, 2000, 2900),
            (1, BUFFER, 2100, 2200),
        ),
        **launched(
            *((1, at, "dot_1 mul_1 add_2 add_2 cutlass_gemm neg") for at in (1110, 2110)),
        ),
        **tables,
    )


def test_kernels_of_a_command_buffer_are_told_by_their_names_where_these_are_clear(
    trace: MakeTrace,
) -> None:
    assert_rows(
        buffered(trace).sql("FROM hlo_summary WHERE self_gpu_ns > 0"),
        """
        hlo_op           source           kernels self_gpu_ns executions framework_op
        command_buffer_1 "command buffer" 10      100         2          -
        dot.1            name             2       20          2          jit(step)/dot_general
        """,
    )


def test_nodes_that_were_recorded_say_more_than_names(trace: MakeTrace) -> None:
    opened = buffered(
        trace,
        graph_node="""
        process_id graph_node_id kind   at_ns thread_id stack_id state
        1          21            kernel 1025  1         -        -
        1          25            kernel 1055  1         -        -
        """,
    )
    assert_rows(
        opened.sql("SELECT * FROM hlo_summary WHERE source IN ('node', 'name') ORDER BY hlo_op"),
        """
        hlo_op source kernels
        dot.1  name   2
        mul.1  node   2
        neg.4  node   2
        """,
    )


def test_what_the_autotuner_tries_is_not_the_programs(trace: MakeTrace) -> None:
    opened = trace(
        marker=ranges(
            (1, "XlaCompile:#module=jit_step#", 100, 900),
            (1, "XlaPass:#name=cse,module=jit_step,program_id=7#", 110, 190),
            (1, "XlaPass:#name=gpu-autotuner,module=jit_step,program_id=7#", 200, 880),
            (2, TRY, 300, 400),
            (2, thunk("dot.3"), 320, 380),
            (1, STEP, 1000, 1100),
            (1, thunk("dot.3"), 1010, 1050),
        ),
        **launched(
            (1, 120, "folded"), (1, 210, "cleared"),
            (2, 290, "RedzoneAllocatorKernelImpl"), (2, 310, "DelayKernel"), (2, 330, "dot_3"),
            (2, 950, "later"), (3, 500, "others"), (1, 1020, "dot_3"),
        ),
    )  # fmt: skip
    assert_rows(
        opened.sql("SELECT * FROM hlo_summary ORDER BY phase, source, hlo_module, hlo_op"),
        """
        phase       source hlo_module program_id hlo_op kernels
        autotuning  range  dot.3      -          dot.3  1
        autotuning  range  dot.3      -          -      1
        autotuning  range  jit_step   7          -      1
        autotuning  thread -          -          -      1
        compilation range  jit_step   7          -      1
        program     range  jit_step   7          dot.3  1
        -           -      -          -          -      2
        """,
    )


def test_an_operation_whose_module_was_not_recorded_is_not_taken_for_a_try(
    trace: MakeTrace,
) -> None:
    """One before and one after a module that the autotuner tried, neither of them in it."""
    opened = trace(
        marker=ranges(
            (1, thunk("dot.1"), 10, 50), (1, TRY, 100, 200), (1, thunk("dot.2"), 300, 400)
        ),
        **launched((1, 20, "dot_1"), (1, 310, "dot_2")),
    )
    assert_rows(
        opened.sql("SELECT * FROM hlo_summary ORDER BY hlo_op"),
        """
        phase   source hlo_module hlo_op kernels
        program range  -          dot.1  1
        program range  -          dot.2  1
        """,
    )


@pytest.mark.slow
def test_modules_that_ran_are_steps_where_nothing_better_is_named(trace: MakeTrace) -> None:
    update = "XlaModule:#hlo_module=jit_update,program_id=7#"
    runs = [(1, update, 1000 * n, 1000 * n + 100) for n in range(1, 5)]
    tries = [(2, TRY, 10 * n, 10 * n + 5) for n in range(20)]
    work = launched(
        *((1, 1000 * n + 10, "add") for n in range(1, 5)),
        *((2, 10 * n + 1, f"try{n % 3}") for n in range(20)),
    )
    text = "SELECT * FROM step ORDER BY step"
    assert_rows(
        trace(marker=ranges(*tries, *runs), **work).sql(text),
        """
        step source name       start_ns
        0    nvtx   jit_update 1012
        1    nvtx   jit_update 2012
        2    nvtx   jit_update 3012
        3    nvtx   jit_update 4012
        """,
    )
    # Twice is no loop, and what the autotuner repeats is none.
    assert_rows(trace(marker=ranges(*tries, *runs[:2]), **work).sql(text), "step")
    named = ranges(*runs, *((1, f"batch#{n}", 1000 * n, 1000 * n + 90) for n in range(1, 5)))
    assert_rows(
        trace(marker=named.replace('TSL "batch#', 'NCCL "batch '), **work).sql(
            "SELECT DISTINCT regexp_replace(name, '[0-9]', 'N') AS name FROM step"
        ),
        """
        name
        "batch N"
        """,
    )


def test_of_modules_that_ran_the_one_with_most_work_is_the_step(trace: MakeTrace) -> None:
    """That of the numbers to begin with ran as often, and took the host longer."""
    first = "XlaModule:#hlo_module=jit_normal,program_id=3#"
    update = "XlaModule:#hlo_module=jit_update,program_id=7#"
    opened = trace(
        marker=ranges(
            *((1, first, 1000 * n, 1000 * n + 900) for n in range(1, 5)),
            *((1, update, 1000 * n, 1000 * n + 100) for n in range(5, 9)),
        ),
        **launched(
            *((1, 1000 * n + 10, "normal") for n in range(1, 5)),
            *((1, 1000 * n + 10, "dot add") for n in range(5, 9)),
        ),
    )
    assert_rows(
        opened.sql("SELECT DISTINCT name FROM step"),
        """
        name
        jit_update
        """,
    )
