"""Starts and ends of ranges in any order: what an operator makes of them is what their SQL does."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.trace import ONE_THREAD, by_sql, write_tables

import cupti_etl

_COLUMNS = "process_id thread_id marker_id event timestamp_ns domain name"


def _markers(seed: int) -> str:
    """Numbers that come again, ends without starts, and what has no time, process or thread."""
    luck = random.Random(seed)
    lines = [_COLUMNS]
    for place in range(luck.choice([40, 400])):
        is_end = luck.random() < 0.45
        cells = (
            luck.choice([1, 1, 2, "-"]),
            luck.choice([7, 7, 8, "-"]),
            luck.choice([luck.randrange(90), luck.randrange(90), "-"]),
            # No two ends at once, of which either may be meant; nor anything that is neither.
            "end" if is_end else luck.choice(["start", "start", "start", "instant"]),
            luck.choice([luck.randrange(300) * 1000 + is_end * place] * 9 + ["-"]),
            luck.choice(["NCCL", "mine", "-"]),
            luck.choice(["a", "b", "-"]),
        )
        lines.append(" ".join(str(cell) for cell in cells))
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(6))
def test_pairs_are_those_of_the_sql(tmp_path: Path, seed: int) -> None:
    path = write_tables(tmp_path / "run", marker=_markers(seed))
    with (
        cupti_etl.open(path, settings=ONE_THREAD) as swept,
        cupti_etl.open(path, settings=ONE_THREAD) as plain,
    ):
        by_sql(plain)
        rows = "FROM _range_span ORDER BY range_id"
        assert list(swept.sql(rows)) == list(plain.sql(rows))
        kept = swept.sql("SELECT name FROM (SHOW ALL TABLES) WHERE name = '_derived_span'")
        assert kept.count() == 1
