"""A PyTorch program of several ranks that logs what it asks of NCCL.

    torchrun --nproc-per-node 2 nccl_app.py work LOG     all kinds of operations
    torchrun --nproc-per-node 2 nccl_app.py late LOG     all-reduces to which rank 1 comes late
    torchrun --nproc-per-node 2 nccl_app.py price LOG    microseconds of an all-reduce of 4 KiB

Each rank writes LOG.RANK: {"asked": [[function, bytes, how often]], "late": [[bytes, us]],
"price_us": of five rounds}.  Functions and bytes are those that NCCL tells: an exchange between all
is sends and receives, and so is one between two.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

ROUNDS, LATE_ROUNDS, PRICE_CALLS = 30, 150, 2000
DELAYS_US = (0, 50, 250, 1000)


def work(rank: int, ranks: int) -> dict[str, Any]:
    """Operations of a size that differs by round, in the group of all and in one of its own."""
    asked: Counter[tuple[str, int]] = Counter()
    other = dist.new_group(list(range(ranks)))
    for number in range(ROUNDS):
        part = 1024 * (number + 1)
        x, whole = torch.ones(part, device="cuda"), torch.ones(part * ranks, device="cuda")
        for group in (None, other):
            dist.all_reduce(x, group=group)
            dist.all_gather_into_tensor(whole, x, group=group)
            dist.reduce_scatter_tensor(x, whole, group=group)
            dist.broadcast(x, 0, group=group)
            for function in ("AllReduce", "AllGather", "ReduceScatter", "Broadcast"):
                asked[function, 4 * part] += 1
        out = torch.empty_like(whole)
        dist.all_to_all_single(out, whole)
        asked["Send", 4 * part] += ranks
        asked["Recv", 4 * part] += ranks
        if rank == 0:
            dist.send(x, 1)
            asked["Send", 4 * part] += 1
        elif rank == 1:
            dist.recv(x, 0)
            asked["Recv", 4 * part] += 1
    torch.cuda.synchronize()
    return {"asked": [[*key, count] for key, count in sorted(asked.items())]}


def late(rank: int) -> dict[str, Any]:
    """All-reduces of one size for each delay; the delay is a spin of rank 1 before its call."""
    sizes = []
    for place, delay_us in enumerate(DELAYS_US):
        x = torch.ones(65536 * (place + 1), device="cuda")
        sizes.append([4 * x.numel(), delay_us])
        for _ in range(LATE_ROUNDS):
            # So that the ranks begin together: each waits for the other's answer.
            dist.barrier()
            torch.cuda.synchronize()
            until = time.perf_counter() + delay_us * 1e-6 * (rank == 1)
            while time.perf_counter() < until:
                pass
            dist.all_reduce(x)
            torch.cuda.synchronize()
    return {"late": sizes}


def price() -> dict[str, Any]:
    """The time of all-reduces of 4 KiB, one by one, in five rounds."""
    x = torch.ones(1024, device="cuda")
    for _ in range(200):
        dist.all_reduce(x)
    torch.cuda.synchronize()
    found = []
    for _ in range(5):
        dist.barrier()
        torch.cuda.synchronize()
        before = time.perf_counter()
        for _ in range(PRICE_CALLS):
            dist.all_reduce(x)
        torch.cuda.synchronize()
        found.append((time.perf_counter() - before) / PRICE_CALLS * 1e6)
    return {"price_us": found}


def main() -> None:
    """Run one of the three and write its log."""
    what, log = sys.argv[1], sys.argv[2]
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    found = work(rank, ranks) if what == "work" else late(rank) if what == "late" else price()
    dist.destroy_process_group()
    Path(f"{log}.{rank}").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
