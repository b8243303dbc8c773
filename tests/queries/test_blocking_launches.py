"""Launches that wait for what they launched, as with CUDA_LAUNCH_BLOCKING=1."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows


def launches_of(*returns: int) -> dict[str, str]:
    """A launch each 100 ns, whose kernel runs from 20 to 50, and that returns after so long."""
    calls = [
        f"1 {n} runtime cudaLaunchKernel {100 * n} {100 * n + after}"
        for n, after in enumerate(returns, start=1)
    ]
    kernels = [f"1 0 {n} {100 * n + 20} {100 * n + 50} k" for n in range(1, len(returns) + 1)]
    return {
        "api_call": "\n".join(["process_id correlation_id domain name start_ns end_ns", *calls]),
        "kernel": "\n".join(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
        "device": "process_id device_id\n1 0",
    }


def test_launches_that_wait_for_their_kernels(trace: MakeTrace) -> None:
    """That some do is of short kernels, and of few it may be by chance."""
    waiting = trace(**launches_of(*[60] * 95, *[10] * 5))
    assert_rows(
        waiting.query("finding_blocking_launches"),
        """
        gpu saved_ns culprit
        0   3800     "95 of 100"
        """,
    )
    for launches in (launches_of(*[60] * 90, *[10] * 10), launches_of(*[60] * 99)):
        assert trace(**launches).query("finding_blocking_launches").count() == 0
