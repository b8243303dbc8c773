"""The lag of samples: found where it can be, and said where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.pm_world import Sort, World

import cupti_etl

US, MS = 1000, 1_000_000


def asked(path: Path) -> dict[str, Any]:
    with cupti_etl.open(path) as trace:
        (row,) = trace.query("pm_alignment")
        return row


def square_wave() -> World:
    world = World(seed=2)
    world.stream([Sort("copy", 80, 200 * US), Sort("spin", 0, 150 * US)], 100 * MS, 90 * US)
    return world


@pytest.mark.parametrize("lag", [-300 * US, -4 * US, 0, 3500, 40 * US])
def test_it_is_found_within_its_error(tmp_path: Path, lag: int) -> None:
    world = square_wave()
    row = asked(world.write(tmp_path / "run", world.samples(20 * US, lag=lag, noise=2)))
    assert row["detail"] is None
    assert abs(row["lag_ns"] - lag) <= max(4 * row["stderr_ns"], 500)
    assert row["stderr_ns"] < 1000
    assert row["correlation"] > 0.95
    # Of all that runs, the copies are what the traffic goes with.
    assert row["work"] == "kernel copy"
    assert row["interval_ns"] == 20 * US


def test_it_is_applied(tmp_path: Path) -> None:
    world = square_wave()
    path = world.write(tmp_path / "run", world.samples(20 * US, lag=150 * US))
    with cupti_etl.open(path) as trace:
        rows = trace.sql("FROM kernel_metrics() WHERE metric = 'dram_read_pct'")
        values = {row["name"]: row["value"] for row in rows}
    assert values["copy"] == pytest.approx(80, rel=0.02)
    assert abs(values["spin"]) < 1


def test_work_that_was_there_once_does_not_stand_in_the_way(tmp_path: Path) -> None:
    """It goes best with the counter that it alone moves, but in one stretch of the trace."""
    world = square_wave()
    world.run(Sort("once", 300, 3 * MS), 110 * MS)
    samples = world.samples(20 * US, lag=3500, noise=8)
    row = asked(world.write(tmp_path / "run", samples))
    assert row["detail"] is None
    assert row["work"] == "kernel copy" or row["work"] == "any"
    assert abs(row["lag_ns"] - 3500) <= max(4 * row["stderr_ns"], 500)


@pytest.mark.parametrize(
    ("level", "noise", "count", "words"),
    [
        (80.0, 0.0, 100, "100 samples since the first work are too few"),
        (0.0, 0.0, None, "neither changes"),
        (0.0, 5.0, None, "the best correlation with any work is 0."),
    ],
)
def test_where_it_cannot_be_told_it_says_so(
    tmp_path: Path, level: float, noise: float, count: int | None, words: str
) -> None:
    world = World(seed=8)
    world.stream([Sort("k", level, 100 * US)], 50 * MS, 90 * US)
    row = asked(world.write(tmp_path / "run", world.samples(20 * US, noise=noise)[:count]))
    assert (row["lag_ns"], row["stderr_ns"]) == (0, None)
    assert words in row["detail"]
    assert row["detail"].endswith("joined as if there were no lag")


def test_a_gpu_that_no_traced_process_used_has_no_lag(tmp_path: Path) -> None:
    world = square_wave()
    path = world.write(tmp_path / "run", world.samples(20 * US))
    for part in (path / "kernel").iterdir():
        part.unlink()
    row = asked(path)
    assert "0 samples since the first work are too few" in row["detail"]
