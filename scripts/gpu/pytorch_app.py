"""PyTorch programs whose operators are captured, counted by torch.profiler, or timed.

python pytorch_app.py llama|compiled|train|workers|ranks LOG [--tool torch|emit_nvtx]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from steps import Step, llama, ms_per_step, profiler, small_transformer

STEPS = 5


@contextlib.contextmanager
def profiled(tool: str, found: dict[str, Any]) -> Iterator[None]:
    """What torch.profiler counts; nothing else is done without it."""
    if tool == "emit_nvtx":
        with torch.autograd.profiler.emit_nvtx():
            yield
        return
    if tool != "torch":
        yield
        return
    with profiler(record_shapes=True) as profile:
        yield
        torch.cuda.synchronize()
    events = profile.key_averages()
    host = [event for event in events if event.device_type == torch.autograd.DeviceType.CPU]
    found["operators"] = {
        event.key: [event.count, event.self_device_time_total, event.device_time_total]
        for event in host
    }
    # Copies have other names; and what a range has on the GPU is counted there, too.
    on_host = {event.key for event in host if not event.key.startswith("triton_")}
    found["kernels"] = {
        event.key: event.count
        for event in events
        if event.device_type == torch.autograd.DeviceType.CUDA
        and event.key not in on_host
        and not event.key.startswith(("Memcpy", "Memset"))
    }


def measured(step: Step, tool: str) -> dict[str, Any]:
    """Some steps after a warm-up, inside the range that the capture records."""
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    found: dict[str, Any] = {}
    with profiled(tool, found):
        torch.cuda.nvtx.range_push("measured")
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    return found


class Rows(torch.utils.data.Dataset[Any]):
    """Data that is made on the host."""

    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> Any:
        return torch.full((16,), float(index))


def workers() -> dict[str, Any]:
    """A loader with two workers."""
    model = torch.nn.Linear(16, 4).cuda()
    loader = torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2)
    model(torch.zeros(1, 16, device="cuda"))
    batches = [model(batch.cuda()).sum().item() for batch in loader]
    return {"batches": len(batches)}


def ranks() -> dict[str, Any]:
    """Two processes of torchrun on one GPU, which talk through gloo."""
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 4).cuda())
    for _ in range(3):
        model(torch.ones(2, 16, device="cuda")).sum().backward()
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()
    return {"rank": int(os.environ["RANK"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=("llama", "compiled", "train", "workers", "ranks"))
    parser.add_argument("log", type=Path)
    parser.add_argument("--tool", default="")
    options = parser.parse_args()
    if options.program in ("llama", "compiled"):
        step, model = llama(is_compiled=options.program == "compiled")
        found = measured(step, options.tool)
        found["modules"] = [name for name, _ in model.named_modules()]
        found["compiles"] = dict(torch._dynamo.utils.counters["stats"])
        found["breaks"] = len(torch._dynamo.utils.counters["graph_break"])
    elif options.program == "train":
        with profiled(options.tool, {}):
            found = ms_per_step(small_transformer(), 40)
    else:
        found = workers() if options.program == "workers" else ranks()
    if os.environ.get("RANK", "0") == "0":
        options.log.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
