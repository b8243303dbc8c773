"""Steps of a small model on several ranks, which counts the collectives that it asks for.

    torchrun --nproc-per-node 2 nccl_train.py ddp|fsdp|fsdp1 LOG [profile]

Each rank writes LOG.RANK: {"asked": [[function, bytes, how often]]}, with the bytes that NCCL
tells: of one rank for AllGather and ReduceScatter.  They are counted where the program gives them
to torch.distributed; with `profile`, from the events of torch.profiler instead.
"""

# No annotations from the future: DDP looks for those of its hook as they are.
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

STEPS, LAYERS, WIDTH = 8, 4, 1024
ELEMENT_BYTES = {"Float": 4, "Int": 4, "Long": 8, "Byte": 1, "Char": 1, "Half": 2, "BFloat16": 2}
FUNCTIONS = {
    "allreduce": "AllReduce",
    "allgather": "AllGather",
    "reducescatter": "ReduceScatter",
    "broadcast": "Broadcast",
}

asked: Counter[tuple[str, int]] = Counter()


def model() -> torch.nn.Sequential:
    """The same on each rank."""
    torch.manual_seed(7)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    return torch.nn.Sequential(*layers).to("cuda")


def counted_hook(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """What DDP does of itself with a bucket of gradients, counted."""
    buffer = bucket.buffer()
    asked["AllReduce", buffer.numel() * buffer.element_size()] += 1
    return allreduce_hook(group, bucket)


def count_calls(name: str, function: str) -> None:
    """Count calls of a function of torch.distributed, whose second argument is the input."""
    plain = getattr(dist, name)

    def counting(output: torch.Tensor, input: torch.Tensor, *more: Any, **named: Any) -> Any:
        part = min(output.numel(), input.numel())
        asked[function, part * input.element_size()] += 1
        return plain(output, input, *more, **named)

    setattr(dist, name, counting)


def wrapped(what: str) -> torch.nn.Module:
    """The model, as one of the three shares it out."""
    if what == "ddp":
        ddp = torch.nn.parallel.DistributedDataParallel(model(), bucket_cap_mb=5)
        ddp.register_comm_hook(None, counted_hook)
        return ddp
    count_calls("all_gather_into_tensor", "AllGather")
    count_calls("reduce_scatter_tensor", "ReduceScatter")
    if what == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel, wrap

        policy = wrap.ModuleWrapPolicy({torch.nn.Linear})
        return FullyShardedDataParallel(model(), auto_wrap_policy=policy)
    from torch.distributed.fsdp import fully_shard

    sharded = model()
    for layer in sharded:
        fully_shard(layer)
    fully_shard(sharded)
    return sharded


def train(what: str) -> None:
    """A few steps."""
    shared = wrapped(what)
    optimizer = torch.optim.SGD(shared.parameters(), lr=0.01)
    x = torch.ones(64, WIDTH, device="cuda")
    for _ in range(STEPS):
        optimizer.zero_grad()
        shared(x).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()


def from_profiler(path: Path) -> Counter[tuple[str, int]]:
    """Collectives of a trace of torch.profiler, by the arguments that it notes of each."""
    events = json.loads(path.read_text())["traceEvents"]
    noted = [event for event in events if "Collective name" in event.get("args", {})]
    # Both have the arguments; a call may be several kernels, if NCCL groups them.
    calls = [event for event in noted if event.get("name") == "record_param_comms"]
    kernels = [event for event in noted if event.get("cat") == "kernel"]
    found: Counter[tuple[str, int]] = Counter()
    for event in calls or kernels:
        said = event["args"]
        name = said["Collective name"].replace("_", "").lower()
        function = next((FUNCTIONS[key] for key in FUNCTIONS if key in name), None)
        elements = min(int(said["In msg nelems"]), int(said["Out msg nelems"]))
        if function and elements:
            found[function, elements * ELEMENT_BYTES[said["dtype"]]] += 1
    return found


def main() -> None:
    """Train, and write the log."""
    what, log, profile = sys.argv[1], sys.argv[2], sys.argv[3:] == ["profile"]
    rank = os.environ["RANK"]
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    found = asked
    if profile:
        with torch.profiler.profile() as profiler:
            dist.init_process_group("nccl")
            train(what)
        trace = Path(f"{log}.{rank}.trace.json")
        profiler.export_chrome_trace(str(trace))
        found = from_profiler(trace)
    else:
        dist.init_process_group("nccl")
        train(what)
    dist.destroy_process_group()
    told = [[*key, count] for key, count in sorted(found.items())]
    Path(f"{log}.{rank}").write_text(json.dumps({"asked": told}))


if __name__ == "__main__":
    main()
