"""Executions that are slow, and those that only do more than others of their kernel."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace


@pytest.mark.parametrize(("slow", "lost"), [(2, 2 * 20), (4, 0)])
def test_kernels_of_one_shape_for_all_sizes_have_no_slow_executions(
    trace: MakeTrace, slow: int, lost: int
) -> None:
    """More than a tenth that take three times as long are of another size."""
    rows = "".join(
        f"1 0 {at * 1000} {at * 1000 + (30 if at < slow else 10)} gemm 132 1 1 384 1 1\n"
        for at in range(30)
    )
    columns = "grid_x grid_y grid_z block_x block_y block_z"
    opened = trace(kernel=f"process_id device_id start_ns end_ns name {columns}\n{rows}")
    assert [row["lost_ns"] for row in opened.query("kernel_tail")] == [lost]
    assert opened.query("finding_slow_executions").count() == (lost > 0)
