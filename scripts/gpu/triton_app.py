"""Triton kernels with known names on two streams.

python triton_app.py --log LOG [--loops 200]
"""

from __future__ import annotations

import argparse

import torch
import triton
import triton.language as tl

from cupti_etl.demo.launched import LaunchLog

BLOCK = 256


@triton.jit
def triton_add(x, y, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(
        out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask
    )


@triton.jit
def triton_scale(x, factor, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) * factor, mask=mask)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", required=True)
    parser.add_argument("--loops", type=int, default=200)
    options = parser.parse_args()
    log = LaunchLog("triton", complete=False)
    log.begin()
    # Each stream works on as many blocks as nobody else: the grid tells the stream.
    for number, label in enumerate(("first", "second")):
        blocks = 30 + 7 * number
        n = blocks * BLOCK - 5
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x, y = torch.full((n,), 2.0, device="cuda"), torch.full((n,), 3.0, device="cuda")
            out = torch.empty(n, device="cuda")
            for loop in range(options.loops):
                compiled = triton_add[(blocks,)](x, y, out, n, BLOCK=BLOCK)
                log.kernel(compiled.name, label, blocks)
                if loop % (2 + number) == 0:
                    compiled = triton_scale[(blocks,)](out, 0.5, n, BLOCK=BLOCK)
                    log.kernel(compiled.name, label, blocks)
        torch.cuda.synchronize()
        last = 2.5 if (options.loops - 1) % (2 + number) == 0 else 5.0
        if not bool((out == last).all()):
            raise SystemExit(f"triton_app: wrong results in stream {label}")
    torch.cuda.synchronize()
    log.end()
    log.extra |= {"min_streams": 2, "triton": triton.__version__}
    log.write(options.log)
    print(f"triton: {options.loops} loops, Triton {triton.__version__}")


if __name__ == "__main__":
    main()
