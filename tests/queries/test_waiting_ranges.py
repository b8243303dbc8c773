"""What one thread asks for while a range of another waits for it: added, left out, or not known."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace import MakeTrace, assert_rows

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.imports.run import import_traces

RECORDING = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"

# Thread 5 is in a step from 0 to 100, and in its backward pass from 40 to 90.
STEP = [(5, "step", 0, 100), (5, "backward", 40, 90)]
OWN = [(5, 10, 1), (5, 42, 2), (5, 95, 4)]


def made(
    trace: MakeTrace,
    ranges: list[tuple[int, str, int, int]],
    launches: list[tuple[int, int, int]],
    call_ns: int = 2,
    **tables: str,
) -> Trace:
    """Ranges are (thread, name, start, end), launches (thread, start, time on the GPU)."""
    markers = [
        f'1 {thread} {n} start {start} "{name}"\n1 {thread} {n} end {end} -'
        for n, (thread, name, start, end) in enumerate(ranges)
    ]
    calls = [
        f"1 {thread} {n} runtime cudaLaunchKernel {at} {at + call_ns}"
        for n, (thread, at, _) in enumerate(launches)
    ]
    kernels = [f"1 0 {n} 1000 {1000 + ns} k" for n, (_, _, ns) in enumerate(launches)]
    return trace(
        marker="\n".join(["process_id thread_id marker_id event timestamp_ns name", *markers]),
        api_call="\n".join(
            ["process_id thread_id correlation_id domain name start_ns end_ns", *calls]
        ),
        kernel="\n".join(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
        **tables,
    )


def test_a_range_has_what_the_thread_asks_for_that_it_waits_for(trace: MakeTrace) -> None:
    opened = made(trace, STEP, [*OWN, (6, 50, 8), (6, 60, 16), (6, 70, 32), (6, 200, 64)])
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path              other_threads activities gpu_ns exclusive_gpu_ns
        step              "waited for"  6          63     5
        "step / backward" "waited for"  4          58     58
        """,
    )
    assert_rows(
        opened.sql("FROM _range_wait"),
        "thread_id start_ns end_ns asking_range_id is_clear\n6 50 70 - true",
    )


def test_ranges_of_the_asking_thread_keep_what_is_theirs(trace: MakeTrace) -> None:
    own = (6, "mine", 55, 65)
    opened = made(trace, [*STEP, own], [*OWN, (6, 50, 8), (6, 60, 16), (6, 70, 32)])
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path              other_threads gpu_ns exclusive_gpu_ns
        step              "waited for"  47     5
        "step / backward" "waited for"  42     42
        mine              none          16     16
        """,
    )


def test_two_threads_that_wait_have_no_number(trace: MakeTrace) -> None:
    other = [(7, "other step", 1, 101), (7, "sub", 3, 9)]
    launches = [*OWN, (7, 4, 128), (7, 20, 256), (6, 50, 8), (6, 60, 16)]
    assert_rows(
        made(trace, [*STEP, *other], launches).query("nvtx_projection"),
        """
        path               other_threads ranges activities gpu_ns exclusive_gpu_ns idle_ns host_ns
        "other step"       "not clear"   1      -          -      -                -       100
        "other step / sub" none          1      1          128    128              0       6
        step               "not clear"   1      -          -      -                -       100
        "step / backward"  "not clear"   1      -          -      -                -       50
        """,
    )


def test_two_threads_that_are_waited_for_have_no_number(trace: MakeTrace) -> None:
    opened = made(trace, STEP, [*OWN, (6, 50, 8), (7, 60, 16)])
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path              other_threads gpu_ns
        step              "not clear"   -
        "step / backward" "not clear"   -
        """,
    )


def test_a_thread_that_works_beside_is_not_waited_for(trace: MakeTrace) -> None:
    # Its call at 11 began while thread 5 was in one: what it asks for later is its own, too.
    opened = made(trace, STEP, [*OWN, (6, 11, 8), (6, 60, 16)])
    assert opened.sql("FROM _range_wait").count() == 0
    assert_rows(
        opened.query("nvtx_projection"),
        """
        path              other_threads gpu_ns
        step              none          7
        "step / backward" none          2
        """,
    )


def test_a_range_of_a_thread_that_never_launches_waits_for_nobody(trace: MakeTrace) -> None:
    opened = made(trace, [(9, "io loop", 0, 500)], [(5, 10, 1), (6, 20, 2)])
    assert opened.sql("FROM _range_wait").count() == 0
    assert opened.query("nvtx_projection").count() == 0


NODE = "autograd::engine::evaluate_function: Mm"
AUTOGRAD = [(6, NODE, 45, 65), (6, "aten::mm", 50, 60), (6, NODE, 66, 69), (6, "hook", 75, 85)]


def test_ranges_of_autograd_are_of_the_range_that_waits(trace: MakeTrace) -> None:
    launches = [*OWN, (6, 46, 8), (6, 55, 16), (6, 67, 32), (6, 80, 64)]
    assert_rows(
        made(trace, [*STEP, *AUTOGRAD], launches).query("nvtx_projection"),
        f"""
        path                other_threads gpu_ns exclusive_gpu_ns
        step                "waited for"  127    5
        "step / backward"   "waited for"  122    2
        hook                none          64     64
        "{NODE}"            none          56     40
        "{NODE} / aten::mm" none          16     16
        """,
    )


