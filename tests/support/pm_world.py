"""A made-up GPU whose true counters are known: runs with levels, seen through samples.

The truth of each run is constant, or rises over its first part; what runs at once adds up.
A sample is the exact mean of the truth over its time, and noise; its clock is late by a lag.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from cupti_etl.schema.arrow import stored_schema
from support.trace import write_part, write_trace


@dataclass(frozen=True)
class Sort:
    """A sort of work: its level, how long it runs, how much of that it takes to rise."""

    name: str
    level: float
    duration_ns: int
    spread: float = 0.0
    ramp: float = 0.0


@dataclass(frozen=True)
class Run:
    sort: Sort
    start_ns: int
    end_ns: int
    level: float
    stream: int = 7


@dataclass
class World:
    """What ran, in the order it was put there."""

    seed: int = 1
    idle_level: float = 0.0
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def run(self, sort: Sort, start: int, stream: int = 7) -> int:
        """One run; returns its end."""
        end = start + round(sort.duration_ns * self.random.uniform(0.98, 1.02))
        level = sort.level * (1 + self.random.gauss(0, sort.spread))
        self.runs.append(Run(sort, start, end, level, stream))
        return end

    def stream(self, sorts: Sequence[Sort], until: int, gap: int, stream: int = 7) -> None:
        """Runs drawn from the sorts, one after another, with gaps of up to ``gap`` ns."""
        now = self.random.randrange(gap + 1)
        while now < until:
            now = self.run(self.random.choice(sorts), now, stream)
            now += self.random.randrange(gap + 1)

    def samples(
        self, interval: int, *, lag: int = 0, noise: float = 0.0, missing: float = 0.0
    ) -> list[tuple[int, int, float]]:
        """``start, end, mean level``; a share of them may be missing."""
        steps: list[tuple[int, float]] = []
        for run in self.runs:
            rise = round((run.end_ns - run.start_ns) * run.sort.ramp)
            steps += [(run.start_ns + rise, run.level), (run.end_ns, -run.level)]
        steps.sort()
        times = [at for at, _ in steps]
        levels = [0.0, *accumulate(step for _, step in steps)]
        areas = [0.0]
        for at in range(1, len(times)):
            areas.append(areas[-1] + levels[at] * (times[at] - times[at - 1]))

        def area(time: int) -> float:
            at = bisect_right(times, time)
            return areas[at - 1] + levels[at] * (time - times[at - 1]) if at else 0.0

        end = max(times)
        found = []
        for start in range(0, end, interval):
            mean = (area(start + interval) - area(start)) / interval + self.idle_level
            mean += self.random.gauss(0, noise)
            if self.random.random() >= missing:
                found.append((start + lag, start + interval + lag, mean))
        return found

    def truth(self, sort: Sort) -> float:
        """Mean level over the time that the sort ran."""
        mine = [run for run in self.runs if run.sort is sort]
        whole = sum(run.end_ns - run.start_ns for run in mine)
        area = sum(
            run.level * (run.end_ns - run.start_ns - round((run.end_ns - run.start_ns) * sort.ramp))
            for run in mine
        )
        return area / whole + self.idle_level

    def write(
        self, folder: Path, samples: Sequence[tuple[int, int, float]], base: int = 10**15
    ) -> Path:
        """A trace of it: the level as dram_read_pct, and as a count of bytes in pcie_rx_bytes."""
        interval = samples[0][1] - samples[0][0]
        path = write_trace(
            folder,
            pm_metric="metric device_uuid unit aggregation interval_ns\n"
            f" dram_read_pct GPU-a % mean {interval}\n pcie_rx_bytes GPU-a bytes sum {interval}",
            device="process_id device_id device_uuid name\n 1 0 GPU-a H200",
            process="process_id host\n 1 node",
        )
        runs = sorted(self.runs, key=lambda run: run.start_ns)
        ones = [1] * len(runs)
        _add(path, "kernel", {
            "process_id": ones,
            "device_id": [0] * len(runs),
            "correlation_id": list(range(len(runs))),
            "stream_id": [run.stream for run in runs],
            "start_ns": [base + run.start_ns for run in runs],
            "end_ns": [base + run.end_ns for run in runs],
            "name": [run.sort.name for run in runs],
            **dict.fromkeys(("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"), ones),
        })  # fmt: skip
        starts, ends, means = (list(each) for each in zip(*samples, strict=True))
        _add(path, "pm_sample", {
            "device_uuid": ["GPU-a"] * len(samples),
            "start_ns": [base + start for start in starts],
            "end_ns": [base + end for end in ends],
            "dram_read_pct": means,
            "pcie_rx_bytes": [mean * (end - start) for start, end, mean in samples],
        })  # fmt: skip
        return path


def _add(folder: Path, table: str, columns: dict[str, list[Any]]) -> None:
    given = pa.table(columns)
    schema = stored_schema(table, given.schema)
    rows = pa.table(
        {
            field.name: pa.array(columns[field.name]).cast(field.type)
            if field.name in columns
            else pa.nulls(given.num_rows, field.type)
            for field in schema
        },
        schema,
    )
    write_part(folder / table / "part-000001.parquet", rows)
