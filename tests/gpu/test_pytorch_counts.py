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
    case: dict[str, Any] = {"name": "llama", "wrong": []}
    program = importlib.import_module("pytorch")
    program.compare_operators(case, Answers(), theirs)
    program.compare_times(case, Answers(), theirs)
    assert len(case["wrong"]) == len(wrong)
    assert all(part in said for part, said in zip(wrong, case["wrong"], strict=True))


@pytest.mark.parametrize(
    ("expected", "found", "at_least", "is_wrong"),
    [
        ({"gemm": 4, "relu": 1}, {"gemm": 4, "relu": 1}, False, False),
        ({"gemm": 4}, {"gemm": 3}, True, True),
        ({"gemm": 4}, {"gemm": 5}, False, True),
        ({"gemm": 4}, {"gemm": 5, "relu": 1}, True, False),
        ({"gemm": 4}, {"gemm": 4, "relu": 1}, False, True),
        # Names by which the profiler's own events are left out are those of kernels, too.
        ({"triton_poi_fused_0": 4, "cutlass_80": 1}, {"triton_poi_fused_0": 4}, False, True),
        ({}, {}, False, True),
    ],
)
def test_kernels_that_are_counted_otherwise_are_found(
    expected: dict[str, int], found: dict[str, int], at_least: bool, is_wrong: bool
) -> None:
    case: dict[str, Any] = {"wrong": []}
    importlib.import_module("pytorch").compare_counts(
        case, "kernels", found, expected, at_least=at_least
    )
    assert bool(case["wrong"]) == is_wrong
