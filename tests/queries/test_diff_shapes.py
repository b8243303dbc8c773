"""Kernels that are launched in another shape after a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_diff_and_report import compare, run

pytestmark = pytest.mark.slow


def test_a_kernel_that_has_another_launch_shape_is_compared(tmp_path: Path) -> None:
    # b has two shapes before; c is launched half as often.
    base = run(tmp_path / "a", 1, k_1=(200, 8000), b_1=(40, 900), b_2=(40, 900), c_1=(80, 500))
    other = run(tmp_path / "b", 2, k_2=(200, 2000), b_3=(80, 900), c_2=(40, 500))
    verdict, rows = compare(base, other)
    assert verdict == "improve"
    kernel = rows.pop("k_1")
    assert (kernel["verdict"], kernel["grid"]) == ("improve", "1x1x1 to 2x1x1")
    assert kernel["block"] == "32x1x1"
    assert kernel["ratio"] == pytest.approx(0.25, rel=0.05)
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "b_1": "removed",
        "b_2": "removed",
        "b_3": "added",
        "c_1": "removed",
        "c_2": "added",
    }
