"""A made-up GPU whose true counters are known: runs with levels, seen through samples.

The truth of each run is constant, or rises over its first part.  What runs at once adds up, but
where a world has a ``cap``, or a sort slows another down.  A sample is the exact mean of the
truth over its time, and noise; its clock is late by a lag.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    """What ran, in the order it was put there.

    Attributes:
        cap: the most that all that runs at once comes to, each in proportion to its weight.
        weights: of sorts by name against the cap, 1 for others: who gets more of what is scarce.
        slowed: what is left of the level of a sort (the first) beside another.
    """

    seed: int = 1
    idle_level: float = 0.0
    cap: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    slowed: Mapping[tuple[str, str], float] = field(default_factory=dict)
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
        times, levels = [], [0.0]
        for at, each in self._pieces():
            times.append(at)
            levels.append(sum(each.values()))
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
        area, before, mine = 0.0, 0, 0.0
        for at, each in self._pieces():
            area += mine * (at - before)
            before = at
            mine = sum(level for run, level in each.items() if self.runs[run].sort is sort)
        whole = sum(run.end_ns - run.start_ns for run in self.runs if run.sort is sort)
        return area / whole + self.idle_level

    def _pieces(self) -> Iterator[tuple[int, dict[int, float]]]:
        """From when on which runs (by number) have which level."""
        steps: list[tuple[int, int, int]] = []
        for number, run in enumerate(self.runs):
            rise = round((run.end_ns - run.start_ns) * run.sort.ramp)
            steps += [(run.start_ns, number, 0), (run.end_ns, number, -1)]
            if rise:
                steps.append((run.start_ns + rise, number, 1))
        steps.sort()
        there: dict[int, float] = {}
        for at, number, what in steps:
            run = self.runs[number]
            there[number] = 0.0 if what == 0 and run.sort.ramp else run.level
            if what < 0:
                del there[number]
            yield at, self._together(there)

    def _together(self, there: Mapping[int, float]) -> dict[int, float]:
        names = {number: self.runs[number].sort.name for number in there}
        levels = {}
        for number, level in there.items():
            for other, name in names.items():
                if other != number:
                    level *= self.slowed.get((names[number], name), 1.0)
            levels[number] = level
        if self.cap is None or sum(levels.values()) <= self.cap:
            return levels
        # In proportion to their weights, but none gets more than it does alone.
        got: dict[int, float] = {}
        while len(got) < len(levels):
            rest = self.cap - sum(got.values())
            asked = {n: self.weights.get(names[n], 1.0) * levels[n] for n in levels if n not in got}
            share = {n: rest * each / sum(asked.values()) for n, each in asked.items()}
            full = {n: levels[n] for n in share if share[n] >= levels[n]}
            got |= full or share
        return got

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
