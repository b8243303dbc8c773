"""Made runs of a program that works in steps, with the noise of real ones."""

from __future__ import annotations

import random
from pathlib import Path

from support.trace import write_tables

STEPS = 24
KERNEL_NS = 10_000
# How long the GPU waits between kernels: where the host sets the pace, and where the GPU does.
HOST, GPU = 40_000, 50


def stepped_run(
    folder: Path,
    draw: random.Random,
    *,
    idle_ns: int,
    kernels: int = 3,
    longer: float = 1.0,
    added_ns: int = 0,
    every: int = 1,
    machine: str = "H200",
    driver: int = 13000,
) -> Path:
    """Steps of kernels that become slower as the GPU warms up, on a host that is never the same.

    ``added_ns`` is what one more kernel takes, in one of ``every`` steps.
    """
    host = draw.lognormvariate(0, 0.15)
    clock = draw.lognormvariate(0, 0.003)
    marks, calls, rows, at, number = [], [], [], 1000, 0
    for step in range(STEPS):
        lengths = [KERNEL_NS * clock * longer * (1 + 0.1 * step / STEPS)] * kernels
        lengths += [added_ns] if added_ns and step % every == every // 2 else []
        begin = at
        for place, length in enumerate(lengths):
            name = "added" if place == kernels else "k"
            calls.append(f"1 5 runtime {number} cudaLaunchKernel {at} {at + 1}")
            rows.append(f"1 0 {number} {at + 2} {at + 2 + round(length)} {name}")
            at += 2 + round(length) + round(idle_ns * host * draw.lognormvariate(0, 0.05))
            number += 1
        marks += [f"1 5 {step} start {begin - 1} step", f"1 5 {step} end {at - 3} -"]
    text = "\n".join
    return write_tables(
        folder,
        kernel=text(["process_id device_id correlation_id start_ns end_ns name", *rows]),
        api_call=text(["process_id thread_id domain correlation_id name start_ns end_ns", *calls]),
        marker=text(["process_id thread_id marker_id event timestamp_ns name", *marks]),
        device=f"process_id device_id device_uuid name\n1 0 GPU-0 {machine}",
        process=f"process_id pid driver_version\n1 100 {driver}",
    )
