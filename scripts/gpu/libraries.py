"""Small programs in the libraries people use, each with work that can be counted.

python libraries.py PROGRAM, one of those at the end of this file.
"""

from __future__ import annotations

import os
import signal
import sys
import time


def ranges(how: str) -> None:
    """20 ranges with 30 additions and 2 replays of a graph of 10 in each, and as much between.

    The graph is made before the first range, while nothing is recorded.
    """
    import torch

    x = torch.zeros(1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            x.mul_(1.0)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(10):
            x.mul_(1.0)

    def work() -> None:
        for _ in range(30):
            x.add_(1)
        for _ in range(2):
            graph.replay()
        torch.cuda.synchronize()

    for _ in range(20):
        if how == "nvtx":
            torch.cuda.nvtx.range_push("step")
            work()
            torch.cuda.nvtx.range_pop()
        else:
            torch.cuda.profiler.start()
            work()
            torch.cuda.profiler.stop()
        work()


def conflict() -> None:
    """1,000 additions before torch.profiler, 1,000 under it, 1,000 from three seconds after."""
    import torch

    x = torch.zeros(1024, device="cuda")

    def work() -> None:
        for _ in range(1000):
            x.add_(1)
        torch.cuda.synchronize()

    time.sleep(1.5)
    work()
    time.sleep(1.5)
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        work()
        time.sleep(1.5)
    torch.cuda.synchronize()  # where the profiler tears CUPTI down, it does so in a call
    seen = sum(e.count for e in profile.key_averages() if "elementwise" in e.key)
    time.sleep(3)
    work()
    time.sleep(1)
    print(f"torch.profiler saw {seen} kernels")
    sys.exit(seen != 1000)


def use_cupy() -> None:
    """50 products."""
    import cupy

    x = cupy.arange(1 << 16, dtype=cupy.float32)
    for _ in range(50):
        x = cupy.multiply(x, 1.5)
    cupy.cuda.Device().synchronize()


def use_jax() -> None:
    """30 calls of a compiled function."""
    import jax
    import jax.numpy as jnp

    call = jax.jit(lambda x: jnp.sin(x) * 2 + 1)
    x = jnp.arange(1 << 16, dtype=jnp.float32)
    for _ in range(30):
        x = call(x)
    x.block_until_ready()


def nccl() -> None:
    """25 all-reduces, under torchrun."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    x = torch.ones(1 << 20, device="cuda")
    for _ in range(25):
        dist.all_reduce(x)
    torch.cuda.synchronize()
    dist.destroy_process_group()


def add(times: int) -> None:
    """So many additions, after filling the array."""
    import torch

    x = torch.zeros(1024, device="cuda")
    for _ in range(times):
        x.add_(1)
    torch.cuda.synchronize()


def change() -> None:
    """100 additions, then another program takes the process and makes 200."""
    add(100)
    time.sleep(0.5)
    os.execv(sys.executable, [sys.executable, __file__, "two-hundred"])


def die() -> None:
    """100 additions, and half a second later no more."""
    add(100)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def orphan(seconds: float) -> None:
    """An addition each millisecond; its pid and then their number go to stdout."""
    import torch

    x, count = torch.zeros(1024, device="cuda"), 0
    print(os.getpid(), flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        x.add_(1)
        count += 1
        time.sleep(0.001)
    torch.cuda.synchronize()
    print(count, flush=True)


PROGRAMS = {
    "change": change,
    "two-hundred": lambda: add(200),
    "die": die,
    "orphan": lambda: orphan(12),
    "ranges-nvtx": lambda: ranges("nvtx"),
    "ranges-profiler": lambda: ranges("profiler"),
    "conflict": conflict,
    "cupy": use_cupy,
    "jax": use_jax,
    "nccl": nccl,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
