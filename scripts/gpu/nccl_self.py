"""A PyTorch program of one rank that sends to itself through NCCL, and logs what it asked for.

    python nccl_self.py work LOG     sends and receives of known sizes, in two communicators
    python nccl_self.py price LOG    microseconds that a send with its receive takes

NCCL makes copies of the collectives of a single rank and tells its plugins nothing of them; what a
rank sends to itself goes through a kernel.  LOG holds {"version": of NCCL, "communicators": for
each its groups, in order, each with the times around it and its sends and receives; "price_us"}.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

# Names and numbers of ncclDataType_t, and the types of PyTorch.
TYPES = {
    "ncclInt8": (0, torch.int8),
    "ncclInt64": (4, torch.int64),
    "ncclFloat16": (6, torch.float16),
    "ncclFloat32": (7, torch.float32),
    "ncclFloat64": (8, torch.float64),
    "ncclBfloat16": (9, torch.bfloat16),
}
ROUNDS, PRICE_CALLS = 20, 2000


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = [("internal", ctypes.c_char * 128)]


class Nccl:
    """The NCCL that PyTorch has loaded."""

    def __init__(self) -> None:
        maps = Path("/proc/self/maps").read_text().split()
        self.path = next(word for word in maps if "libnccl.so" in word)
        self._lib = ctypes.CDLL(self.path)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function, or raise with the number of NCCL's error."""
        result = getattr(self._lib, name)(*arguments)
        if result:
            raise RuntimeError(f"{name}: {result}")

    def version(self) -> int:
        """Such as 22809."""
        number = ctypes.c_int()
        self.call("ncclGetVersion", ctypes.byref(number))
        return number.value

    def communicator(self) -> ctypes.c_void_p:
        """A new one, of this rank alone."""
        unique, handle = UniqueId(), ctypes.c_void_p()
        self.call("ncclGetUniqueId", ctypes.byref(unique))
        self.call("ncclCommInitRank", ctypes.byref(handle), 1, unique, 0)
        return handle

    def exchange(
        self, handle: ctypes.c_void_p, pairs: list[tuple[torch.Tensor, torch.Tensor, int]]
    ) -> None:
        """Send the first of each pair to the second, all as one group."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("ncclGroupStart")
        for source, target, kind in pairs:
            count = ctypes.c_size_t(source.numel())
            there, here = (ctypes.c_void_p(each.data_ptr()) for each in (source, target))
            self.call("ncclSend", there, count, kind, 0, handle, stream)
            self.call("ncclRecv", here, count, kind, 0, handle, stream)
        self.call("ncclGroupEnd")


def group(nccl: Nccl, handle: ctypes.c_void_p, shapes: list[tuple[str, int]]) -> dict[str, Any]:
    """One group: the times around it, and what it asked for."""
    pairs = []
    for name, count in shapes:
        kind, dtype = TYPES[name]
        source = torch.randint(0, 100, (count,), device="cuda").to(dtype)
        pairs.append((source, torch.zeros_like(source), kind))
    torch.cuda.synchronize()
    before_ns = time.time_ns()
    nccl.exchange(handle, pairs)
    after_ns = time.time_ns()
    torch.cuda.synchronize()
    for source, target, _ in pairs:
        if not torch.equal(source, target):
            raise RuntimeError("what was received is not what was sent")
    operations = [
        [function, count, name, count * source.element_size()]
        for (name, count), (source, _, _) in zip(shapes, pairs, strict=True)
        for function in ("Send", "Recv")
    ]
    return {"before_ns": before_ns, "after_ns": after_ns, "operations": operations}


def work(nccl: Nccl) -> dict[str, Any]:
    """Groups of one and of three exchanges in turns in two communicators; copies in between."""
    handles = [nccl.communicator() for _ in range(2)]
    groups: list[list[dict[str, Any]]] = [[], []]
    names = list(TYPES)
    x = torch.ones(1 << 16, device="cuda")
    for number in range(ROUNDS):
        for place, handle in enumerate(handles):
            shapes = [
                (names[(number + place + i) % len(names)], (number + 1) * 1000 + 17 * i + place)
                for i in range(3 if number % 5 == 4 else 1)
            ]
            groups[place].append(group(nccl, handle, shapes))
        dist.all_reduce(x)  # of one rank: NCCL copies, or has nothing to do
    for handle in handles:
        nccl.call("ncclCommDestroy", handle)
    return {"communicators": groups}


def price(nccl: Nccl) -> dict[str, Any]:
    """The time of exchanges of 4 KiB, one by one, in five rounds."""
    handle = nccl.communicator()
    pairs = [(torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda"), 7)]
    for _ in range(200):
        nccl.exchange(handle, pairs)
    torch.cuda.synchronize()
    found = []
    for _ in range(5):
        before = time.perf_counter()
        for _ in range(PRICE_CALLS):
            nccl.exchange(handle, pairs)
        torch.cuda.synchronize()
        found.append((time.perf_counter() - before) / PRICE_CALLS * 1e6)
    nccl.call("ncclCommDestroy", handle)
    return {"price_us": found}


def main() -> None:
    """Run one of the two and write its log."""
    what, log = sys.argv[1], Path(sys.argv[2])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29541", RANK="0", WORLD_SIZE="1")
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=0, world_size=1)
    dist.all_reduce(torch.ones(8, device="cuda"))
    nccl = Nccl()
    found = {"version": nccl.version(), "path": nccl.path}
    found |= work(nccl) if what == "work" else price(nccl)
    dist.destroy_process_group()
    log.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
