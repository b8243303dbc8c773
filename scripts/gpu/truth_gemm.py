"""Products of square matrices in bf16 and fp32, with their operations counted.

    python truth_gemm.py LOG [--runs 200] [--dtypes bf16,fp32] [--longest 16384]

LOG is as that of truth.cu.  Which kernel multiplies is the library's choice, so phases have none:
it is the one that takes most of the phase's time.  No TF32: fp32 is done by the FMA pipes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

SIDES = {"bf16": (1024, 2048, 4096, 8192, 16384), "fp32": (512, 1024, 2048, 4096, 8192)}
PIPES = {"bf16": "tensor", "fp32": "fp32"}
ROUNDS = 3
PHASE_S = 0.04
PAUSE_S = 0.02
# Operations a second, far from exact: they only say how often to run.
ABOUT = {"bf16": 6e14, "fp32": 4e13}


def main(arguments: list[str]) -> int:
    """Command line."""
    import torch

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--dtypes", default="bf16,fp32")
    parser.add_argument("--longest", type=int, default=16384, help="side of a matrix")
    asked = parser.parse_args(arguments)
    torch.backends.cuda.matmul.allow_tf32 = False
    types = {"bf16": torch.bfloat16, "fp32": torch.float32}
    phases: list[dict[str, Any]] = []
    for dtype in asked.dtypes.split(","):
        for side in (side for side in SIDES[dtype] if side <= asked.longest):
            a, b = (torch.randn(side, side, device="cuda", dtype=types[dtype]) for _ in range(2))
            out = torch.empty_like(a)
            flops = 2 * side**3
            seconds = flops / ABOUT[dtype]
            runs = min(max(int(PHASE_S / seconds), 3), asked.runs)
            for _ in range(ROUNDS if asked.runs > 3 else 1):
                torch.cuda.synchronize()
                time.sleep(PAUSE_S)
                begin = time.time_ns()
                for _ in range(runs):
                    torch.mm(a, b, out=out)
                torch.cuda.synchronize()
                phases.append(
                    {
                        "part": "gemm",
                        "kernel": None,
                        "about_us": seconds * 1e6,
                        "what": f"{dtype} {side}",
                        "runs": runs,
                        "begin_ns": begin,
                        "end_ns": time.time_ns(),
                        "read_bytes": None,
                        "write_bytes": None,
                        "flops": flops,
                        "pipe": PIPES[dtype],
                        "shares_gpu": False,
                    }
                )
    asked.log.write_text(json.dumps({"phases": phases}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
