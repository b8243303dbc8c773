"""What ranges asked for in a part of a trace: from the sums of the whole, as if added up anew."""

from __future__ import annotations

import random
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from support.trace import write_tables

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.queries import part_sums
from cupti_etl.queries.scope import Choice, Gpu, Window

pytestmark = pytest.mark.slow

SPAN = 200
PROCESSES = (1, 2, 3)
NAMES = ("a", "b", "autograd::engine::x")


def made_up(luck: random.Random) -> dict[str, str]:
    """Ranges that nest and cross, calls in and outside of them, work that may take no time."""
    marks, calls, kernels = [], [], []
    for process in PROCESSES:
        for number in range(luck.choice([0, 5, 40])):
            start = luck.randrange(SPAN)
            end = start + luck.choice([0, 3, luck.randrange(SPAN)])
            thread = luck.choice([7, 7, 8])
            name = luck.choice(NAMES)
            marks.append(f"{process} {thread} {number} start {start} {name}")
            if luck.random() < 0.95:
                marks.append(f"{process} {thread} {number} end {end} -")
        for number in range(60):
            start = luck.randrange(SPAN)
            began = start + luck.choice([0, 1, luck.randrange(50)])
            ended = began + luck.choice([0, 0, 1, luck.randrange(20)])
            calls.append(f"{process} {luck.choice([7, 8, 9])} {number} runtime {start} {start + 1}")
            kernels.append(f"{process} {luck.choice([0, 1])} {number} {began} {ended} k")
    return {
        "marker": "\n".join(["process_id thread_id marker_id event timestamp_ns name", *marks]),
        "api_call": "\n".join(
            ["process_id thread_id correlation_id domain start_ns end_ns", *calls]
        ),
        "kernel": "\n".join(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
        "device": "\n".join(
            ["process_id device_id device_uuid name"]
            + [f"{p} {d} GPU-{p}{d} H200" for p in PROCESSES[:2] for d in (0, 1)]
        ),
    }


def windows(luck: random.Random) -> tuple[Window, ...]:
    """Times of all, or of some processes."""
    if luck.random() < 0.3:
        start, end = sorted(luck.sample(range(SPAN + 60), 2))
        return (Window(luck.choice([None, start]), luck.choice([None, end, end])),)
    found = []
    for process in luck.sample(PROCESSES, luck.choice([1, 2, 3])):
        edges = sorted(luck.sample(range(SPAN + 60), 2 * luck.choice([1, 1, 2, 15])))
        found += [Window(*edges[at : at + 2], process) for at in range(0, len(edges), 2)]
    return tuple(found)


def sums(path: Path, choice: Choice, below: Trace | None = None) -> tuple[list[str], list[str]]:
    """Of a part; ``below``: the same GPUs at all times, opened for it alone if not given."""
    with Trace((path,), choice=choice, below=below) as part:
        own, both = (sorted(map(repr, part.sql(f"FROM {n}"))) for n in ("_range_own", "range_gpu"))
    return own, both


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_a_part_are_what_adding_up_gives(tmp_path: Path, seed: int) -> None:
    luck = random.Random(seed)
    path = write_tables(tmp_path / "run", **made_up(luck))
    gpu = Gpu(0, 1, 0, "GPU-10", "H200", None)
    with ExitStack() as stack:

        @cache
        def below(of_gpu: bool) -> Trace:
            who = Choice("one GPU", "", (1,), (gpu,), True) if of_gpu else Choice("all")
            return stack.enter_context(Trace((path,), choice=who))

        for _ in range(4):
            choice = Choice("made up", windows=windows(luck))
            if of_gpu := luck.random() < 0.3:
                choice = Choice("one GPU", "", (1,), (gpu,), True, choice.windows)
            found = sums(path, choice, below(of_gpu))
            with patch.object(part_sums, "operators", lambda *_: {}):
                assert found == sums(path, choice, below(of_gpu)), choice


def test_all_of_a_trace_has_the_sums_of_the_trace(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "run", **made_up(random.Random(1)))
    with cupti_etl.open(path) as trace:
        whole = sorted(map(repr, trace.sql("FROM range_gpu")))
    assert whole
    assert sums(path, Choice("all", windows=(Window(None, 2**62),)))[1] == whole


def test_what_takes_no_time_at_the_end_of_a_part_is_not_in_it(tmp_path: Path) -> None:
    path = write_tables(
        tmp_path / "run",
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          7         1         start 0            a
            1          7         1         end   9            -
        """,
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns
            1          7         1              runtime 1        2
            1          7         2              runtime 3        4
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              10       20     k
            1          0         2              20       20     k
        """,
    )
    for end, activities in ((20, 1), (21, 2)):
        for process in (None, 1):
            choice = Choice("its begin", windows=(Window(5, end, process),))
            with Trace((path,), choice=choice) as part:
                assert [row["activities"] for row in part.sql("FROM range_gpu")] == [activities]
