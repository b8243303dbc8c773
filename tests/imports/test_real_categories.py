"""Excerpts of real traces: what kernels do, against plain arithmetic over the files."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from imports.conftest import Import

DATA = Path(__file__).parents[1] / "data"
KINETO = ("kineto_rank0.json.gz", "kineto_rank1.json.gz", "kineto_v100.json.gz")


def kernels(file: Path) -> list[tuple[str, int, int]]:
    """Name, start and end of each kernel in nanoseconds."""
    events: list[dict[str, Any]] = json.loads(
        gzip.decompress(file.read_bytes()), parse_float=Decimal
    )["traceEvents"]
    found = [event for event in events if event.get("cat") == "kernel"]
    return [
        (e["name"], int(e["ts"] * 1000), int(e["ts"] * 1000) + int(e["dur"] * 1000)) for e in found
    ]


def union(spans: list[tuple[str, int, int]]) -> int:
    total, until = 0, 0
    for _, start, end in sorted(spans, key=lambda span: span[1]):
        total += max(end - max(start, until), 0)
        until = max(until, end)
    return total


@pytest.mark.parametrize("name", [*KINETO, "nsys_h100.sqlite.gz"])
def test_few_kernels_are_other(tmp_path: Path, imported: Import, name: str) -> None:
    file = DATA / name
    if ".sqlite" in name:
        file = tmp_path / "t.sqlite"
        file.write_bytes(gzip.decompress((DATA / name).read_bytes()))
    rows = list(imported(file).query("kernel_category"))
    others = sum(row["total_ns"] for row in rows if row["category"] == "other")
    assert others < 0.1 * sum(row["total_ns"] for row in rows)
    gpus = {row["gpu"] for row in rows}
    assert sum(row["percent"] for row in rows) == pytest.approx(100 * len(gpus))


@pytest.mark.parametrize("name", KINETO)
def test_communication_and_what_of_it_is_exposed(imported: Import, name: str) -> None:
    trace, found = imported(DATA / name), kernels(DATA / name)
    others = [kernel for kernel in found if "nccl" not in kernel[0]]
    (row,) = trace.query("busy_breakdown")
    assert row["compute_ns"] == union(others)
    assert row["exposed_communication_ns"] == union(found) - union(others)
    times = {row["category"]: row["total_ns"] for row in trace.query("kernel_category")}
    total = sum(end - start for _, start, end in found)
    assert sum(times.values()) == total
    told = sum(end - start for _, start, end in others)
    assert times.get("communication", 0) == total - told
