"""Clocks of known offset and drift: what collectives tell of them, and how surely."""

from __future__ import annotations

import random

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.api import Trace

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
RANKS, OPERATIONS = 60, 40
BEGIN = 1_700_000_000_000_000_000


class Clock:
    """A clock that is ahead at BEGIN and drifts."""

    def __init__(self, ahead_ns: int, ppm: float) -> None:
        self.ahead_ns, self.ppm = ahead_ns, ppm

    def reads(self, at_ns: float) -> int:
        """What it says at a time after BEGIN."""
        return BEGIN + self.ahead_ns + round(at_ns * (1 + self.ppm / 1e6))

    def ahead_when_it_reads(self, read_ns: int) -> float:
        """How far it is ahead then."""
        since = (read_ns - BEGIN - self.ahead_ns) / (1 + self.ppm / 1e6)
        return read_ns - BEGIN - since


def recorded(
    chance: random.Random, clocks: list[Clock], pace_ns: int, late_end_ns: int
) -> tuple[str, str]:
    """Kernels and PyTorch's numbers of all ranks, which come late by chance, in every operation.

    A rank ends up to 1 us after the data are there, and by ``late_end_ns`` on every rank but the
    first: that cannot be told from a clock that is ahead.
    """
    kernels, numbers, at = [], [], 0.0
    for number in range(OPERATIONS):
        at += pace_ns * chance.uniform(0.5, 1.5)
        begins = [at + chance.expovariate(1 / 20_000) for _ in clocks]
        done = max(begins) + chance.uniform(10_000, 30_000)
        for rank, (clock, begin) in enumerate(zip(clocks, begins, strict=True)):
            end = done + chance.uniform(0, 1000) + late_end_ns * (rank > 0)
            kernels.append(f"{rank} 0 {number} {clock.reads(begin)} {clock.reads(end)} {NAME}")
            said = f'{{"Collective name": "allreduce", "Process Group Name": "0", "Seq": {number}}}'
            numbers.append(f"{rank} {number} '{said}'")
    columns = "process_id device_id correlation_id start_ns end_ns name\n"
    return (
        columns + "\n".join(kernels),
        "process_id correlation_id arguments\n" + "\n".join(numbers),
    )


def opened(trace: MakeTrace, kernel: str, argument: str = "", ranks: int = RANKS) -> Trace:
    process = "process_id rank host\n" + "\n".join(f"{n} {n} host{n}" for n in range(ranks))
    return trace(kernel=kernel, argument=argument, process=process)


@pytest.mark.parametrize(
    ("seed", "pace_ns", "late_end_ns", "is_drift_known"),
    [(1, 80_000_000, 0, True), (2, 200_000_000, 3000, True), (3, 100_000, 3000, False)],
    ids=["seconds", "many seconds", "milliseconds"],
)
@pytest.mark.parametrize("is_numbered", [True, False], ids=["numbers", "ends"])
def test_intervals_have_the_truth(
    trace: MakeTrace,
    seed: int,
    pace_ns: int,
    late_end_ns: int,
    is_drift_known: bool,
    is_numbered: bool,
) -> None:
    chance = random.Random(seed)
    clocks = [Clock(0, 0)] + [
        Clock(chance.randrange(-(10**10), 10**10), chance.uniform(-50, 50))
        for _ in range(RANKS - 1)
    ]
    kernel, argument = recorded(chance, clocks, pace_ns, late_end_ns)
    found = opened(trace, kernel, argument if is_numbered else "")
    rows = [row for row in found.sql("FROM rank_clock") if row["rank"]]
    known = [row for row in rows if row["ahead_ns"] is not None]
    # At a quick pace with late ranks, ends alone may not decide: then nothing is said.
    assert len(known) == len(rows) or not is_numbered
    assert {row["known_by"] for row in known} <= {"pytorch" if is_numbered else "clock"}
    inside = drifts = 0
    for row in known:
        clock = clocks[row["rank"]]
        ahead = clock.ahead_when_it_reads(row["at_ns"])
        inside += row["ahead_low_ns"] is not None and (
            row["ahead_low_ns"] <= ahead <= row["ahead_high_ns"]
        )
        # Of 60 ranks two are seldom the last ones; operations last as long as the latest is late.
        assert row["ahead_low_ns"] is None or row["ahead_high_ns"] - row["ahead_low_ns"] < 200_000
        # The estimate is better than the interval.
        assert abs(row["ahead_ns"] - ahead) < 5_000 + late_end_ns
        assert (row["drift_ppm"] is not None) == is_drift_known
        # Drift is against the first rank's clock, per second of its own.
        ppm = clock.ppm / (1 + clock.ppm / 1e6)
        drifts += is_drift_known and row["drift_low_ppm"] <= ppm <= row["drift_high_ppm"]
    assert inside >= 0.95 * len(known)
    assert drifts >= 0.95 * len(known) * is_drift_known


