"""Threads that work for ranges of others, against the rule said word by word in Python."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
from support.trace import ONE_THREAD, by_sql, write_tables

import cupti_etl

THREADS = (5, 6, 7, 8)
NODE = "autograd::engine::x"


class Range(NamedTuple):
    thread: int
    number: int
    start: int
    end: int
    name: str


class Call(NamedTuple):
    thread: int
    start: int
    end: int


class Asked(NamedTuple):
    thread: int
    start: int
    number: int | None


# (thread, first, last, range of autograd, range that waits, is it clear)
Wait = tuple[int, int, int, int | None, int, bool]


def made_up(luck: random.Random) -> tuple[list[Range], list[Call]]:
    """A process of few threads, with so little to do that they often take turns."""
    threads = THREADS[: luck.choice([2, 2, 2, 3, 4])]
    span = luck.choice([30, 100, 1000])
    ranges = []
    for thread in threads:
        names = luck.choice([[], ["a"], ["a", "a", NODE], [NODE], [NODE, NODE, "a"]])
        for _ in range(luck.randrange(5) if names else 0):
            first, last = sorted(luck.sample(range(span), 2))
            number = 10 * thread + len(ranges)
            ranges.append(Range(thread, number, first, last, luck.choice(names)))
    calls = []
    for thread in threads:
        for _ in range(luck.choice([0, 1, 2, 6])):
            start = luck.randrange(span)
            calls.append(Call(thread, start, start + luck.choice([0, 1, 5])))
    return ranges, calls


class Process:
    """What the library says of a process, by looking at everything again for each question."""

    def __init__(self, ranges: list[Range], calls: list[Call], order: dict[int, int]) -> None:
        self.calls = calls
        self.ranges = sorted(ranges, key=lambda one: (one.start, -one.end, order[one.number]))
        self.outermost = [one for at, one in enumerate(self.ranges) if not self._has_around(at)]
        self.launching = {call.thread for call in calls}

    def _has_around(self, at: int) -> bool:
        one = self.ranges[at]
        return any(o.thread == one.thread and o.end >= one.end for o in self.ranges[:at])

    def innermost(self, thread: int, at: int) -> int | None:
        open_ = [r for r in self.ranges if r.thread == thread and r.start <= at < r.end]
        return open_[-1].number if open_ else None

    def node(self, thread: int, at: int) -> tuple[Range, int | None] | None:
        """The outermost range of autograd of a thread, and the range around it."""
        found, until = None, -1
        for n, one in enumerate(self.ranges):
            if (one.thread, one.name) == (thread, NODE) and until <= one.start <= at:
                around = [o for o in self.ranges[:n] if o.thread == thread and o.end >= one.end]
                found, until = (one, around[-1].number if around else None), one.end
        return found if at <= until else None

    def waits_in(self, waiter: int, at: int, thread: int) -> int | None:
        """The range in which a thread waits for another, which is no node for autograd."""
        found = self.node(waiter, at) if self.is_autograd(thread) else None
        return found[1] if found and at < found[0].end else self.innermost(waiter, at)

    def is_autograd(self, thread: int) -> bool:
        mine = [one for one in self.outermost if one.thread == thread]
        return sum((o.end - o.start) * (1 if o.name == NODE else -1) for o in mine) > 0

    def is_marked(self, thread: int) -> bool:
        has_ranges = any(one.thread == thread for one in self.ranges)
        return has_ranges and not self.is_autograd(thread)

    def counts(self, thread: int, at: int, beside: int) -> bool:
        return not self.is_autograd(beside) or self.node(thread, at) is None

    def does(self, thread: int, beside: int) -> list[int]:
        edges = [t for r in self.ranges if r.thread == thread for t in (r.start, r.end)]
        edges += [call.start for call in self.calls if call.thread == thread]
        return [at for at in edges if self.counts(thread, at, beside)]

    def are_beside(self, one: int, other: int) -> bool:
        return any(
            call.thread == thread and call.start <= at < call.end
            for call in self.calls
            for thread, beside in ((one, other), (other, one))
            if self.counts(thread, call.start, beside)
            for at in self.does(beside, thread)
        )

    def since(self, waiter: int, at: int, thread: int) -> int | None:
        return max((t for t in self.does(waiter, thread) if t <= at), default=None)

    def waits(self) -> Counter[Wait]:
        asked = [
            Asked(call.thread, call.start, None)
            for call in self.calls
            if self.innermost(call.thread, call.start) is None
        ]
        asked += [
            Asked(one.thread, one.start, one.number)
            for one in self.outermost
            if one.thread in self.launching and self.is_autograd(one.thread)
        ]
        waiters = [thread for thread in self.launching if self.is_marked(thread)]
        open_ = [
            [w for w in waiters if w != a.thread and self.waits_in(w, a.start, a.thread)]
            for a in asked
        ]
        pauses: dict[tuple[int, int | None, bool], list[Asked]] = defaultdict(list)
        for one, mine in zip(asked, open_, strict=True):
            for waiter in mine:
                beside = self.are_beside(one.thread, waiter)
                pauses[waiter, self.since(waiter, one.start, one.thread), beside].append(one)
        found: dict[tuple[int, int | None, int, int | None, bool], list[int]] = defaultdict(list)
        for one, mine in zip(asked, open_, strict=True):
            for waiter in mine:
                beside = self.are_beside(one.thread, waiter)
                since = self.since(waiter, one.start, one.thread)
                others = pauses[waiter, since, beside]
                is_alone = len({o.thread for o in others}) == 1
                is_alone = is_alone or all(other.number is not None for other in others)
                is_clear = not beside and len(mine) == 1 and is_alone
                number = self.waits_in(waiter, one.start, one.thread)
                assert number is not None
                is_shared = len(mine) > 1 and not self.is_marked(one.thread)
                if not beside or one.number is not None or is_shared:
                    found[one.thread, one.number, number, since, is_clear].append(one.start)
        return Counter(
            (thread, min(starts), max(starts), asking, number, is_clear)
            for (thread, asking, number, _, is_clear), starts in found.items()
        )

    def owners(self, waits: Counter[Wait]) -> Counter[int]:
        """How many calls each range has by itself."""
        counted: Counter[int] = Counter()
        for call in self.calls:
            owner = self.innermost(call.thread, call.start)
            for thread, first, last, asking, number, is_clear in waits:
                if (
                    owner is None
                    and (is_clear, asking, thread) == (True, None, call.thread)
                    and first <= call.start <= last
                ):
                    owner = number
            if owner is not None:
                counted[owner] += 1
        return counted


@pytest.mark.parametrize("seed", range(3))
def test_who_waits_for_whom_is_what_the_rule_says(tmp_path: Path, seed: int) -> None:
    luck = random.Random(seed)
    processes = {process: made_up(luck) for process in range(1, 121)}
    markers, calls, kernels = [], [], []
    for process, (ranges, called) in processes.items():
        for one in ranges:
            markers.append(f"{process} {one.thread} {one.number} start {one.start} {one.name}")
            markers.append(f"{process} {one.thread} {one.number} end {one.end} -")
        for number, call in enumerate(called):
            calls.append(f"{process} {call.thread} {number} runtime {call.start} {call.end}")
            kernels.append(f"{process} 0 {number} 5000 5001 k")
    path = write_tables(
        tmp_path / "run",
        marker="\n".join(["process_id thread_id marker_id event timestamp_ns name", *markers]),
        api_call="\n".join(["process_id thread_id correlation_id domain start_ns end_ns", *calls]),
        kernel="\n".join(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
    )
    clear = set()
    with (
        cupti_etl.open(path, settings=ONE_THREAD) as swept,
        cupti_etl.open(path, settings=ONE_THREAD) as plain,
    ):
        by_sql(plain)
        for trace in (swept, plain):
            numbers, order = {}, defaultdict[int, dict[int, int]](dict)
            for row in trace.sql("SELECT process_id, marker_id, range_id FROM nvtx_range"):
                numbers[row["range_id"]] = row["marker_id"]
                order[row["process_id"]][row["marker_id"]] = row["range_id"]
            waits: dict[int, Counter[Wait]] = defaultdict(Counter)
            for row in trace.sql("FROM _range_wait"):
                waits[row["process_id"]][
                    row["thread_id"],
                    row["start_ns"],
                    row["end_ns"],
                    numbers.get(row["asking_range_id"]),
                    numbers[row["range_id"]],
                    row["is_clear"],
                ] += 1
                clear.add(row["is_clear"])
            owners: dict[int, Counter[int]] = defaultdict(Counter)
            owned = (
                "SELECT process_id, own.* FROM _range_own AS own JOIN nvtx_range USING (range_id)"
            )
            for row in trace.sql(owned):
                owners[row["process_id"]][numbers[row["range_id"]]] = row["activities"]
            for process, (ranges, called) in processes.items():
                expected = Process(ranges, called, order[process])
                assert waits[process] == expected.waits(), process
                assert owners[process] == expected.owners(waits[process]), process
    assert clear == {True, False}
