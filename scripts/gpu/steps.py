"""Training steps that several programs run or time, and the profiler beside them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

Step = Callable[[], Any]


def small_llama(key_value_heads: int = 4) -> Any:
    """A Llama of four small layers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=key_value_heads,
        vocab_size=1000,
    )
    return LlamaForCausalLM(config).cuda()


def training(model: Any, x: Any, optimizer: Any) -> Step:
    """A step of training that has the squares of what a model makes go down."""

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return step


def llama(*, is_compiled: bool = False) -> tuple[Step, torch.nn.Module]:
    """A training step of a small Llama."""
    torch.manual_seed(0)
    model = small_llama()
    called = torch.compile(model) if is_compiled else model
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 1000, (2, 64), device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        called(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()

    return step, model


def transformer(batch: int, **optimizer_options: bool) -> Step:
    """Six layers, eager, in steps of forward, backward and AdamW."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), **optimizer_options)
    return training(model, torch.randn(batch, 128, 512, device="cuda"), optimizer)


def small_transformer() -> Step:
    """Each parameter is updated by kernels of its own: the host can hardly keep up."""
    return transformer(16, foreach=False, fused=False)


def ms_per_step(step: Step, steps: int) -> dict[str, float]:
    """Milliseconds a step, after a quarter as many to warm up."""
    for _ in range(steps // 4):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return {"ms_per_step": (time.perf_counter() - begin) / steps * 1e3}


def profiler(**options: bool) -> Any:
    """torch.profiler with the work of the GPU and the calls of the host."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    return torch.profiler.profile(activities=activities, **options)
