"""What makes a flight recorder write: each trigger against rows that a test can read."""

from __future__ import annotations

import pytest
from support.trace import as_table

from cupti_etl.capture.triggers import Alive, Fired, Trigger, parse
from cupti_etl.errors import UsageError

S, MS = 10**9, 10**6


def look(trigger: Trigger, table: str, text: str, at_ns: int = 0) -> list[Fired]:
    """What fires as rows arrive, in batches as the decoder makes them and plain ones."""
    (batch,) = as_table(table, text).combine_chunks().to_batches()
    return list(trigger.look(table, batch, at_ns))


def steps(*took_ms: int, name: str = "step", process: int = 1, first: int = 0) -> str:
    """Ranges of one process, one after the other."""
    rows, at = [], 1_000_000
    for number, took in enumerate(took_ms, first):
        rows += [f"{process} {number} start {at} '{name} {number}'"]
        at += took * MS
        rows += [f"{process} {number} end {at} -"]
    return "\n".join(["process_id marker_id event timestamp_ns name", *rows])


def test_a_slow_step() -> None:
    trigger = parse("slow-step>1.5x")
    assert look(trigger, "marker", steps(10, 11, 10, 9, 10, 15)) == []
    (fired,) = look(trigger, "marker", steps(10, 10, 17, 12, first=6))
    assert fired.trigger == "slow-step>1.5x"
    assert fired.process_id == 1
    assert fired.detail == "step 8 took 17 ms, 1.70 times the 10 ms of the 8 before it"


def test_a_slow_step_of_seconds() -> None:
    (fired,) = look(parse("slow-step>1.5x"), "marker", steps(*[9_000] * 6, 17_250))
    assert fired.detail == "step 6 took 17,250 ms, 1.92 times the 9,000 ms of the 6 before it"


def test_a_step_that_ends_in_a_later_batch() -> None:
    trigger = parse("slow-step>2x")
    look(trigger, "marker", steps(*[10] * 6))
    head = "process_id marker_id event timestamp_ns name\n"
    assert look(trigger, "marker", f"{head}1 99 start {S} step") == []
    assert look(trigger, "marker", f"{head}2 99 end {S + 90 * MS} -") == []  # of another process
    (fired,) = look(trigger, "marker", f"{head}1 99 end {S + 30 * MS} -")
    assert "took 30 ms" in fired.detail


def test_the_first_steps_are_slow_and_nothing_to_compare_with() -> None:
    assert look(parse("slow-step>1.5x"), "marker", steps(1000, 10, 10, 10, 10)) == []


def test_each_process_and_name_has_its_own_pace() -> None:
    trigger = parse("slow-step>1.5x")
    look(trigger, "marker", steps(*[10] * 6))
    look(trigger, "marker", steps(*[100] * 6, process=2))
    assert look(trigger, "marker", steps(120, process=2, first=6)) == []
    assert look(trigger, "marker", steps(*[50] * 3, name="iteration")) == []
    assert len(look(trigger, "marker", steps(50, first=7))) == 1


@pytest.mark.parametrize(
    ("name", "is_step"),
    [
        *(("ProfilerStep#", True), ("training_step", True), ("Iteration", True)),
        *(("run_batch", False), ("Optimizer.step#Adam", False), ("stepping", False)),
    ],
)
def test_what_is_a_step(name: str, is_step: bool) -> None:
    trigger = parse("slow-step>1.5x")
    text = steps(*[10] * 8, 90).replace("'step ", f"'{name}")
    assert bool(look(trigger, "marker", text)) == is_step


def test_steps_of_a_name() -> None:
    trigger = parse("slow-step:a > b>1.5x")
    assert look(trigger, "marker", steps(*[10] * 8, 90)) == []
    assert len(look(trigger, "marker", steps(*[10] * 8, 90, name="a > b"))) == 1


def test_a_range_and_a_mark() -> None:
    head = "process_id marker_id event timestamp_ns name\n"
    trigger = parse("nvtx:save")
    assert look(trigger, "marker", f"{head}1 1 start 5 saved\n1 1 end 6 -") == []
    (fired,) = look(trigger, "marker", f"{head}7 2 start 5 save")
    assert (fired.process_id, fired.detail) == (7, "a range began: save")
    (fired,) = look(trigger, "marker", f"{head}7 2 instant 5 save\n7 3 instant 6 save")
    assert fired.detail == "a mark was made: save"
    assert look(trigger, "kernel", "process_id name\n1 save") == []


LAUNCH = "process_id name correlation_id start_ns end_ns\n1 cudaLaunchKernel {} 0 1"
OTHER = "process_id name correlation_id start_ns end_ns\n1 cudaMalloc {} 0 1"
KERNEL = "process_id correlation_id start_ns end_ns\n1 {} 0 1"
ALIVE = [Alive(1, 77)]


def test_work_that_does_not_end() -> None:
    trigger = parse("hang>10s")
    look(trigger, "api_call", LAUNCH.format(5), 0)
    look(trigger, "kernel", KERNEL.format(5), 1 * S)
    look(trigger, "api_call", LAUNCH.format(6), 2 * S)
    look(trigger, "api_call", OTHER.format(7), 9 * S)
    assert list(trigger.wait(ALIVE, 10 * S)) == []
    (fired,) = trigger.wait(ALIVE, 11 * S)
    assert fired.process_id == 1
    assert fired.detail == "no GPU work of process 77 ended for 10 s, and it has launched some"
    # Once, until work ends again.
    assert list(trigger.wait(ALIVE, 50 * S)) == []
    look(trigger, "kernel", KERNEL.format(6), 51 * S)
    assert list(trigger.wait(ALIVE, 60 * S)) == []
    assert [one.detail for one in trigger.wait(ALIVE, 61 * S)] == [
        "process 77 made no record for 10 s"
    ]


def test_a_program_that_does_something_else() -> None:
    """It has launched nothing that has not ended."""
    trigger = parse("hang>10s")
    look(trigger, "api_call", LAUNCH.format(5), 0)
    look(trigger, "kernel", KERNEL.format(5), 1 * S)
    look(trigger, "api_call", OTHER.format(7), 19 * S)
    assert list(trigger.wait(ALIVE, 20 * S)) == []


def test_a_program_that_has_ended_or_never_began_hangs_not() -> None:
    trigger = parse("hang>10s")
    look(trigger, "api_call", OTHER.format(7), 0)
    assert list(trigger.wait(ALIVE, 20 * S)) == []
    look(trigger, "kernel", KERNEL.format(7), 0)
    assert list(trigger.wait([], 20 * S)) == []


@pytest.mark.parametrize(
    "text", ["", "exit", "exit==0", "SIGNAL", "slow-step>x", "slow-step", "hang", "nvtx", "nvtx:"]
)
def test_what_is_no_trigger(text: str) -> None:
    with pytest.raises(UsageError, match="is no trigger"):
        parse(text)
