"""Python functions whose return PyTorch's profiler missed end with those that called them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imports.conftest import Import, event, kineto
from support.trace import assert_rows

from cupti_etl.imports.kineto.python_calls import PythonCalls
from cupti_etl.imports.skipped import Skipped

LENGTHS = "SELECT name, (end_ns - start_ns) // 1000 AS us FROM nvtx_range"


def function(
    name: str, at: float, dur: float, id: int, caller: int, tid: int = 7, pid: int = 7
) -> dict[str, Any]:
    ids = {"Python id": id, "Python parent id": caller}
    return event("python_function", name, at, dur, pid, tid=tid, **ids)


@pytest.mark.slow
def test_a_function_ends_with_its_caller(tmp_path: Path, imported: Import) -> None:
    # The call of next() raised StopIteration, and so did a function within it.
    path = kineto(
        tmp_path / "a.json",
        function("main", 0, 1000, 1, 0),
        function("nn.Module: Net_0", 10, 500, 2, 1),
        function("<built-in function next>", 50, 900, 3, 2),
        function("<built-in function iter>", 60, 800, 4, 3),
        event("cuda_runtime", "cudaGraphLaunch", 100, 10, correlation=7),
        event("kernel", "k", 120, 200, 0, device=0, stream=7, correlation=7),
        # On another thread a function goes on after that which began it.
        function("unpack_hook", 20, 700, 5, 2, tid=8),
    )
    trace = imported(path)
    assert_rows(trace.query("module_summary"), "module gpu_ns\nNet_0 200000")
    assert_rows(
        trace.sql(f"{LENGTHS} ORDER BY us DESC"),
        """
        name                       us
        main                       1000
        unpack_hook                700
        "nn.Module: Net_0"         500
        "<built-in function next>" 460
        "<built-in function iter>" 450
        """,
    )
    assert_rows(
        trace.sql("SELECT what, category, events FROM import_skipped"),
        "what category events\npython_function.end invalid 2",
    )


def test_callers_that_cannot_be(tmp_path: Path, imported: Import) -> None:
    """Functions that call each other, one that ended before, and numbers that no column holds."""
    path = kineto(
        tmp_path / "a.json",
        function("a", 0, 10, 1, 2),
        function("b", 1, 20, 2, 1),
        function("late", 50, 5, 3, 1),
        function("large", 60, 5, 10**30, 10**30),
        event("python_function", "without", 70, 5),
    )
    assert_rows(
        imported(path).sql(f"{LENGTHS} ORDER BY start_ns"),
        "name us\na 10\nb 9\nlate 5\nlarge 5\nwithout 5",
    )


def test_numbers_are_those_of_a_process(tmp_path: Path, imported: Import) -> None:
    path = kineto(
        tmp_path / "a.json",
        function("a", 0, 100, 1, 0, pid=7),
        function("b", 0, 1000, 1, 0, pid=8),
        function("inside b", 10, 500, 2, 1, pid=8),
    )
    assert_rows(
        imported(path).sql(f"{LENGTHS} ORDER BY us"), 'name us\na 100\n"inside b" 500\nb 1000'
    )


# Of each function: how far before it its caller stands, when it begins after it, and how long it
# seems to take; and how many of them come at once.
FUNCTIONS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 40)))


@settings(deadline=None)
@given(FUNCTIONS, st.integers(1, 5))
def test_whatever_is_called(functions: list[tuple[int, int, int]], rows: int) -> None:
    events: list[dict[str, Any]] = []
    begin: list[int] = []
    end: list[int] = []
    for number, (before, after, dur) in enumerate(functions):
        at = (begin[-1] if begin else 0) + after
        caller = number - before if before else -1
        arguments = f'{{"Python id": {number}, "Python parent id": {caller}}}'
        row = {"pid": "1", "tid": "7", "arguments": arguments}
        events.append({"start_ns": at, "duration_ns": dur, **row})
        begin.append(at)
        goes_on = caller >= 0 and end[caller] >= at
        end.append(min(at + dur, end[caller]) if goes_on else at + dur)
    skipped = Skipped()
    calls = PythonCalls(skipped)
    ended: list[int] = []
    for first in range(0, len(events), rows):
        batch = calls.ended(pa.RecordBatch.from_pylist(events[first : first + rows]))
        ended += [row["start_ns"] + row["duration_ns"] for row in batch.to_pylist()]
    assert ended == end
    cut = sum(b + dur != e for b, e, (_, _, dur) in zip(begin, end, functions, strict=True))
    assert sum(row["events"] for row in skipped.rows("")) == cut
