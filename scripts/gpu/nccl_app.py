"""A PyTorch program of several ranks that logs what it asks of NCCL, and when.

    torchrun --nproc-per-node 2 nccl_app.py work LOG     all kinds of operations
    torchrun --nproc-per-node 2 nccl_app.py graph LOG    all-reduces in a CUDA graph, replayed
    torchrun --nproc-per-node 2 nccl_app.py late LOG     all-reduces to which rank 1 comes late
    torchrun --nproc-per-node 2 nccl_app.py sends LOG    sends of rank 0, for which rank 1 waits
    torchrun --nproc-per-node 2 nccl_app.py large LOG    large all-reduces between CUDA events
    torchrun --nproc-per-node 2 nccl_app.py price LOG    microseconds of an all-reduce of 4 KiB

Each rank writes LOG.RANK:

* ``asked``: [[function, bytes, how often]], by the functions and bytes that NCCL tells: an exchange
  between all is sends and receives; ``alone`` are bytes of collectives in a group of one rank.
* ``graph``: [bytes, captured, replays].
* ``late``: for each delay its bytes and microseconds, and for each operation the nanoseconds of
  CLOCK_REALTIME just before the call.
* ``sends``: milliseconds for which the GPU did something else before each operation.
* ``large``: bytes, and milliseconds between events around each operation.
* ``price_us``: of rounds.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from nccl_self import Nccl, UniqueId

ROUNDS, GROUPED, REPLAYS = 30, 3, 20
LATE_ROUNDS, PERIOD_NS = 150, 4_000_000
DELAYS_US = (0, 50, 250, 1000)
LARGE_BYTES, LARGE_ROUNDS = 1 << 28, 25
SEND_ROUNDS, SLEEP_CYCLES = 10, 30_000_000
PRICE_ROUNDS, PRICE_CALLS = 10, 1000


def work(rank: int, ranks: int) -> dict[str, Any]:
    """Operations of a size that differs by round, in several groups, alone and grouped."""
    asked: Counter[tuple[str, int]] = Counter()
    alone: set[int] = set()
    # The same ranks once more, all but the last one, and the first alone.
    groups = {size: dist.new_group(list(range(size))) for size in range(ranks, 0, -1)}
    for number in range(ROUNDS):
        for size, group in ((ranks, None), *groups.items()):
            if rank >= size:
                continue
            # Another size for each number of ranks, so that those of each can be told apart.
            part = 1024 * (number + 1) + 16 * size
            x = torch.ones(part, device="cuda")
            whole = torch.ones(part * size, device="cuda")
            dist.all_reduce(x, group=group)
            dist.all_gather_into_tensor(whole, x, group=group)
            dist.reduce_scatter_tensor(x, whole, group=group)
            dist.broadcast(x, 0, group=group)
            if size == 1:
                alone.add(4 * part)
                continue
            for function in ("AllReduce", "AllGather", "ReduceScatter", "Broadcast"):
                asked[function, 4 * part] += 1
        exchange(rank, ranks, 1024 * (number + 1), asked)
        grouped(1024 * (number + 1), asked)
    torch.cuda.synchronize()
    told = [[*key, count] for key, count in sorted(asked.items())]
    return {"asked": told, "alone": sorted(alone)}


def exchange(rank: int, ranks: int, part: int, asked: Counter[tuple[str, int]]) -> None:
    """Between all, between two, and both ways at once."""
    x, whole = torch.ones(part, device="cuda"), torch.ones(part * ranks, device="cuda")
    dist.all_to_all_single(torch.empty_like(whole), whole)
    asked["Send", 4 * part] += ranks
    asked["Recv", 4 * part] += ranks
    if rank == 0:
        dist.send(x, 1)
        asked["Send", 4 * part] += 1
    elif rank == 1:
        dist.recv(x, 0)
        asked["Recv", 4 * part] += 1
    both = [
        dist.P2POp(dist.isend, x, (rank + 1) % ranks),
        dist.P2POp(dist.irecv, torch.empty_like(x), (rank - 1) % ranks),
    ]
    for request in dist.batch_isend_irecv(both):
        request.wait()
    asked["Send", 4 * part] += 1
    asked["Recv", 4 * part] += 1


def grouped(part: int, asked: Counter[tuple[str, int]]) -> None:
    """Several all-reduces that NCCL gets as one group."""
    parts = [torch.ones(part + 4 * n + 4, device="cuda") for n in range(GROUPED)]
    dist.all_reduce_coalesced(parts)
    for each in parts:
        asked["AllReduce", 4 * each.numel()] += 1


def graph(rank: int, ranks: int) -> dict[str, Any]:
    """All-reduces that are captured into a graph."""
    x = torch.ones(4096, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            dist.all_reduce(torch.ones(1024, device="cuda"))
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, stream=side):
        for _ in range(2):
            dist.all_reduce(x)
    for _ in range(REPLAYS):
        captured.replay()
    torch.cuda.synchronize()
    return {"graph": [4 * x.numel(), 2, REPLAYS]}


def communicator(nccl: Nccl, rank: int, ranks: int, others: Any) -> ctypes.c_void_p:
    """One of all ranks, made without PyTorch."""
    unique, handle = UniqueId(), ctypes.c_void_p()
    if rank == 0:
        nccl.call("ncclGetUniqueId", ctypes.byref(unique))
    given = torch.tensor(list(bytes(unique)), dtype=torch.uint8)
    dist.broadcast(given, 0, group=others)
    unique = UniqueId.from_buffer_copy(bytes(given.tolist()))
    nccl.call("ncclCommInitRank", ctypes.byref(handle), ranks, unique, rank)
    return handle


def late(rank: int, ranks: int) -> dict[str, Any]:
    """All-reduces at moments that all ranks know; rank 1 calls a delay after them.

    NCCL is called without PyTorch, whose way to it takes some ten microseconds more or less.
    """
    gc.disable()
    nccl, others = Nccl(), dist.new_group(backend="gloo")
    handle = communicator(nccl, rank, ranks, others)
    xs = [torch.ones(65536 + 16 * place, device="cuda") for place in range(len(DELAYS_US))]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    calls = []
    for x in xs:
        pointer, count = ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(x.numel())
        # The type is float, the operation a sum.
        calls.append((pointer, pointer, count, 7, 0, handle, stream))
        # NCCL needs some for its connections; these are told apart by their other size.
        half = ctypes.c_size_t(x.numel() // 2)
        nccl.call("ncclAllReduce", pointer, pointer, half, 7, 0, handle, stream)
    torch.cuda.synchronize()
    # One rank chooses the moment of CLOCK_REALTIME with which all begin.
    at = torch.tensor([time.clock_gettime_ns(time.CLOCK_REALTIME) + 50_000_000])
    dist.broadcast(at, 0, group=others)
    begin = int(at.item())
    called: list[list[int]] = [[] for _ in xs]
    for number in range(LATE_ROUNDS * len(xs)):
        place = number % len(xs)
        at_ns = begin + number * PERIOD_NS + 1000 * DELAYS_US[place] * (rank == 1)
        while (now := time.clock_gettime_ns(time.CLOCK_REALTIME)) < at_ns:
            pass
        nccl.call("ncclAllReduce", *calls[place])
        torch.cuda.synchronize()
        called[place].append(now)
    nccl.call("ncclCommDestroy", handle)
    return {
        "late": [
            {"bytes": 4 * x.numel(), "delay_us": delay, "called_ns": times}
            for x, delay, times in zip(xs, DELAYS_US, called, strict=True)
        ]
    }


def sends(rank: int, ranks: int) -> dict[str, Any]:
    """Sends of rank 0, whose GPU is busy before each, to rank 1, which comes at once."""
    x, times = torch.ones(1 << 20, device="cuda"), []
    for number in range(SEND_ROUNDS + 1):
        # Of the first, the connection is made.
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        if rank == 0 and number:
            torch.cuda._sleep(SLEEP_CYCLES)
        after.record()
        if rank == 0:
            dist.send(x, 1)
        elif rank == 1:
            dist.recv(x, 0)
        torch.cuda.synchronize()
        times.append(before.elapsed_time(after))
    return {"sends": times[1:]}


def large(rank: int, ranks: int) -> dict[str, Any]:
    """All-reduces one after the other, with an event between each two."""
    x = torch.zeros(LARGE_BYTES // 4, device="cuda")
    for _ in range(3):
        dist.all_reduce(x[:1024])
    events = [torch.cuda.Event(enable_timing=True) for _ in range(LARGE_ROUNDS + 1)]
    events[0].record()
    for event in events[1:]:
        dist.all_reduce(x)
        event.record()
    torch.cuda.synchronize()
    times = [before.elapsed_time(after) for before, after in itertools.pairwise(events)]
    return {"large": [LARGE_BYTES, times]}


def price(rank: int, ranks: int) -> dict[str, Any]:
    """The time of all-reduces of 4 KiB, which the host cannot launch as fast as they run."""
    x = torch.zeros(1024, device="cuda")
    for _ in range(300):
        dist.all_reduce(x)
    torch.cuda.synchronize()
    found = []
    for _ in range(PRICE_ROUNDS):
        dist.barrier()
        torch.cuda.synchronize()
        before = time.perf_counter()
        for _ in range(PRICE_CALLS):
            dist.all_reduce(x)
        torch.cuda.synchronize()
        found.append((time.perf_counter() - before) / PRICE_CALLS * 1e6)
    return {"price_us": found}


PROGRAMS = {
    "work": work,
    "graph": graph,
    "late": late,
    "sends": sends,
    "large": large,
    "price": price,
}


def main() -> None:
    """Run one of them and write its log."""
    what, log = sys.argv[1], sys.argv[2]
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    found = PROGRAMS[what](rank, ranks)
    dist.destroy_process_group()
    Path(f"{log}.{rank}").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
