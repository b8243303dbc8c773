"""Calls of threads that live for one step, whose handles the next ones get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from imports.conftest import Import, event, kineto
from support.trace import assert_rows


def forward(at: float, tid: int, number: int) -> list[dict[str, Any]]:
    """What a thread does: Kineto names thread 8 for its calls, the first to have its handle."""
    ids: dict[str, Any] = {"correlation": 90 + number, "External id": number + 1}
    return [
        event("user_annotation", "forward", at, 50, tid=tid, **{"External id": number}),
        event("cpu_op", "aten::a", at + 10, 10, tid=tid, **{"External id": number + 1}),
        event("cuda_runtime", "cudaLaunchKernel", at + 12, 2, tid=8, **ids),
        event("cuda_runtime", "cudaStreamSynchronize", at + 30, 5, tid=8),
        event("kernel", "k", at + 20, number, 0, device=0, stream=7, **ids),
    ]


def test_a_call_is_of_the_thread_of_its_operator(tmp_path: Path, imported: Import) -> None:
    # A call without an operator goes with the one before it; an id that no operator has says
    # nothing.
    strange: dict[str, Any] = {"correlation": 98, "External id": 3}
    path = kineto(
        tmp_path / "a.json",
        *forward(100, 8, 1),
        *forward(200, 9, 11),
        event("cuda_runtime", "cudaMalloc", 300, 5, tid=7, **strange),
    )
    trace = imported(path)
    assert_rows(
        trace.sql("SELECT thread_id, name FROM api_call ORDER BY start_ns"),
        """
        thread_id name
        8         cudaLaunchKernel
        8         cudaStreamSynchronize
        9         cudaLaunchKernel
        9         cudaStreamSynchronize
        7         cudaMalloc
        """,
    )
    found = trace.query("nvtx_projection")
    assert [(row["path"], row["ranges"], row["gpu_ns"]) for row in found] == [
        ("forward", 2, 12000),
        ("forward / aten::a", 2, 12000),
    ]
