"""What compares operators with torch.profiler's: it finds what differs."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytestmark = pytest.mark.slow

OURS = [
    {"name": "aten::mm", "calls": 4, "self_gpu_ns": 80_000},
    {"name": "aten::linear", "calls": 4, "self_gpu_ns": 0},
]


class Answers:
    """A trace of which one query is asked."""

    def query(self, name: str) -> Any:
        assert name == "operator_summary"
        return self

    def arrow(self) -> Any:
        return self

    def to_pylist(self) -> list[dict[str, Any]]:
        return OURS


@pytest.mark.parametrize(
    ("theirs", "wrong"),
    [
        (
            {"aten::mm": [4, 78.0, 78.0], "aten::linear": [4, 0.0, 78.0], "cudaLaunch": [8, 0, 0]},
            [],
        ),
        ({"aten::mm": [3, 78.0, 78.0], "aten::linear": [4, 0.0, 78.0]}, ["counted otherwise"]),
        ({"aten::mm": [4, 78.0, 78.0]}, ["counted otherwise"]),
        ({"aten::mm": [4, 50.0, 50.0], "aten::linear": [4, 0.0, 50.0]}, ["far from"]),
    ],
)
def test_counts_and_times_that_differ_are_found(
    theirs: dict[str, list[float]], wrong: list[str]
) -> None:
    case: dict[str, Any] = {"wrong": []}
    importlib.import_module("pytorch").compare_operators(case, Answers(), theirs)
    assert len(case["wrong"]) == len(wrong)
    assert all(part in said for part, said in zip(wrong, case["wrong"], strict=True))
