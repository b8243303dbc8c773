"""A PyTorch program that logs when each of its training steps began and ended.

    python budget_app.py small|train|llama|graph SECONDS LOG

Each step ends with a synchronization.  LOG is {"steps": [[start_ns, end_ns], ...]}, of
CLOCK_REALTIME, without those of the warm-up.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch
from steps import Step, llama, small_transformer, transformer

WARM_UP = 20


def graph() -> Step:
    """Products that are replayed, after one that is not."""
    x = torch.randn(256, 1024, device="cuda")
    weights = [torch.randn(1024, 1024, device="cuda") for _ in range(8)]

    def body() -> torch.Tensor:
        y = x
        for weight in weights:
            y = torch.relu(y @ weight) * 0.03
        return y

    for _ in range(3):
        body()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        body()

    def step() -> None:
        x.mul_(1.0)
        for _ in range(20):
            captured.replay()

    return step


STEPS = {
    "small": small_transformer,
    "train": lambda: transformer(128),
    "llama": lambda: llama()[0],
    "graph": graph,
}


def main() -> None:
    """Run one of them for some seconds."""
    what, seconds, log = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    step = STEPS[what]()
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    steps, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.time_ns()
        step()
        torch.cuda.synchronize()
        steps.append([began, time.time_ns()])
    log.write_text(json.dumps({"steps": steps}))


if __name__ == "__main__":
    main()
