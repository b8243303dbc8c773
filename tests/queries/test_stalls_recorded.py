"""What warps waited for on an H200 (tests/data/pcs_h200): kernels that are built for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.recorded import recorded_rows, recorded_trace

import cupti_etl
from cupti_etl.api import Trace


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Trace]:
    with cupti_etl.open(recorded_trace(tmp_path / "run", "pcs_h200")) as trace:
        yield trace


def test_every_sample_is_accounted_for() -> None:
    windows = recorded_rows("pcs_h200", "pc_window")
    stored = sum(row["samples"] for row in recorded_rows("pcs_h200", "pc_sample"))
    parts = ("stored", "dropped", "other", "lost", "left_out")
    assert sum(row["samples"] for row in windows) == sum(
        row[f"{part}_samples"] for row in windows for part in parts
    )
    assert stored == sum(row["stored_samples"] for row in windows) == 1108295


def test_what_each_kernel_is_built_to_wait_for_comes_first(opened: Trace) -> None:
    first = {row["name"]: row for row in reversed([*opened.query("kernel_stall")])}
    assert {name: row["reason"] for name, row in first.items()} == {
        "stall_copy": "long_scoreboard",
        "stall_chase": "long_scoreboard",
        "stall_math": "not_selected",
    }
    assert round(first["stall_copy"]["percent"], 1) == 96.8


def test_advice_has_its_reason_and_the_page_of_the_guide(opened: Trace) -> None:
    """stall_chase has few blocks, and the warps of stall_math wait for nothing but their turn."""
    found = [*opened.query("stall_advice")]
    assert [(row["name"], row["reason"]) for row in found] == [
        ("stall_copy", "long_scoreboard"),
        ("stall_chase", "long_scoreboard"),
        ("stall_math", "selected"),
    ]
    assert [row["guide"].partition("#")[2] for row in found] == [
        "memory-optimizations", "thread-and-block-heuristics", "instruction-optimization",
    ]  # fmt: skip
    assert all("global" in row["meaning"] and row["advice"] for row in found[:2])


def test_the_hottest_line_is_the_copy(opened: Trace) -> None:
    """`to[i] = from[i]` is line 11 of the source that was compiled."""
    hottest = next(iter(opened.query("source_line")))
    assert (hottest["place"], hottest["name"], hottest["samples"]) == (
        "stalls.cu:11", "stall_copy", 526026,
    )  # fmt: skip
    assert hottest["reasons"].startswith("long_scoreboard 99 %")
    lines = recorded_rows("pcs_h200", "pc_sample")
    of_lines = sum(row["samples"] for row in opened.query("source_line"))
    assert of_lines == sum(row["samples"] for row in lines)
