"""Ranges that cross: what is around each, what they asked for, against a search without wit."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.trace import ONE_THREAD, by_sql, write_tables

import cupti_etl
from cupti_etl.api import Trace

PROCESS = 1
_MARKER = "process_id thread_id marker_id event timestamp_ns name domain"
_NEVER = 1 << 62


class Range(NamedTuple):
    thread: int
    number: int
    start: int
    end: int | None

    @property
    def until(self) -> int:
        return _NEVER if self.end is None else self.end


class Launch(NamedTuple):
    thread: int
    number: int
    start: int
    length: int


def _tree(luck: random.Random, start: int, end: int) -> Iterator[tuple[int, int | None]]:
    """A range with others inside, of which some end too late, at once, or never."""
    late = luck.choice([0, 0, 0, 1, luck.randrange(40)])
    yield start, None if luck.random() < 0.02 else end + late
    at = start
    while at < end and luck.random() < 0.8:
        first = luck.randrange(at, end + 1)
        last = luck.randrange(first, end + 1)
        yield from _tree(luck, first, last)
        at = luck.choice([first, last])


def made_up(seed: int) -> tuple[list[Range], list[Launch]]:
    """Threads that have nothing in common, from those without a range to some hundred ranges."""
    luck = random.Random(seed)
    ranges, launches = [], []
    for thread in range(60):
        span = luck.choice([3, 10, 60, 1000])
        spans: list[tuple[int, int | None]] = []
        if thread % 3 == 0:
            for _ in range(luck.choice([0, 1, 6, 60])):
                start = luck.randrange(span)
                spans.append((start, start + luck.choice([0, 1, luck.randrange(span)])))
        elif thread % 3 == 1:
            spans = list(_tree(luck, 0, span))[:200]
        else:  # each ends later than the one before
            spans = [(at, at + span // 2) for at in range(0, span, luck.choice([1, 3]))][:100]
        ranges += [
            Range(thread, len(ranges) + number, start, end)
            for number, (start, end) in enumerate(sorted(spans, key=lambda _: luck.random()))
        ]
        launches += [
            Launch(thread, 1000 * thread + number, luck.randrange(span + 5), luck.randrange(50))
            for number in range(10)
        ]
    return ranges, launches


class Around(NamedTuple):
    """What is said of each range by its number, and of each launch."""

    parents: dict[int, int | None]
    paths: dict[int, tuple[int, str]]
    gpu_ns: dict[int, tuple[int, int]]


def looked_up(ranges: list[Range], launches: list[Launch], order: dict[int, int]) -> Around:
    """The rule, word by word: innermost, open at the start, does not end before."""
    by_thread: dict[int, list[Range]] = defaultdict(list)
    for one in ranges:
        by_thread[one.thread].append(one)
    said = Around({}, {}, {})
    for mine in by_thread.values():
        mine.sort(key=lambda one: (one.start, -one.until, order[one.number]))
        for at, one in enumerate(mine):
            around = [each for each in mine[:at] if each.until >= one.until]
            parent = around[-1].number if around else None
            depth, path = said.paths[parent] if parent is not None else (-1, "")
            said.parents[one.number] = parent
            said.paths[one.number] = depth + 1, f"{path} / r{one.number}".removeprefix(" / ")
    own: dict[int, int] = defaultdict(int)
    all_of: dict[int, int] = defaultdict(int)
    for launch in launches:
        inside = [one for one in by_thread[launch.thread] if one.start <= launch.start < one.until]
        number = inside[-1].number if inside else None
        if number is not None:
            own[number] += launch.length
        while number is not None:
            all_of[number] += launch.length
            number = said.parents[number]
    said.gpu_ns.update({number: (ns, own[number]) for number, ns in all_of.items()})
    return said


def answered(trace: Trace) -> tuple[Around, dict[int, int]]:
    """The same as the library says it, and the order of ranges that are alike."""
    rows: list[dict[str, Any]] = [dict(row) for row in trace.sql("FROM nvtx_range")]
    number = {row["range_id"]: row["marker_id"] for row in rows}
    work = trace.sql("SELECT range_id, gpu_ns, exclusive_gpu_ns FROM range_gpu")
    around = Around(
        {row["marker_id"]: number.get(row["parent_range_id"]) for row in rows},
        {row["marker_id"]: (row["depth"], row["path"]) for row in rows},
        {number[row["range_id"]]: (row["gpu_ns"], row["exclusive_gpu_ns"]) for row in work},
    )
    return around, {row["marker_id"]: row["range_id"] for row in rows}


def _written(folder: Path, ranges: list[Range], launches: list[Launch], domain: str = "-") -> Path:
    markers = [
        f"{PROCESS} {r.thread} {r.number} start {r.start} r{r.number} {domain}" for r in ranges
    ]
    markers += [
        f"{PROCESS} {r.thread} {r.number} end {r.end} - {domain}"
        for r in ranges
        if r.end is not None
    ]
    calls = [f"{PROCESS} {c.thread} {c.number} runtime {c.start} {c.start}" for c in launches]
    kernels = [f"{PROCESS} 0 {c.number} 9000 {9000 + c.length} k" for c in launches]
    return write_tables(
        folder,
        marker="\n".join([_MARKER, *markers]),
        api_call="\n".join(["process_id thread_id correlation_id domain start_ns end_ns", *calls]),
        kernel="\n".join(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_is_around_is_what_a_plain_search_finds(tmp_path: Path, seed: int) -> None:
    ranges, launches = made_up(seed)
    path = _written(tmp_path / "run", ranges, launches)
    with (
        cupti_etl.open(path, settings=ONE_THREAD) as swept,
        cupti_etl.open(path, settings=ONE_THREAD) as plain,
    ):
        by_sql(plain)
        for trace in (swept, plain):
            found, order = answered(trace)
            assert found == looked_up(ranges, launches, order)
        for name in ("_range_parent", "_range_turn"):
            rows = f"FROM {name} ORDER BY ALL"
            assert list(swept.sql(rows)) == list(plain.sql(rows))
        kept = swept.sql("SELECT name FROM (SHOW ALL TABLES) WHERE name = '_derived_parent'")
        assert kept.count() == 1


@pytest.mark.parametrize("seed", range(4))
def test_operators_that_cross_are_where_the_sql_places_them(tmp_path: Path, seed: int) -> None:
    path = _written(tmp_path / "run", *made_up(seed), "cpu_op")
    with (
        cupti_etl.open(path, settings=ONE_THREAD) as swept,
        cupti_etl.open(path, settings=ONE_THREAD) as plain,
    ):
        by_sql(plain)
        for name in ("_operator_place", "_operator_turn"):
            rows = f"FROM {name} ORDER BY ALL"
            assert list(swept.sql(rows)) == list(plain.sql(rows))
        crossed = swept.sql("SELECT count(*) AS n FROM _operator WHERE is_crossed")
        assert next(iter(crossed))["n"] > 100
