"""A small model under torch.compile, for PC sampling: matmuls of cuBLAS, kernels of Triton.

python compiled_app.py [SECONDS]
"""

from __future__ import annotations

import sys
import time

import torch


def layer(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x @ weight).softmax(dim=-1) + x


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    x, weight = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    compiled = torch.compile(layer)
    compiled(x, weight)
    torch.cuda.synchronize()
    begin, steps = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        for _ in range(50):
            compiled(x, weight)
        torch.cuda.synchronize()
        steps += 50
    print(f"{(time.monotonic() - begin) / steps * 1e6:.1f} us a step")


if __name__ == "__main__":
    main()