def test_what_ranges_run_and_allocate_has_the_work_of_autograd_too(trace: MakeTrace) -> None:
    launches = [*OWN, (6, 46, 8), (6, 55, 16), (6, 67, 32), (6, 80, 64)]
    opened = made(
        trace,
        [*STEP, *AUTOGRAD],
        launches,
        memory="process_id thread_id timestamp_ns operation memory_kind address bytes\n"
        "1 6 50 allocation device 16 512\n1 5 96 release device 16 512",
    )
    assert_rows(
        opened.query("range_work"),
        f"""
        path                ranges kernels sum_ns max_ns
        step                1      7       127    64
        "step / backward"   1      5       122    64
        hook                1      1       64     64
        "{NODE}"            2      3       56     32
        "{NODE} / aten::mm" 1      1       16     16
        """,
    )
    assert_rows(
        opened.query("range_memory"),
        f"""
        path                ranges allocated_bytes released_bytes
        "{NODE}"            1      512             0
        "{NODE} / aten::mm" 1      512             0
        step                1      512             512
        "step / backward"   1      512             0
        """,
    )


def test_a_range_that_has_ended_has_nothing_of_one_that_crosses_autograds(trace: MakeTrace) -> None:
    ranges = [(5, "step", 0, 30), (6, NODE, 20, 50), (6, NODE, 40, 80)]
    assert_rows(
        made(trace, ranges, [(5, 10, 1), (6, 60, 2)]).query("nvtx_projection"),
        f'path gpu_ns\n"{NODE}" 2\nstep 1',
    )


def test_autograd_may_have_a_thread_for_each_gpu(trace: MakeTrace) -> None:
    launches = [*OWN, (6, 46, 8), (7, 47, 16)]
    opened = made(trace, [*STEP, *AUTOGRAD, (7, NODE, 45, 65)], launches)
    assert_rows(
        opened.sql("SELECT path, gpu_ns FROM nvtx_projection WHERE path LIKE 'step%'"),
        'path gpu_ns\nstep 31\n"step / backward" 26',
    )


def test_autograd_beside_the_only_range_is_for_somebody_who_is_not_known(trace: MakeTrace) -> None:
    opened = made(trace, [*STEP, *AUTOGRAD], [*OWN, (6, 46, 8), (5, 47, 16)])
    assert_rows(
        opened.sql("SELECT path, other_threads, gpu_ns FROM nvtx_projection LIMIT 2"),
        """
        path              other_threads gpu_ns
        step              "not clear"   -
        "step / backward" "not clear"   -
        """,
    )


def test_nodes_on_the_thread_that_waits_are_of_the_backward_pass(trace: MakeTrace) -> None:
    # The node at 46 begins while autograd's thread is in its call, as PyTorch runs it on the CPU.
    node = [(5, NODE, 46, 70), (5, "torch::autograd::AccumulateGrad", 47, 69)]
    launches = [*OWN, (6, 45, 8), (6, 55, 16), (6, 67, 32), (6, 80, 64)]
    opened = made(trace, [*STEP, *AUTOGRAD, *node], launches)
    assert_rows(
        opened.sql("SELECT path, other_threads, gpu_ns FROM nvtx_projection LIMIT 2"),
        """
        path              other_threads gpu_ns
        step              "waited for"  127
        "step / backward" "waited for"  122
        """,
    )


@pytest.mark.slow
def test_nodes_of_older_pytorch_have_no_range_of_the_engine_around_them(trace: MakeTrace) -> None:
    nodes = [(6, "MmBackward", 45, 65), (6, "torch::autograd::AccumulateGrad", 66, 69)]
    launches = [*OWN, (6, 46, 8), (6, 67, 32)]
    assert_rows(
        made(trace, [*STEP, *nodes], launches).query("nvtx_projection"),
        """
        path                            other_threads gpu_ns
        step                            "waited for"  47
        "step / backward"               "waited for"  42
        torch::autograd::AccumulateGrad none          32
        MmBackward                      none          8
        """,
    )


def test_a_range_that_is_only_called_like_a_node_is_the_users(trace: MakeTrace) -> None:
    opened = made(trace, [*STEP, (6, "MyBackward", 45, 65)], [*OWN, (6, 46, 8)])
    assert opened.sql("FROM _range_wait").count() == 0


@pytest.mark.slow
def test_in_a_program_whose_threads_take_turns_it_is_what_time_alone_says(tmp_path: Path) -> None:
    import_traces([RECORDING], tmp_path / "run", 1)
    with cupti_etl.open(tmp_path / "run") as opened:
        by_time = opened.sql("""
            SELECT r.path, count(*) AS activities, sum(a.end_ns - a.start_ns)::BIGINT AS gpu_ns
            FROM nvtx_range AS r
            JOIN launch AS l
                ON l.process_id = r.process_id AND l.start_ns BETWEEN r.start_ns AND r.end_ns
            JOIN gpu_activity AS a
                ON a.process_id = l.process_id AND a.correlation_id = l.correlation_id
            GROUP BY r.path ORDER BY r.path
        """)
        projected = opened.sql("SELECT path, activities, gpu_ns FROM nvtx_projection ORDER BY path")
        assert list(by_time) == list(projected)
        assert_rows(
            opened.sql("SELECT gpu_ns FROM nvtx_projection WHERE path = 'step / backward'"),
            "gpu_ns\n6962584",
        )
