"""The change of a step is split into parts that add to it."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace

from cupti_etl.analysis.diff import diff_as_given

STEPS = 8


def loop(step_ns: int, kernel_ns: int, copy_ns: int = 0, steps: int = STEPS) -> dict[str, str]:
    """Steps of a kernel, and a copy after it, on one GPU; the host does nothing but launch."""
    marks, calls, kernels, copies = [], [], [], []
    for n in range(steps):
        at = 1000 + n * step_ns
        marks += [f"1 5 {n + 1} start {at} step", f"1 5 {n + 1} end {at + 100} -"]
        calls += [
            f"1 5 {2 * n} runtime cudaLaunchKernel {at} {at + 10}",
            f"1 5 {2 * n + 1} runtime cudaMemcpyAsync {at + 20} {at + 30}",
        ]
        kernels += [f"1 0 {2 * n} {at + 10} {at + 10 + kernel_ns} k 1 1 1 1 1 1"]
        end = at + 10 + kernel_ns
        copies += [f"1 0 {2 * n + 1} {end} {end + copy_ns} HtoD"] if copy_ns else []
    return {
        "device": "process_id device_id device_uuid\n1 0 GPU-a",
        "marker": "\n".join(["process_id thread_id marker_id event timestamp_ns name", *marks]),
        "api_call": "\n".join(
            ["process_id thread_id correlation_id domain name start_ns end_ns", *calls]
        ),
        "kernel": "\n".join(
            [
                "process_id device_id correlation_id start_ns end_ns name"
                " grid_x grid_y grid_z block_x block_y block_z",
                *kernels,
            ]
        ),
        "memcpy": "\n".join(
            ["process_id device_id correlation_id start_ns end_ns copy_kind", *copies]
        ),
    }


def parts(found) -> dict[str, int]:
    return {
        row["name"]: row["change_ns"]
        for row in found.table.to_pylist()
        if row["subject"] == "step part"
    }


def change(found) -> int:
    (row,) = [row for row in found.table.to_pylist() if row["subject"] == "step"]
    return row["change_ns"]


def kernel_change(found) -> int:
    (row,) = [row for row in found.table.to_pylist() if row["subject"] == "kernel"]
    return row["change_ns"]


@pytest.mark.slow
def test_parts_add_to_the_change(trace: MakeTrace) -> None:
    found = diff_as_given(trace(**loop(1000, 300)), trace(**loop(1500, 400, copy_ns=50)))
    assert sum(parts(found).values()) == change(found)
    # The last step ends with its work and has no idle time of the host.
    # The last step ends with its work: there the host was not outside of CUDA.
    assert parts(found) == {
        "gpu 0: compute": STEPS * 100,
        "gpu 0: exposed copies": STEPS * 50,
        "gpu 0: idle: host outside CUDA": (STEPS - 1) * 350,
        "gpu 0: idle: launching": 0,
    }
    assert found.verdict == "regress"
    assert "compute +100 ns" in found.why
    assert "exposed copies +50 ns" in found.why


def test_a_trace_with_itself_changes_in_nothing(trace: MakeTrace) -> None:
    one = trace(**loop(1000, 300, copy_ns=20))
    found = diff_as_given(one, one)
    assert set(parts(found).values()) == {0}
    assert found.verdict == "none"


@pytest.mark.slow
def test_fewer_steps_that_take_as_long_are_no_change(trace: MakeTrace) -> None:
    before, after = trace(**loop(1000, 300)), trace(**loop(1000, 310, steps=STEPS // 2))
    whole = diff_as_given(before, after)
    steady = [each.scope(steps="steady") for each in (before, after)]
    found = diff_as_given(*steady)
    assert parts(found)["gpu 0: compute"] == STEPS // 2 * 10
    for row in found.table.to_pylist():
        effects = row["count_effect_ns"], row["mix_effect_ns"], row["duration_effect_ns"]
        if row["subject"] == "kernel":
            assert (row["before_calls"], row["after_calls"]) == (STEPS, STEPS // 2)
            assert (row["change_ns"], *effects) == (STEPS // 2 * 10, 0, 0, STEPS // 2 * 10)
    assert "8 steps before and 4 after, and changes are from as many as after;" in found.note
    # Of all of a run nothing says that it is of its steps.
    assert parts(whole) == parts(found)
    assert kernel_change(whole) == STEPS // 2 * 310 - STEPS * 300
    assert "but for what is not of steps, which is of the whole runs;" in whole.note
