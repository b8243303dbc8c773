"""Launches, graphs without numbers and idle time of random traces, against plain arithmetic."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from support.trace import ONE_THREAD, write_tables

import cupti_etl

NAMES = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaLaunchKernel")


@dataclass(frozen=True)
class Work:
    """A kernel."""

    correlation: int
    stream: int
    start: int
    end: int


@dataclass(frozen=True)
class Call:
    """The call of a launch, of which not all are recorded."""

    name: str
    start: int
    end: int

    @property
    def is_graph(self) -> bool:
        return "GraphLaunch" in self.name


def made_up(luck: random.Random) -> tuple[dict[int, Call], list[Work]]:
    calls, works, now, free = {}, [], 0, 0
    for correlation in range(1, luck.randrange(2, 60)):
        call = Call(luck.choice(NAMES), now, now + luck.randrange(1, 40))
        now = call.end + luck.choice([0, 3, 200])
        if luck.random() < 0.8:
            calls[correlation] = call
        for _ in range(luck.choice([1, 2, 30]) if call.is_graph else 1):
            # No two begin at once, so that it is clear which is the first.
            start = max(free + 1, call.start) + luck.choice([0, 0, 7])
            end = start + luck.randrange(30)
            works.append(Work(correlation, luck.choice([7, 8]), start, end))
            free = start if luck.random() < 0.3 else end
    luck.shuffle(works)
    return calls, works


def write(folder: Path, calls: dict[int, Call], works: list[Work]) -> Path:
    kernels = "\n".join(f"1 0 1 {w.stream} {w.correlation} {w.start} {w.end} k" for w in works)
    rows = "\n".join(f"1 {at} runtime {c.name} {c.start} {c.end}" for at, c in calls.items())
    return write_tables(
        folder,
        kernel="process_id device_id context_id stream_id correlation_id start_ns end_ns name\n"
        + kernels,
        api_call="process_id correlation_id domain name start_ns end_ns\n" + rows,
        device="process_id device_id\n1 0",
    )


def idle_before(works: list[Work]) -> dict[int, int]:
    """The idle time of the GPU before the work of each call."""
    idle: dict[int, int] = defaultdict(int)
    until = None
    for work in sorted(works, key=lambda work: work.start):
        if until is not None and work.start > until:
            idle[work.correlation] += work.start - until
        until = work.end if until is None else max(until, work.end)
    return idle


@pytest.mark.parametrize("seed", range(6))
def test_launches_and_gaps_are_what_arithmetic_says(tmp_path: Path, seed: int) -> None:
    calls, works = made_up(random.Random(seed))
    of_call: dict[int, list[Work]] = defaultdict(list)
    for work in works:
        of_call[work.correlation].append(work)
    launched = [at for at in of_call if at in calls]
    graphs = [at for at in launched if calls[at].is_graph]
    walls = [max(w.end for w in of_call[at]) - min(w.start for w in of_call[at]) for at in graphs]
    idle = idle_before(works)
    with cupti_etl.open(write(tmp_path / "run", calls, works), settings=ONE_THREAD) as trace:

        def value(sql: str) -> Any:
            return next(iter(next(iter(trace.sql(f"SELECT {sql}"))).values()))

        assert value("coalesce(sum(launches), 0) FROM launch_latency") == len(launched)
        assert value("coalesce(sum(launches), 0) FROM short_kernels") == len(launched)
        assert value("coalesce(sum(api_ns), 0) FROM _launch_time") == sum(
            calls[at].end - calls[at].start for at in launched
        )
        assert value("coalesce(sum(replays), 0) FROM graph_replay") == len(graphs)
        if graphs:
            assert value("wall_median_ns FROM graph_replay") == median(walls)
            assert value("sum(runs) FROM graph_node_summary") == sum(
                len(of_call[at]) for at in graphs
            )
        on_queues = {
            (w.stream, at) if calls[at].is_graph else w for at in launched for w in of_call[at]
        }
        assert value("coalesce(sum(activities), 0) FROM queue_depth") == len(on_queues)
        if calls:
            assert value("coalesce(sum(unknown_ns), 0) FROM _gap_cause") == sum(
                ns for at, ns in idle.items() if at not in calls
            )
            assert value("coalesce(sum(gap_ns), 0) FROM _gap_cause") == sum(idle.values())
