"""A PyTorch program whose speed is measured, plain or under a profiler of its own.

python overhead_torch.py train|train-small|small LOG [--tool torch|proton]
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch


@contextlib.contextmanager
def tool(name: str) -> Any:
    """The profiler, with nothing on but the GPU's work and the calls."""
    if name == "torch":
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities):
            yield
    elif name == "proton":
        import triton.profiler as proton

        proton.start(str(Path(tempfile.mkdtemp()) / "proton"))
        yield
        proton.finalize()
    else:
        yield


def train(batch: int, **optimizer_options: bool) -> dict[str, float]:
    """A transformer of six layers, eager, in steps of forward, backward and AdamW."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), **optimizer_options)
    x = torch.randn(batch, 128, 512, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    for _ in range(20):
        step()
    torch.cuda.synchronize()
    begin, steps = time.perf_counter(), 80
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return {"ms_per_step": (time.perf_counter() - begin) / steps * 1e3}


def small() -> dict[str, float]:
    """Additions of a thousand numbers, one after the other."""
    x = torch.zeros(1024, device="cuda")
    for _ in range(1000):
        x.add_(1)
    torch.cuda.synchronize()
    begin, calls = time.perf_counter(), 100_000
    for _ in range(calls):
        x.add_(1)
    torch.cuda.synchronize()
    return {"us_per_call": (time.perf_counter() - begin) / calls * 1e6}


def main() -> None:
    what, log = sys.argv[1:3]
    torch.zeros(1, device="cuda")
    with tool(sys.argv[4] if len(sys.argv) > 4 else ""):
        if what == "train":
            figures = train(128)
        elif what == "train-small":
            # Each parameter updated by kernels of its own: the host can hardly keep up.
            figures = train(16, foreach=False, fused=False)
        else:
            figures = small()
    Path(log).write_text(json.dumps(figures))
    print(what, figures)


if __name__ == "__main__":
    main()
