"""Collectives compared, whose durations hold the time in which they wait for other ranks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.trace import write_tables
from test_diff_and_report import compare

pytestmark = pytest.mark.slow

COLLECTIVE, COMPUTE = "ncclKernel_AllReduce_RING_LL_Sum_float", "volta_sgemm_128x32_nt"


def run(folder: Path, seed: int, name: str, least: int, late: float) -> Path:
    """Executions of a kernel; `late` is the mean of what more most of them take, by chance."""
    draw = random.Random(seed)
    rows, at = ["process_id device_id start_ns end_ns name"], 0
    for number in range(400):
        more = draw.expovariate(1 / late) if late and number % 4 else draw.randrange(3)
        length = least + round(more)
        rows.append(f"1 0 {at} {at + length} {name}")
        at += length + 1000
    return write_tables(folder, kernel="\n".join(rows))


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        # What a rank waits for another is no property of the collective.
        (COLLECTIVE, (5000, 50), (5000, 9000), "cannot tell"),
        (COLLECTIVE, (5000, 9000), (5000, 50), "cannot tell"),
        (COLLECTIVE, (5000, 50), (7000, 9000), "regress"),
        (COLLECTIVE, (7000, 50), (5000, 50), "improve"),
        (COMPUTE, (5000, 50), (5000, 9000), "regress"),
    ],
)
def test_waiting_for_other_ranks_is_no_change_of_a_collective(
    tmp_path: Path, name: str, before: tuple[int, float], after: tuple[int, float], expected: str
) -> None:
    base = run(tmp_path / "a", 1, name, *before)
    other = run(tmp_path / "b", 2, name, *after)
    verdict, rows = compare(base, other)
    assert verdict == expected
    assert [row["verdict"] for row in rows.values()] == [expected]
