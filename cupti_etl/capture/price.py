"""What recording costs a program that runs, told from how fast it launches kernels.

The driver numbers launches (``grid_id``), recorded or not.  So the numbers of the last kernel of
one window and of the first of the next say how many were launched in between, and their times how
long that took: the pace without recording, at no cost.  Kernels of CUDA graphs keep the number that
they got when the graph was made, and are left out.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# Windows that are looked at: older ones may be of another phase of the program.
_MOST_WINDOWS = 200
# Launches without which a window, or the times around it, have no pace.
_FEWEST_LAUNCHES = 10
# Windows with times around them without which there is no price.
_FEWEST_PAIRS = 5
# Where a pace is so many times another than usual, the program did something else or nothing.
_UNUSUAL = 4.0


@dataclass(frozen=True)
class Price:
    """What recording costs while it goes on.

    Attributes:
        share: how much longer the program takes while it is recorded: 0.1 is a tenth.
        error: one standard error of it.
        pairs: windows, each with the times before and after it, from which it is known.
    """

    share: float
    error: float
    pairs: int


@dataclass(frozen=True)
class Run:
    """Kernels of one process on one GPU whose launches were recorded in one window.

    Attributes:
        rows: how many.
        first: the smallest number of a launch.
        last: the largest.
        start_ns: when the first began, in ns of CLOCK_REALTIME.
        end_ns: when the last began.
    """

    rows: int
    first: int
    last: int
    start_ns: int
    end_ns: int

    def with_(self, other: Run) -> Run:
        """Both."""
        return Run(
            self.rows + other.rows,
            min(self.first, other.first),
            max(self.last, other.last),
            min(self.start_ns, other.start_ns),
            max(self.end_ns, other.end_ns),
        )


@dataclass(frozen=True)
class _Pair:
    """A window and the times before and after it, of one process and GPU; paces in ns a launch."""

    window: int
    launches: int
    density: float  # rows a launch: those without a row are of memsets, or of no window
    recorded: float
    unrecorded: float


class PriceMeter:
    """Learns from rows of ``kernel`` as they arrive; at most once for each batch in Python."""

    def __init__(self) -> None:
        self._opened: list[int] = []
        self._dropped = 0  # windows before those
        self._runs: dict[tuple[int, int], dict[int, Run]] = {}
        self._price: Price | None = None
        self._is_known = True  # as of all rows

    def opened(self, now_ns: int) -> None:
        """A window is opened now, in ns of CLOCK_REALTIME."""
        self._opened.append(now_ns)
        if len(self._opened) > 2 * _MOST_WINDOWS:
            self._dropped += _MOST_WINDOWS
            del self._opened[:_MOST_WINDOWS]
            for runs in self._runs.values():
                for window in [each for each in runs if each < self._dropped]:
                    del runs[window]

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in rows of ``kernel``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = ["process_id", "device_id", "grid_id", "start_ns"]
        rows = pa.Table.from_batches([batch]).filter(
            pc.and_(
                pc.is_null(batch["graph_node_id"]),
                pc.and_(pc.is_valid(batch["grid_id"]), pc.is_valid(batch["start_ns"])),
            )
        )
        if not rows.num_rows or not self._opened:
            return
        rows = rows.select(columns)
        ends = pc.min_max(rows["start_ns"]).as_py()
        first, last = (bisect_right(self._opened, ends[name]) - 1 for name in ("min", "max"))
        for window in range(max(first, 0), last + 1):
            since = self._opened[window]
            is_in = pc.greater_equal(rows["start_ns"], since)
            if window + 1 < len(self._opened):
                is_in = pc.and_(is_in, pc.less(rows["start_ns"], self._opened[window + 1]))
            self._add(self._dropped + window, rows.filter(is_in))

    def _add(self, window: int, rows: pa.Table) -> None:
        found = rows.group_by(["process_id", "device_id"]).aggregate(
            [
                ("grid_id", "count"),
                *(("grid_id", what) for what in ("min", "max")),
                *(("start_ns", what) for what in ("min", "max")),
            ]
        )
        for row in found.to_pylist():
            runs = self._runs.setdefault((row["process_id"], row["device_id"]), {})
            run = Run(
                row["grid_id_count"],
                row["grid_id_min"],
                row["grid_id_max"],
                row["start_ns_min"],
                row["start_ns_max"],
            )
            runs[window] = runs[window].with_(run) if window in runs else run
            self._is_known = False

    def price(self) -> Price | None:
        """What is known so far; None if that is too little."""
        if not self._is_known:
            self._price, self._is_known = self._compute(), True
        return self._price

    def _compute(self) -> Price | None:
        pairs = [pair for runs in self._runs.values() for pair in _usual(list(_pairs(runs)))]
        taken: dict[int, list[float]] = {}
        for pair in pairs:
            of_window = taken.setdefault(pair.window, [0.0, 0.0])
            # What the launches of the window took, and would have taken at the pace around it.
            of_window[0] += pair.launches * pair.recorded
            of_window[1] += pair.launches * pair.unrecorded
        if len(taken) < _FEWEST_PAIRS:
            return None
        recorded, unrecorded = (sum(each) for each in zip(*taken.values(), strict=True))
        # The jackknife: the ratio without each of the windows in turn.
        without = [(recorded - a) / (unrecorded - b) for a, b in taken.values()]
        return Price(recorded / unrecorded - 1, jackknife_error(without), len(without))


def jackknife_error(without: list[float]) -> float:
    """One standard error of what was told from all, by what is without each of them in turn."""
    mean, count = statistics.fmean(without), len(without)
    return math.sqrt((count - 1) / count * sum((each - mean) ** 2 for each in without))


def _pairs(runs: dict[int, Run]) -> list[_Pair]:
    """Those of one process and GPU; the newest window may still get rows."""
    found = []
    for window in sorted(runs)[:-1]:
        before, run, after = (runs.get(window + n) for n in (-1, 0, 1))
        if before is None or run is None or after is None:
            continue
        launches, took_ns = run.last - run.first, run.end_ns - run.start_ns
        others = run.first - before.last + after.first - run.last
        others_ns = run.start_ns - before.end_ns + after.start_ns - run.end_ns
        if min(launches, others) < _FEWEST_LAUNCHES or min(took_ns, others_ns) <= 0:
            continue
        density = run.rows / launches
        found.append(_Pair(window, launches, density, took_ns / launches, others_ns / others))
    return found


def _usual(pairs: list[_Pair]) -> list[_Pair]:
    """Without those in which the program stood still, and those whose launches were not counted."""
    if not pairs:
        return []
    usual = replace(
        pairs[0],
        density=statistics.median(pair.density for pair in pairs),
        recorded=statistics.median(pair.recorded for pair in pairs),
        unrecorded=statistics.median(pair.unrecorded for pair in pairs),
    )
    # Numbers of graphs' kernels do not grow, and one that is large says nothing of launches.
    if usual.density < 0.1:
        return []
    return [
        pair
        for pair in pairs
        if pair.density > 0.7 * usual.density
        and all(
            1 / _UNUSUAL < getattr(pair, name) / getattr(usual, name) < _UNUSUAL
            for name in ("recorded", "unrecorded")
        )
    ]
