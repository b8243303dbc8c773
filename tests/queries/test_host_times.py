"""Parts by steps: what the host did for them is chosen by the times at which it did it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from queries.test_scope import STEPS, TABLES
from support.command import etl
from support.trace import assert_rows, write_tables

from cupti_etl.errors import UsageError


@pytest.mark.slow
def test_what_the_host_did_for_a_step_is_chosen_by_its_own_times(trace) -> None:
    # The host asks for all of step 1, from 32 on, before its GPU begins with it at 50.
    calls = "SELECT start_ns FROM api_call WHERE process_id = 1 ORDER BY start_ns"
    around = "1 3 1 start all - 1\n 1 3 60 end - - 1"
    ranges = "SELECT name, end_ns - start_ns AS ns FROM nvtx_range ORDER BY ns"
    with trace(**TABLES, marker=STEPS + around) as whole:
        assert_rows(
            whole.query("step"),
            """
            step start_ns end_ns host_start_ns host_end_ns
            0    10       50     2             32
            1    50       60     32            49
            """,
        )
        for query in ("step_breakdown", "step_summary"):
            assert_rows(whole.query(query), "duration_ns host_duration_ns\n 40 30\n 10 17")
        for step, start, step_ns, all_ns in ((0, 4, 29, 30), (1, 32, 17, 17)):
            with whole.scope(steps=step) as part:
                assert_rows(part.sql(calls), f"start_ns\n {start}")
                rows = f"ProfilerStep#{step} {step_ns}\n all {all_ns}"
                assert_rows(part.sql(f"{ranges}, name"), f"name ns\n {rows}")
                assert_rows(part.query("_launched_outside"), "percent\n 0")
        with whole.scope(steps="0-1") as part:
            assert_rows(part.sql(calls), "start_ns\n 4\n 32")
        # Times that are asked for are those of both; the trace begins at 1.
        with whole.scope(steps=1, to="50ns") as part:
            assert_rows(part.sql(calls), "start_ns\n 32")
        with whole.scope(steps=1, from_="49ns") as part:
            assert_rows(part.sql("SELECT name FROM kernel"), "name\n b")
            assert_rows(part.sql(calls), "start_ns")
            assert_rows(part.sql(ranges), "name")


def loop(lost: int | None = None) -> dict[str, str]:
    """Six times three kernels, launched long before; perhaps one call was not recorded."""
    at = range(18)
    return {
        "device": "process_id device_id device_uuid\n 1 0 GPU-a",
        "kernel": "process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {n} {1000 + 10 * n} {1008 + 10 * n} {'abc'[n % 3]}" for n in at),
        "api_call": "process_id thread_id correlation_id domain name start_ns end_ns\n"
        + "\n".join(f"1 1 {n} runtime cudaLaunchKernel {10 + n} {11 + n}" for n in at if n != lost),
    }


@pytest.mark.slow
def test_what_the_host_did_for_a_guessed_step(trace) -> None:
    with trace(**loop()) as whole, whole.scope(steps="2-3") as part:
        assert_rows(
            part.query("step"),
            """
            step source  start_ns end_ns host_start_ns host_end_ns
            2    kernels 1060     1090   16            19
            3    kernels 1090     1120   19            22
            """,
        )
        assert_rows(
            part.sql("SELECT count(*) AS n, min(correlation_id) AS first FROM api_call"),
            "n first\n 6 6",
        )
    # Without calls it is not known when the host asked.
    with trace(**{**loop(), "api_call": ""}) as whole, whole.scope(steps="2-3") as part:
        assert part.sql("FROM kernel").count() == 6
        assert_rows(part.query("step"), "host_start_ns host_end_ns\n - -\n - -")


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 6, 15])
def test_a_call_that_was_not_recorded_moves_an_edge_and_no_more(trace, lost: int) -> None:
    """Of the kernel that a guessed step begins with; the parts still add to the whole."""
    with trace(**loop(lost)) as whole:

        def count(steps: str) -> int:
            with whole.scope(steps=steps) as part:
                return part.sql("FROM api_call").count()

        steps = whole.query("step").count()
        assert steps == 5
        each = [count(str(step)) for step in range(steps)]
        for middle in range(steps - 1):
            assert count(f"-{middle}") == sum(each[: middle + 1])
            assert count(f"{middle + 1}-") == sum(each[middle + 1 :])
        assert max(each) <= 6


@pytest.mark.slow
def test_how_long_the_host_asked_for_a_step_is_not_known_without_the_call(trace) -> None:
    # The recording began after the first of them, or lost one.
    for lost, durations in ((0, "- 3 3 3 3"), (6, "3 6 - 3 3")):
        with trace(**loop(lost)) as whole:
            for query in ("step_breakdown", "step_summary"):
                assert_rows(
                    whole.query(query),
                    "step host_duration_ns\n"
                    + "\n".join(f"{n} {ns}" for n, ns in enumerate(durations.split())),
                )


def test_ranges_of_a_step_are_those_that_the_host_was_in_for_it(trace) -> None:
    # While the host is in the forward pass of step 1, the GPU works for step 0.
    forward = """
    1          5         3            start forward        -      1
    1          5         30           end   -              -      1
    1          6         32           start forward        -      1
    1          6         48           end   -              -      1
    """
    with trace(**TABLES, marker=STEPS + forward) as whole:
        for step, call in ((0, 4), (1, 32)):
            with whole.scope(steps=step, range="forward") as part:
                assert_rows(part.sql("SELECT start_ns FROM api_call"), f"start_ns\n {call}")


def test_times_in_which_the_host_alone_was_at_a_step(trace) -> None:
    # The trace begins at 2; the GPU begins with step 1 at 50.
    with trace(**TABLES, marker=STEPS) as whole:
        with whole.scope(steps=1, to="38ns") as part:
            assert_rows(part.sql("SELECT start_ns FROM api_call"), "start_ns\n 32")
            assert part.sql("FROM kernel").count() == 0
            assert part.query("busy_breakdown").count() == 0
        with pytest.raises(UsageError, match="the scope is empty"):
            whole.scope(steps=1, to="20ns")


def test_launches_and_their_ranges_are_those_of_the_step(trace) -> None:
    with trace(**TABLES, marker=STEPS) as whole, whole.scope(steps=1) as part:
        assert_rows(part.sql("SELECT start_ns FROM launch"), "start_ns\n 32")
        assert_rows(
            part.query("nvtx_projection"), "path gpu_ns ranges host_ns\n ProfilerStep#1 10 1 17"
        )


def test_what_is_late_is_so_of_the_whole_trace(trace) -> None:
    # In a part the host can be done before the GPU has begun.
    load = "\n 1          1         9              33       34       cuModuleLoadData driver"
    tables = {**TABLES, "api_call": TABLES["api_call"].rstrip() + load}
    with trace(**tables, marker=STEPS) as whole, whole.scope(steps=1) as part:
        assert_rows(part.query("jit_module_load"), "name late\n cuModuleLoadData 1")


def test_an_export_of_a_step_has_what_allocators_did_in_it(tmp_path: Path) -> None:
    memory = """
        process_id thread_id timestamp_ns operation  memory_kind address bytes source
        1          1         5            allocation device      16      8     "PyTorch allocator"
        1          1         40           release    device      16      8     "PyTorch allocator"
    """
    write_tables(tmp_path / "run", **TABLES, marker=STEPS, memory=memory)
    out = tmp_path / "out.json"
    done = etl("export", tmp_path / "run", "--to", "chrome", "--steps", "1", out)
    assert done.returncode == 0, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    assert [each["args"]["Bytes"] for each in events if each["name"] == "[memory]"] == [-8]
    arrows = sorted((each["ph"], each["id"]) for each in events if each["name"] == "ac2g")
    assert arrows == [("f", "2 of 11"), ("s", "2 of 11")]


def test_a_part_of_a_trace_that_does_not_know_its_devices(trace) -> None:
    tables = {name: rows for name, rows in TABLES.items() if name != "device"}
    with trace(**tables, marker=STEPS) as whole, whole.scope(steps="0") as part:
        (kernels,) = part.sql("SELECT count(*) AS n FROM kernel")
        assert kernels["n"] > 0
        (busy,) = part.sql("SELECT sum(compute_ns) > 0 AS is_some FROM busy_breakdown")
        assert busy["is_some"]
