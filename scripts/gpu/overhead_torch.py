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
from steps import ms_per_step, profiler, small_transformer, transformer


@contextlib.contextmanager
def tool(name: str) -> Any:
    """The profiler, with nothing on but the GPU's work and the calls."""
    if name == "torch":
        with profiler():
            yield
    elif name == "proton":
        import triton.profiler as proton

        proton.start(str(Path(tempfile.mkdtemp()) / "proton"))
        yield
        proton.finalize()
    else:
        yield


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
            figures = ms_per_step(transformer(128), 80)
        elif what == "train-small":
            figures = ms_per_step(small_transformer(), 80)
        else:
            figures = small()
    Path(log).write_text(json.dumps(figures))
    print(what, figures)


if __name__ == "__main__":
    main()
