"""A part of a trace: what is in it, at its edges, and that parts add up to the whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.command import etl
from support.trace import assert_rows, write_tables

import cupti_etl
from cupti_etl.analysis.report import build
from cupti_etl.api import Trace
from cupti_etl.cli import cli
from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import Scope
from cupti_etl.queries.scope import Choice, Window

PROCESSES = """
    process_id pid rank host
    1          11  0    a
    2          22  1    a
"""
DEVICES = """
    process_id device_id device_uuid name
    1          0         GPU-a       H200
    2          0         GPU-b       H200
"""
# What is on a GPU: 10-30 and 50-60 in process 1, 20-40 in process 2.
KERNELS = """
    process_id device_id correlation_id start_ns end_ns name
    1          0         1              10       30     a
    1          0         2              50       60     b
    2          0         3              20       40     a
    2          0         4              90       95     c
"""
CALLS = """
    process_id thread_id correlation_id start_ns end_ns name             domain
    1          1         1              4        6      cudaLaunchKernel runtime
    1          1         2              32       46     cudaLaunchKernel runtime
    2          1         3              5        6      cudaLaunchKernel runtime
    2          1         4              50       60     cudaLaunchKernel runtime
"""
MARKS = """
    process_id marker_id timestamp_ns event name   domain thread_id
    1          1         2            start forward -     1
    1          1         40           end   -       -     1
    2          1         15           start forward -     1
    2          1         70           end   -       -     1
"""
TABLES = {"process": PROCESSES, "device": DEVICES, "kernel": KERNELS, "api_call": CALLS}


def test_what_lasts_is_cut_and_what_starts_belongs_where_it_starts(trace) -> None:
    with trace(**TABLES) as whole, whole.scope(from_="20ns", to="50ns") as part:
        # The trace begins with the call at 4.
        assert part.says == "from 20ns, up to 50ns"
        assert_rows(part.sql("FROM kernel ORDER BY start_ns"), "start_ns end_ns name\n 50 60 b")
        assert_rows(
            part.sql("FROM gpu_interval ORDER BY gpu, start_ns"),
            """
            gpu start_ns end_ns name
            0   24       30     a
            0   50       54     b
            1   24       40     a
            """,
        )
        assert_rows(part.query("gpu_busy"), "gpu activities busy_ns\n 0 1 10\n 1 0 16")
        assert_rows(
            part.query("gpu_totals"), "gpu kernels kernel_ns busy_ns\n 0 1 10 10\n 1 0 0 16"
        )
        for query in ("kernel_category", "_kernel_trend"):
            assert_rows(part.query(query), "calls total_ns\n 1 10")
        assert_rows(
            part.query("busy_breakdown"),
            """
            gpu compute_ns idle_ns span_ns start_ns end_ns
            0   10         20      30      24       54
            1   16         14      30      24       54
            """,
        )


def test_the_launch_of_a_kernel_is_looked_up_in_the_whole_trace(trace) -> None:
    with trace(**TABLES) as whole, whole.scope(from_="40ns") as part:
        assert_rows(
            part.sql("FROM launch_to_gpu WHERE process_id = 1"),
            "api_start_ns start_ns name\n 32 50 b",
        )
        assert_rows(
            part.sql("FROM _gap_cause WHERE gpu = 0"),
            """
            start_ns gap_ns launching_ns queued_ns cause
            44       6      2            4         queued
            """,
        )


@pytest.mark.slow
def test_ranks_processes_and_gpus_keep_their_numbers(trace) -> None:
    with trace(**TABLES) as whole:
        for scope in ({"rank": 1}, {"process": 22}, {"process": 2}, {"gpu": 1}):
            with whole.scope(**scope) as part:
                assert_rows(part.sql("FROM kernel ORDER BY start_ns"), "name\n a\n c")
                assert_rows(part.query("busy_breakdown"), "gpu compute_ns idle_ns\n 1 25 50")
                assert part.sql("FROM process").count() == 1
        with whole.scope(rank=[0, 1], to="10ns") as part:
            assert part.sql("FROM kernel").count() == 1


@pytest.mark.slow
def test_each_process_has_its_times(trace) -> None:
    with trace(**TABLES, marker=MARKS) as whole, whole.scope(range="forward") as part:
        assert part.says == "in forward"
        assert "Part of the trace: in forward;" in str(build(part))
        assert_rows(
            part.sql("FROM gpu_interval ORDER BY gpu, start_ns"),
            "gpu start_ns end_ns\n 0 10 30\n 1 20 40",
        )
        assert_rows(
            part.query("busy_breakdown"),
            """
            gpu compute_ns idle_ns span_ns
            0   20         10      30
            1   20         30      50
            """,
        )
        assert_rows(part.sql("FROM api_call ORDER BY start_ns"), "start_ns\n 4\n 32\n 50")


STEPS = """
    process_id marker_id timestamp_ns event name           domain thread_id
    1          1         2            start ProfilerStep#0 -      1
    1          1         31           end   -              -      1
    1          2         32           start ProfilerStep#1 -      1
    1          2         49           end   -              -      1