@pytest.mark.slow
def test_waiting_is_told_although_clocks_drift(trace: MakeTrace) -> None:
    chance = random.Random(4)
    clocks = [Clock(0, 0), Clock(5_000_000, 40)]
    # 40 ppm in 8 seconds are 320 us, many times what anybody waits.
    kernel, argument = recorded(chance, clocks, 200_000_000, 0)
    found = opened(trace, kernel, argument, 2)
    rows = [*found.sql("SELECT transfer_ns FROM _collective_wait WHERE is_last")]
    assert len(rows) == OPERATIONS
    assert all(9_000 < row["transfer_ns"] < 32_000 for row in rows)
    late = [row["max_late_ns"] for row in found.query("rank_stragglers")]
    # Each is late by 20 us in the mean, and by what 40 draws of that give at most.
    assert len(late) == 2
    assert max(late) < 200_000


def test_a_clock_that_was_set_has_no_interval(trace: MakeTrace) -> None:
    lines = []
    for number in range(40):
        at = BEGIN + number * 10_000_000
        step = 1_000_000 * (number >= 20)
        said = f'{{"Collective name": "allreduce", "Process Group Name": "0", "Seq": {number}}}'
        for rank, ahead in ((0, 0), (1, step)):
            lines.append((rank, number, at + ahead, at + ahead + 20_000, said))
    kernel = "process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(
        f"{rank} 0 {number} {start} {end} {NAME}" for rank, number, start, end, _ in lines
    )
    argument = "process_id correlation_id arguments\n" + "\n".join(
        f"{rank} {number} '{said}'" for rank, number, _, _, said in lines
    )
    (row,) = opened(trace, kernel, argument, 2).sql("FROM rank_clock WHERE rank = 1")
    assert 0 <= row["ahead_ns"] <= 1_000_000
    assert [row[name] for name in ("ahead_low_ns", "ahead_high_ns", "drift_ppm")] == [None] * 3


def test_short_operations_may_be_apart_as_far_as_the_clocks_may(trace: MakeTrace) -> None:
    # Ends of the long ones tell that rank 1 is 8 ahead, where the short ones end at once.
    long = [n * 1000 + n * n * 37 % 400 for n in range(12)]
    short = [end + 400 + end % 7 for end in long[:3]]
    rows = [
        f"{rank} 0 {end - length} {end} ncclDevKernel_{name}_RING_LL"
        for rank, late in ((0, 0), (1, 8))
        for name, length, ends in (
            ("AllReduce", 100, [end + late for end in long]),
            ("AllGather", 5, short),
        )
        for end in ends
    ]
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n" + "\n".join(rows),
        process="process_id rank\n 0 0\n 1 1",
    )
    assert_rows(
        opened.query("collective_bandwidth"),
        """
        collective operations unmatched
        AllReduce  12         0
        AllGather  3          0
        """,
    )
