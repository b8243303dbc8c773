"""A PyTorch program whose records are to be switched on and off while it runs.

    python switching_app.py WHAT SECONDS LOG [plain|ranges|waits]

WHAT is a program of budget_app.py, or `threads`: four threads with a stream each, which they wait
for after every few launches.  With `ranges`, every other step lies in an NVTX range named `step`,
whose ends are wherever the GPU happens to be; with `waits`, the program waits for the GPU before
each end.
LOG is {"steps": N, "ranges": N}.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch
from budget_app import STEPS

THREADS = 4


def small_step() -> Callable[[], None]:
    """Products, sets and copies in a stream of its own, and a wait for it."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.randn(64, 64, device="cuda")
        host = torch.empty(64, 64, pin_memory=True)

    def step() -> None:
        with torch.cuda.stream(stream):
            y = x
            for _ in range(8):
                y = (x @ x) * 0.01
            host.copy_(y.relu(), non_blocking=True)
            x.add_(0.5).mul_(0.1)
            y.zero_()
            stream.synchronize()

    return step


def run(step: Callable[[], None], seconds: float, kind: str) -> tuple[int, int]:
    """Steps until the time is over: how many, and how many of them in a range."""
    steps = ranges = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        is_inside = kind != "plain" and steps % 2 == 1
        if is_inside:
            torch.cuda.nvtx.range_push("step")
            ranges += 1
        step()
        if is_inside:
            if kind == "waits":
                torch.cuda.synchronize()
            torch.cuda.nvtx.range_pop()
        steps += 1
        if kind == "plain":
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return steps, ranges


def main() -> None:
    """Run one of them for some seconds."""
    what, seconds, log = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    kind = sys.argv[4] if len(sys.argv) > 4 else "plain"
    makers = [small_step] * THREADS if what == "threads" else [STEPS[what]]
    counts: list[tuple[int, int]] = []

    def work(make: Callable[[], Callable[[], None]]) -> None:
        counts.append(run(make(), seconds, kind))

    workers = [threading.Thread(target=work, args=(make,)) for make in makers[1:]]
    with contextlib.ExitStack() as stack:
        for worker in workers:
            worker.start()
            stack.callback(worker.join)
        work(makers[0])
    log.write_text(
        json.dumps({"steps": sum(a for a, _ in counts), "ranges": sum(b for _, b in counts)})
    )


if __name__ == "__main__":
    main()