"""


@pytest.mark.slow
def test_steps(trace) -> None:
    with trace(**TABLES, marker=STEPS) as whole:
        with whole.scope(steps=1) as part:
            assert_rows(part.sql("FROM step"), "step start_ns end_ns\n 1 50 60")
            assert_rows(part.query("busy_breakdown"), "gpu compute_ns idle_ns\n 0 10 0")
        with whole.scope(steps="-1", rank=0) as part:
            assert part.sql("FROM step").count() == 2
        with whole.scope(steps="steady") as part:
            assert part.says == "step 1 of 0-1, after the warm-up"
        with whole.scope(steps="0-1") as part:
            numbers = [row["step"] for row in part.query("step_breakdown").refined("LIMIT 5")]
            assert numbers == [0, 1]
        with whole.scope(steps="all") as part:
            assert part.says == ""
        with pytest.raises(UsageError, match="the trace has no step 7") as raised:
            whole.scope(steps="7-9")
        assert raised.value.hint == "its steps are 0-1"
        with pytest.raises(UsageError, match="steps 3-1 end before they begin") as raised:
            whole.scope(steps="3-1")
        assert raised.value.hint == "give 1-3"


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ({"rank": 7}, "the trace has no rank 7\nits ranks are 0, 1"),
        ({"gpu": 7}, "the trace has no GPU 7\nits GPUs are 0, 1"),
        ({"process": 7}, "the trace has no process 7\nits processes are 11, 22"),
        ({"steps": "one"}, "'one' is no number of steps"),
        ({"steps": 0}, "no steps were found in the trace"),
        ({"range": "nothing"}, "the trace has no range 'nothing'"),
        ({"from_": "soon"}, "'soon' is not a duration"),
        ({"from_": "60%", "to": "10ns"}, "the time from 60% to 10ns is empty"),
    ],
)
def test_what_is_not_there(trace, scope, message) -> None:
    with trace(**TABLES) as whole, pytest.raises(UsageError) as raised:
        whole.scope(**scope)
    assert f"{raised.value}\n{raised.value.hint}".startswith(message)


def test_steps_and_ranges_of_the_host_alone_are_found_by_name(trace) -> None:
    marker = """
        process_id thread_id marker_id event timestamp_ns name
        1          5         1         start 10           ProfilerStep#1
        1          5         1         end   20           -
    """
    with trace(marker=marker) as whole:
        with pytest.raises(UsageError, match="no steps were found") as raised:
            whole.scope(steps=0)
        assert "a range" in raised.value.hint
        with pytest.raises(UsageError, match="has no range 'Step'") as raised:
            whole.scope(range="Step")
        names = whole.sql(raised.value.hint.split('"')[1])
        assert_rows(names, "name\nProfilerStep#1")
        with whole.scope(range="ProfilerStep#1") as part:
            assert_rows(part.sql("SELECT name FROM nvtx_range"), "name\nProfilerStep#1")


@pytest.mark.slow
def test_times_of_all_kinds(trace) -> None:
    epoch = 1_795_209_557_000_000_000
    kernels = f"start_ns end_ns name\n {epoch} {epoch + 10} a\n {epoch + 100} {epoch + 110} b"
    with trace(kernel=kernels) as whole:
        for from_ in ("50ns", "+50ns", "50%", "-20ns", epoch + 50, str(epoch + 50)):
            with whole.scope(from_=from_) as part:
                assert_rows(part.sql("FROM kernel"), "name\n b")


@pytest.mark.slow
def test_a_time_that_no_column_can_hold_is_after_everything(trace) -> None:
    mark = "process_id marker_id timestamp_ns event name\n 1 1 2 start open"
    with trace(**TABLES, marker=mark) as whole:
        with whole.scope(from_="9" * 24, range="open") as part:
            assert part.query("kernel_summary").count() == 0
        with (
            pytest.raises(UsageError, match="'999999999999h' is too much"),
            whole.scope(from_="9" * 12 + "h") as part,
        ):
            part.query("kernel_summary").count()


def test_what_counts_the_whole_trace_is_not_of_a_part(trace) -> None:
    processes = "process_id stored emitted\n 1 2 2\n 2 2 2"
    with trace(**{**TABLES, "process": processes}) as whole:
        with whole.scope(to="20ns") as part:
            assert_rows(part.sql("FROM process"), "process_id stored\n 1 -\n 2 -")
            assert list(part.query("capture_health")) == list(whole.query("capture_health"))
        with (
            whole.scope(gpu=0) as part,
            pytest.raises(UsageError, match="capture_health is about the whole trace"),
        ):
            part.query("capture_health")


@pytest.mark.slow
def test_what_is_of_others_is_not_lost(trace) -> None:
    tables = {
        **TABLES,
        "process": "process_id pid rank world_size host state stored emitted\n"
        " 1 11 0 2 a finished 5 5\n 2 22 1 2 a finished 5 5",
        # They are counted with what a process emitted, but are no records.
        "nccl_event": "process_id\n 1\n 2",
        "capture": "capture_id start_ns end_ns row_counts\n 7 0 100 5",
        "row_count": "process_id table_name stored\n 1 kernel 2\n 2 kernel 2\n - api_call 4\n"
        " - nccl_event 2\n - device 2",
    }
    with trace(**tables) as whole:
        (verdict,) = (r for r in whole.query("capture_health") if r["section"] == "verdict")
        assert (verdict["subject"], verdict["stored"]) == ("complete", 10)
        with whole.scope(rank=1) as part:
            (verdict,) = (r for r in part.query("capture_health") if r["section"] == "verdict")
            assert (verdict["subject"], verdict["stored"]) == ("complete", 5)


@pytest.mark.slow
def test_what_is_lost_of_a_process_is_lost_of_the_part_that_has_it(trace) -> None:
    tables = {
        **TABLES,
        "capture": "capture_id start_ns end_ns row_counts\n 7 0 100 2",
        "row_count": "process_id table_name stored\n 1 kernel 5\n 2 kernel 2",
    }
    with trace(**tables) as whole:
        lost = {}
        for rank in (0, 1):
            with whole.scope(rank=rank) as part:
                rows = part.sql("FROM _loss_cause WHERE cause LIKE 'missing%'")
                lost[rank] = [(row["cause"], row["lost"]) for row in rows]
    assert lost == {0: [("missing from kernel", 3)], 1: []}


def test_a_part_has_no_parts(trace) -> None:
    with trace(**TABLES) as whole, whole.scope(to="50%") as part:
        with pytest.raises(UsageError, match="this is a part of a trace already"):
            part.scope(from_="10%")
        assert part.session().sql("FROM kernel").count() == 2


def test_a_transaction_is_refused(trace) -> None:
    with trace(**TABLES) as whole, whole.scope(to="20ns") as part, part.session() as session:
        with pytest.raises(UsageError, match="a part of a trace knows no transactions"):
            session.sql("BEGIN")
        session.sql("CREATE TABLE mine AS FROM busy_breakdown")
        assert session.sql("FROM mine").count() == 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    """Ten steps of a model on an H200."""
    recording = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
    folder = tmp_path_factory.mktemp("scope") / "run"
    done = CliRunner().invoke(cli, ["import", str(recording), "-o", str(folder)])
    assert done.exit_code == 0, done.output
    with cupti_etl.open(folder) as trace:
        yield trace


@pytest.mark.slow
def test_a_scope_over_everything_is_no_scope(recorded: Trace) -> None:
    everything = Choice("everything", windows=(Window(None, 2**62),))
    with Trace(recorded.paths, choice=everything) as part:
        for query in library():
            if query.name == "kernel_summary" or not query.parameters:
                assert rows(part, query.name) == rows(recorded, query.name), query.name


def rows(trace: Trace, query: str) -> list[str]:
    """The rows, but for the last digits: an operator adds in another order than its SQL."""
    return sorted(
        repr({key: float(f"{v:.9g}") if isinstance(v, float) else v for key, v in row.items()})
        for row in trace.query(query)
    )


# What adds up over the parts of a trace: counts, busy and idle time by cause.
SUMS = {
    "kernels": "SELECT count(*) FROM kernel",
    "copies": "SELECT count(*) FROM memcpy",
    "calls": "SELECT sum(calls) FROM api_summary",
    "executions": "SELECT sum(calls) FROM kernel_summary",
    "launches": "SELECT count(*) FROM launch",
    "activities": "SELECT sum(activities) FROM gpu_busy",
    "busy": "SELECT sum(busy_ns) FROM gpu_busy",
    "compute": "SELECT sum(compute_ns) FROM busy_breakdown",
    "idle": "SELECT sum(idle_ns) FROM busy_breakdown",
    "gaps": "SELECT sum(gap_ns) FROM _gap_edge",
    "queued": "SELECT sum(queued_ns) FROM _gap_cause",
    "outside": "SELECT sum(outside_ns) FROM _gap_cause",
    "waiting": "SELECT sum(waiting_ns) FROM _gap_cause",
}


def sums(trace: Trace) -> dict[str, int]:
    return {
        name: int(next(iter(next(iter(trace.sql(text))).values())) or 0)
        for name, text in SUMS.items()
    }


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000))
def test_two_halves_add_up(recorded: Trace, at: int) -> None:
    edge = f"{at / 100}%"
    whole = sums(recorded)
    try:
        with recorded.scope(to=edge) as one, recorded.scope(from_=edge) as other:
            first, second = sums(one), sums(other)
    except UsageError as error:
        assert "is empty" in str(error)  # noqa: PT017
        return
    assert {name: first[name] + second[name] for name in SUMS} == whole


@pytest.mark.slow
def test_some_questions_are_about_the_steady_state(tmp_path: Path) -> None:
    tables = {
        name: "\n".join(r for r in text.splitlines() if r[:13].strip() != "2")
        for name, text in TABLES.items()
    }
    folder = write_tables(tmp_path / "run", **tables, marker=STEPS)
    for words, says in (
        (
            ["launch_bound"],
            "cupti-etl: part of the trace: step 1 of 0-1, after the warm-up; --steps all",
        ),
        (["launch_bound", "--steps", "all"], ""),
        (["launch_bound", "--to", "50%"], "cupti-etl: part of the trace: up to 50%"),
        (["kernel_summary"], ""),
    ):
        done = etl("query", words[0], folder, *words[1:])
        assert done.returncode == 0
        assert done.stderr.startswith(says) if says else "about" not in done.stderr
        # That all can be asked is said where somebody has not asked for a part.
        assert ("--steps all" in done.stderr) == ("--steps all" in says)


def test_a_process_without_steps_is_not_left_out(trace) -> None:
    with trace(**TABLES, marker=STEPS) as whole:
        assert not whole.has_steady_state
        assert {row["gpu"] for row in whole.query("launch_bound")} == {0, 1}
        # Who is not asked does not matter.
        assert whole.usual(Scope(rank=(0,))) == Scope(rank=(0,), steps="steady")
        assert whole.usual(Scope(rank=(1,))) == Scope(rank=(1,))


@pytest.mark.slow
def test_a_part_says_what_the_program_calls_its_steps(trace) -> None:
    later = STEPS.replace("ProfilerStep#1", "ProfilerStep#5").replace("Step#0", "Step#4")
    with trace(**TABLES, marker=later) as whole:
        for steps, says in (("1", "step 1 (ProfilerStep#5)"), ("0-1", "both steps")):
            with whole.scope(steps=steps) as part:
                assert part.says == says
    with trace(**TABLES, marker=STEPS) as whole, whole.scope(steps=1) as part:
        assert part.says == "step 1"
