"""A query without what its header requires has no row, costs nothing, and gets rows with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.loops import ranges
from support.slow import few
from support.trace import MakeTrace, add_part, assert_rows, write_trace

import cupti_etl
from cupti_etl.analysis.findings import none
from cupti_etl.api import Trace
from cupti_etl.cli import cli
from cupti_etl.queries.catalog import library
from cupti_etl.queries.empty import why_empty

KERNELS = "process_id correlation_id start_ns end_ns name\n 1 1 10 30 a\n 1 2 40 50 a"
CALLS = (
    "process_id thread_id correlation_id start_ns end_ns name\n"
    " 1 7 1 5 8 cudaLaunchKernel\n 1 7 2 35 38 cudaLaunchKernel"
)
STACKS = "process_id correlation_id stack_id state\n 1 1 - no_python\n 1 2 - no_python"
SUM = "SELECT sum(work.gpu_ns) AS gpu_ns FROM _stack_activity AS work"


def made(trace: Trace) -> list[str]:
    rows = trace.sql("SELECT table_name AS name FROM information_schema.tables ORDER BY ALL")
    return [row["name"] for row in rows]


def test_nothing_is_made_for_it(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS, api_call=CALLS)
    assert_rows(opened.query("python_line"), "place own_gpu_ns")
    assert "gpu_interval" not in made(opened)
    assert_rows(opened.query("busy_breakdown"), "compute_ns\n 30")
    assert "gpu_interval" in made(opened)


def test_rows_that_come_are_seen_by_it_and_by_what_is_made_of_it(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=KERNELS, api_call=CALLS)
    with cupti_etl.open(path) as opened, opened.scope(from_="20ns") as part:
        for each in (opened, part):
            assert_rows(each.sql(SUM), "gpu_ns\n -")
            assert each.query("python_line").count() == 0
        stacks = add_part(path, "launch_stack", STACKS)
        for each, gpu_ns in ((opened, 30), (part, 15)):
            assert_rows(each.sql(SUM), f"gpu_ns\n {gpu_ns}")
            assert each.query("python_line").count() == 1
        stacks.unlink()
        for each in (opened, part):
            assert_rows(each.sql(SUM), "gpu_ns\n -")
            assert each.query("python_line").count() == 0


@pytest.mark.parametrize("name", ["python_function", "python_flame_graph", "step_mfu"])
def test_a_profile_of_the_host_alone_is_told(trace: MakeTrace, name: str) -> None:
    spans = (("python_function", "train.py(40): main", 0, 90), ("user_annotation", "step", 10, 20))
    opened = trace(marker=ranges(*spans))
    assert why_empty(opened, library()[name]) == "no GPU activity was recorded."


@pytest.mark.slow
def test_what_a_part_lacks_may_be_looked_up_in_the_whole(trace: MakeTrace) -> None:
    with trace(kernel=KERNELS, api_call=CALLS) as whole, whole.scope(from_="30ns") as part:
        assert_rows(part.sql("SELECT correlation_id FROM api_call"), "correlation_id\n 2")
        assert part.query("launch_latency").count() == 1
    late = CALLS.splitlines()[0] + "\n 1 7 2 5 8 cudaLaunchKernel"
    with trace(kernel=KERNELS, api_call=late) as whole, whole.scope(from_="30ns") as part:
        assert not part.has_rows("api_call")
        assert part.query("launch_to_gpu").count() == 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    path = write_trace(tmp_path_factory.mktemp("whole") / "run", kernel=KERNELS, api_call=CALLS)
    with cupti_etl.open(path) as trace:
        yield trace


@pytest.mark.parametrize("name", few(8, sorted(q.name for q in library() if q.parameters)))
def test_what_takes_parameters_can_be_asked_of_a_part(whole: Trace, name: str) -> None:
    query = library()[name]
    given = {p.name: 0 for p in query.parameters if p.default is None}
    with whole.scope(to="30ns") as part:
        assert part.query(name, **given).count() >= 0


def test_who_asks_for_waits_of_one_rank_is_told_to_ask_all(trace: MakeTrace) -> None:
    opened = trace(
        process="process_id pid rank world_size\n1 10 0 2",
        kernel="process_id device_id start_ns end_ns name\n1 0 0 10 ncclKernel_AllReduce_Sum_f32",
    )
    for name in ("collective_wait", "rank_stragglers"):
        assert "ask the traces of all ranks together" in why_empty(opened, library()[name])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nvtx_layer", "no range is named like a layer: a word such as layer, block or encoder"),
        ("graph_replay", "no recorded work is known to be that of a CUDA graph."),
        ("memcpy_summary", "no copies were recorded."),
        ("memcpy_summary --to 30ns", "in this part of the trace (up to 30ns), no copies were"),
        ("gap_attribution", "every row is hidden by min_ns"),
        ("gap_attribution --param min_ns=1 --where gpu=7", "it has rows, but --where or --limit"),
    ],
)
def test_a_query_with_all_inputs_says_what_it_did_not_find(
    tmp_path: Path, words: str, said: str
) -> None:
    path = write_trace(
        tmp_path / "run",
        kernel="start_ns end_ns name process_id correlation_id\n 0 5 a 1 1\n 10 18 a 1 2\n"
        " 40 50 a 1 3",
        api_call="process_id thread_id start_ns end_ns correlation_id domain name\n"
        " 1 5 0 1 1 runtime cudaLaunchKernel",
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        " 1 5 1 start 0 forward\n 1 5 1 end 9 -",
    )
    query, *options = words.split()
    done = CliRunner().invoke(cli, ["query", query, str(path), "--format=csv", *options])
    told = [line for line in done.stderr.splitlines() if query in line]
    assert [line.startswith(f"cupti-etl: {query}: {said}") for line in told] == [True], done.stderr


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT name, function from pc_sample JOIN kernel_stall USING (samples)",
         ["pc_sample: no PCs were sampled", "kernel_stall: no PCs were sampled"]),
        ("FROM memory", ["memory: no allocations were recorded (capture with the kind memory"]),
        ("FROM kernel WHERE false", []),
        ("FROM kernel_summary", []),
    ],
)  # fmt: skip
def test_sql_without_rows_says_what_the_trace_lacks(
    tmp_path: Path, statement: str, said: list[str]
) -> None:
    path = write_trace(tmp_path / "run", kernel=KERNELS)
    done = CliRunner().invoke(cli, ["sql", str(path), statement], catch_exceptions=False)
    for line, begin in zip(done.stderr.splitlines(), said, strict=True):
        assert line.startswith(f"cupti-etl: {begin}")


@pytest.mark.parametrize("has_call", [False, True])
def test_an_import_without_a_call_of_cuda_says_so(trace: MakeTrace, has_call: bool) -> None:
    """As of a program that failed before it used a GPU, or of nsys without --trace cuda."""
    call = {"api_call": "process_id domain name start_ns end_ns\n1 driver cuInit 1 2"}
    opened = trace(process="process_id state\n1 imported", **(call if has_call else {}))
    assert ("Nor was a call of CUDA" in none(opened)) is not has_call
