"""Executions that tried out configurations of a Triton kernel, told from the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.trace import assert_rows

MakeTrace = Callable[..., Any]
CLEAR = 256 << 20


def runs(*, clears: int, threads: tuple[int, ...] = (128, 256)) -> dict[str, str]:
    """Two configurations tried six times after clearing, then four steps with the better one."""
    kernels = ["process_id device_id stream_id correlation_id start_ns end_ns name block_x"]
    sets = ["process_id device_id stream_id correlation_id start_ns end_ns bytes"]
    at, call = 1000, 1
    for block in threads:
        for turn in range(6):
            if turn < clears:
                sets.append(f"1 0 7 {call} {at} {at + 20} {CLEAR}")
            kernels.append(f"1 0 7 {call + 1} {at + 30} {at + 130} softmax {block}")
            at, call = at + 200, call + 2
    for _ in range(4):
        kernels.append(f"1 0 7 {call} {at} {at + 90} softmax 256")
        kernels.append(f"1 0 7 {call + 1} {at + 100} {at + 150} other 64")
        at, call = at + 200, call + 2
    return {"kernel": "\n".join(kernels), "memset": "\n".join(sets)}


def test_tries_are_told_by_the_cache_that_is_cleared(trace: MakeTrace) -> None:
    assert_rows(
        trace(**runs(clears=6)).query("triton_autotune"),
        """
        short   source  confidence configurations tries tuning_ns clearing_ns other_runs other_ns
        softmax pattern 0.8        2              12    1440      240         4          360
        """,
    )


@pytest.mark.parametrize("changes", [{"clears": 4}, {"clears": 6, "threads": (256,)}])
def test_what_looks_otherwise_is_no_tuning(trace: MakeTrace, changes: dict[str, Any]) -> None:
    assert list(trace(**runs(**changes)).query("triton_autotune")) == []


def test_stacks_decide_where_there_are_some(trace: MakeTrace) -> None:
    stacks = ["process_id correlation_id stack_id state"]
    stacks += [f"1 {call} {71 if call < 13 else 72} whole" for call in range(2, 33)]
    frames = """
        process_id stack_id depth function        file                              line
        1          71       0     Autotuner._bench /venv/triton/runtime/autotuner.py 164
        1          71       1     main            /app/train.py                     3
        1          72       0     Autotuner.run   /venv/triton/runtime/autotuner.py 230
        1          72       1     main            /app/train.py                     3
    """
    rows = trace(**runs(clears=0), launch_stack="\n".join(stacks), python_stack=frames)
    assert_rows(
        rows.query("triton_autotune"),
        """
        short   source confidence configurations tries tuning_ns clearing_ns other_runs other_ns
        softmax python 1          1              6     600       0           10         960
        """,
    )
