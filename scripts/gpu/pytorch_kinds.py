"""Small PyTorch programs, each of another kind, that are captured or counted by torch.profiler.

python pytorch_kinds.py KIND LOG [--tool torch]
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from pytorch_app import Rows, measured
from steps import Step, small_llama, training
from torch import nn

KINDS: dict[str, Callable[[], Step]] = {}
GPU = "cuda"


def kind(made: Callable[[], Step]) -> Callable[[], Step]:
    """A kind of program: makes what it needs, and returns one step of it."""
    KINDS[made.__name__] = made
    return made


def layers(width: int = 512, depth: int = 4) -> nn.Sequential:
    """Linear layers with an activation after each."""
    each = [(nn.Linear(width, width), nn.GELU()) for _ in range(depth)]
    return nn.Sequential(*[module for pair in each for module in pair]).to(GPU)


def rows(width: int = 512) -> torch.Tensor:
    """What such layers take."""
    return torch.randn(64, width, device=GPU)


def one_rank() -> None:
    """A process group of this process alone."""
    if not torch.distributed.is_initialized():
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)


@kind
def plain() -> Step:
    model = layers()
    return training(model, rows(), torch.optim.SGD(model.parameters()))


@kind
def adamw() -> Step:
    model = layers()
    return training(model, rows(), torch.optim.AdamW(model.parameters()))


@kind
def mixed_precision() -> Step:
    model, x = layers(), rows()
    optimizer, scaler = torch.optim.Adam(model.parameters(), fused=True), torch.amp.GradScaler(GPU)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(GPU, torch.float16):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


@kind
def compiled() -> Step:
    model = torch.compile(layers())
    return training(model, rows(), torch.optim.SGD(model.parameters()))


@kind
def compiled_graphs() -> Step:
    model, x = torch.compile(layers(), mode="reduce-overhead"), rows()

    def step() -> None:
        torch.compiler.cudagraph_mark_step_begin()
        model.zero_grad(set_to_none=True)
        model(x).square().mean().backward()

    return step


@kind
def compiled_dynamic() -> Step:
    model, sizes = torch.compile(layers(), dynamic=True), iter(range(8, 1000))
    return lambda: model(torch.randn(next(sizes), 512, device=GPU)).sum().backward()


@kind
def graph() -> Step:
    model, x, stream = layers(), rows(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(x)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        y = model(x)

    def step() -> None:
        x.copy_(torch.randn(64, 512))
        captured.replay()
        y.sum().item()

    return step


@kind
def checkpoint() -> Step:
    from torch.utils.checkpoint import checkpoint as again

    model, x = layers(), rows().requires_grad_()

    def step() -> None:
        y = x
        for at in range(0, 8, 2):
            y = again(model[at : at + 2], y, use_reentrant=False)
        y.sum().backward()

    return step


@kind
def streams() -> Step:
    all_streams = [torch.cuda.Stream(priority=-(number % 2)) for number in range(3)]
    host, x = torch.randn(1 << 20).pin_memory(), torch.randn(512, 512, device=GPU)

    def step() -> None:
        for number, stream in enumerate(all_streams):
            stream.wait_stream(torch.cuda.current_stream())
            name = f'stream {number} "quoted" é \\ / {"x" * 200}'
            with torch.cuda.stream(stream), torch.profiler.record_function(name):
                host.to(GPU, non_blocking=True)
                (x @ x).sum()
        for stream in all_streams:
            torch.cuda.current_stream().wait_stream(stream)
        (x @ x).cpu()

    return step


@kind
def flex_attention() -> Step:
    from torch.nn.attention.flex_attention import create_block_mask
    from torch.nn.attention.flex_attention import flex_attention as attention

    q = torch.randn(2, 4, 256, 64, device=GPU, dtype=torch.bfloat16, requires_grad=True)
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device=GPU)
    called = torch.compile(attention)
    return lambda: called(q, q, q, block_mask=mask).sum().backward()


@kind
def attention() -> Step:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q = torch.randn(2, 4, 256, 64, device=GPU, dtype=torch.bfloat16, requires_grad=True)
    every = ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION")

    def step() -> None:
        for name in every:
            with sdpa_kernel(getattr(SDPBackend, name)), torch.profiler.record_function(name):
                F.scaled_dot_product_attention(q, q, q).sum().backward()

    return step


@kind
def nested() -> Step:
    parts = [torch.randn(length, 64, device=GPU) for length in (3, 70, 129)]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged)
    linear = nn.Linear(64, 64).to(GPU)
    return lambda: linear(x).values().sum().backward()


@kind
def convolutions() -> Step:
    model = nn.Sequential(
        *(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    ).to(GPU, memory_format=torch.channels_last)
    x = torch.randn(16, 3, 64, 64, device=GPU).to(memory_format=torch.channels_last)
    return training(model, x, torch.optim.SGD(model.parameters(), momentum=0.9))


@kind
def lstm() -> Step:
    model, x = nn.LSTM(64, 128, 2).to(GPU), torch.randn(20, 8, 64, device=GPU)
    return lambda: model(x)[0].sum().backward()


@kind
def sparse_gradients() -> Step:
    model = nn.EmbeddingBag(1000, 64, sparse=True).to(GPU)
    x = torch.randint(0, 1000, (64, 10), device=GPU)
    return training(model, x, torch.optim.SparseAdam(model.parameters()))


@kind
def threads() -> Step:
    models, x = [layers(256, 2) for _ in range(3)], rows(256)

    def step() -> None:
        each = [
            threading.Thread(target=lambda model=model: model(x).sum().backward())
            for model in models
        ]
        for thread in each:
            thread.start()
        for thread in each:
            thread.join()

    return step


@kind
def loader() -> Step:
    model = nn.Linear(16, 8).to(GPU)
    data = torch.utils.data.DataLoader(Rows(), 8, num_workers=2, pin_memory=True)

    def step() -> None:
        for batch in data:
            model(batch.to(GPU, non_blocking=True)).sum().backward()

    return step


@kind
def functional() -> Step:
    from torch.func import grad, vmap

    w, x = torch.randn(64, 64, device=GPU), torch.randn(8, 16, 64, device=GPU)
    called = vmap(grad(lambda w, x: (x @ w).tanh().sum()), (None, 0))
    return lambda: called(w, x).sum().item()


@kind
def second_derivatives() -> Step:
    w = torch.randn(64, 64, device=GPU, requires_grad=True)
    x = torch.randn(8, 64, device=GPU)

    def step() -> None:
        (first,) = torch.autograd.grad((x @ w).tanh().sum(), w, create_graph=True)
        first.square().sum().backward()

    return step


@kind
def linear_algebra() -> Step:
    a = torch.randn(128, 128, device=GPU)

    def step() -> None:
        torch.linalg.inv(a)
        torch.linalg.svd(a)
        torch.fft.fft2(a)
        (a.to_sparse_csr() @ a).sum()
        torch.sort(a)
        a[a > 0].sum().item()
        torch.topk(a, 5)
        torch.cumsum(a, 0)

    return step


@kind
def low_precision() -> Step:
    a = torch.randint(-9, 9, (64, 64), device=GPU, dtype=torch.int8)
    b, one = torch.randn(64, 64, device=GPU), torch.ones((), device=GPU)
    c = b.to(torch.float8_e4m3fn)

    def step() -> None:
        torch._int_mm(a, a)
        torch._scaled_mm(c, c.t(), one, one, out_dtype=torch.bfloat16)

    return step


@kind
def data_parallel() -> Step:
    one_rank()
    model, sums = nn.parallel.DistributedDataParallel(layers()), torch.ones(1024, device=GPU)

    def step() -> None:
        model(rows()).sum().backward()
        torch.distributed.all_reduce(sums)
        torch.distributed.barrier()
        found = [torch.empty_like(sums)]
        torch.distributed.all_gather(found, sums, async_op=True).wait()

    return step


@kind
def fully_sharded() -> Step:
    from torch.distributed.fsdp import fully_shard

    one_rank()
    model = layers()
    for module in model:
        if isinstance(module, nn.Linear):
            fully_shard(module)
    fully_shard(model)
    return training(model, rows(), torch.optim.AdamW(model.parameters()))


@kind
def generation() -> Step:
    model = small_llama(key_value_heads=2).to(torch.bfloat16).eval()
    tokens = torch.randint(0, 1000, (2, 16), device=GPU)
    return lambda: model.generate(tokens, max_new_tokens=12, do_sample=False)


@kind
def errors() -> Step:
    x = torch.randn(64, 64, device=GPU)
    wrong = (lambda: x @ x[:3, :3], lambda: torch.empty(1 << 45, device=GPU))

    def step() -> None:
        for each in wrong:
            try:
                each()
            except RuntimeError:
                continue
        with torch.profiler.record_function(""):
            x.exp_()
        x[:0].sum()
        torch.zeros(0, device=GPU)

    return step


@kind
def offload() -> Step:
    model = layers(depth=2)
    host = [each.detach().cpu().pin_memory() for each in model.parameters()]

    def step() -> None:
        for each, copy in zip(model.parameters(), host, strict=True):
            each.data.copy_(copy, non_blocking=True)
        model(rows()).sum().backward()
        for each, copy in zip(model.parameters(), host, strict=True):
            copy.copy_(each.grad, non_blocking=True)
        torch.cuda.synchronize()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("log", type=Path)
    parser.add_argument("--tool", default="")
    options = parser.parse_args()
    torch.manual_seed(0)
    found = measured(KINDS[options.kind](), options.tool)
    options.log.write_text(json.dumps(found))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
