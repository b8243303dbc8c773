"""Marks of PyTorch's allocator: what they say has no columns, and is not lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from imports.conftest import Import, event, kineto

TOTALS = {"Bytes": 512, "Device Type": 1, "Device Id": 0, "Total Allocated": 7}
SAID = [TOTALS, TOTALS | {"why": 'a "limit", {}'}, {"why": "fragments"}, {"Bytes": 5}, {}]


@pytest.mark.parametrize("said", [*([each] for each in SAID), SAID])
def test_all_that_marks_say_is_kept(
    tmp_path: Path, imported: Import, said: list[dict[str, Any]]
) -> None:
    marks = [
        event("cpu_instant_event", "[OutOfMemory]", 1e15 + at, 0) | {"ph": "i", "args": each}
        for at, each in enumerate(said)
    ]
    rows = imported(kineto(tmp_path / "t.json", *marks)).sql(
        "SELECT arguments FROM argument JOIN marker USING (process_id, marker_id)"
        " ORDER BY timestamp_ns"
    )
    assert [json.loads(row["arguments"]) for row in rows] == [each for each in said if each]
