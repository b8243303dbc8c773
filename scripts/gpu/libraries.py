"""Small programs in the libraries people use, each with work that can be counted.

python libraries.py PROGRAM, one of those at the end of this file.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path


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


def under_torch(work: Callable[[], object]) -> int:
    """Additions that torch.profiler counts while they are made."""
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        work()
    return sum(
        event.device_type == torch.autograd.DeviceType.CUDA and "elementwise" in event.name
        for event in profile.events()
    )


def under_proton(work: Callable[[], object]) -> int:
    """Additions that Triton's profiler counts while they are made."""
    import tempfile

    import triton.profiler as proton

    path = Path(tempfile.mkdtemp(), "profile")
    proton.start(str(path))
    work()
    proton.finalize()
    tree = json.loads(path.with_suffix(".hatchet").read_text())
    waiting = [node for node in tree if "children" in node]
    seen = 0
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        if "elementwise" in node["frame"]["name"]:
            seen += node["metrics"].get("count", 0)
    return seen


def profiled(under: Callable[[Callable[[], object]], int]) -> None:
    """1,000 additions before a profiler, in it, after it, in it again, and after it again.

    Prints the brackets as one line of JSON: phase, start and end by CLOCK_REALTIME, and how many
    the profiler saw.
    """
    import torch

    x = torch.empty(1024, device="cuda")  # no kernel that is an addition
    brackets: list[dict[str, object]] = []

    def phase(name: str) -> dict[str, object]:
        time.sleep(0.5)
        start_ns = time.time_ns()
        for _ in range(1000):
            x.add_(1)
        torch.cuda.synchronize()
        brackets.append({"phase": name, "start_ns": start_ns, "end_ns": time.time_ns()})
        time.sleep(0.5)  # what CUPTI holds when another client comes is that one's
        return brackets[-1]

    phase("before")
    for stay in (1, 2):
        inside = f"inside {stay}"
        seen = under(lambda inside=inside: phase(inside))  # type: ignore[misc]
        brackets[-1]["seen"] = seen
        time.sleep(1.5)  # that it has left is looked at once a second
        phase(f"after {stay}")
    print(json.dumps(brackets), flush=True)


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
    "profiled-torch": lambda: profiled(under_torch),
    "profiled-proton": lambda: profiled(under_proton),
    "cupy": use_cupy,
    "jax": use_jax,
    "nccl": nccl,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
