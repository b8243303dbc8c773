"""Ranges, calls and kernels of made loops, as texts of tables."""

from __future__ import annotations

CALL = "process_id thread_id correlation_id domain name start_ns end_ns"
KERNEL = "process_id device_id correlation_id start_ns end_ns name"


def ranges(*spans: tuple[str, str, int, int]) -> str:
    """(domain, name, start, end) on one thread."""
    rows = [
        f'1 5 {number} start {start} "{domain}" "{name}"\n1 5 {number} end {end} - -'
        for number, (domain, name, start, end) in enumerate(spans)
    ]
    return "process_id thread_id marker_id event timestamp_ns domain name\n" + "\n".join(rows)


def launched(starts: list[int]) -> dict[str, str]:
    """A call at each time, and a kernel a moment later, with names that have no period."""
    calls = [f"1 5 {at} runtime cudaLaunchKernel {at} {at + 1}" for at in starts]
    kernels = [f"1 0 {at} {at + 2} {at + 5} k{at % 7}" for at in starts]
    return {"api_call": "\n".join([CALL, *calls]), "kernel": "\n".join([KERNEL, *kernels])}
