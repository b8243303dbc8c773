"""PyTorch programs that replay CUDA graphs and know the Python stacks of what these captured.

    python graphed.py capture LOG     a small transformer, by torch.cuda.graph
    python graphed.py compile LOG     the same by torch.compile(mode="reduce-overhead")
    python graphed.py update LOG      a graph that is updated from another one
    python graphed.py price LOG       microseconds a replay, and a node that is captured

A stack is a list of [function, file, line], the innermost frame first, from the function on that
noted it.  LOG holds {"stacks": of all that was captured, each once; "replays": how many}.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from stacked import Logging, stack_from_next_line

REPLAYS, WARM_UP = 20, 3


def transformer() -> tuple[torch.nn.Module, torch.Tensor]:
    """Two layers, and a batch for them."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()
    return model, torch.randn(4, 32, 128, device="cuda")


def warm(step: Callable[[], Any]) -> None:
    """Run a step on another stream, as graphs want it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)


def capture() -> dict[str, Any]:
    """A training step: the backward pass runs on threads of autograd, which have no Python."""
    model, x = transformer()

    def step() -> None:
        model.zero_grad(set_to_none=False)
        model(x).square().mean().backward()

    warm(step)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), Logging() as log:
        step()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    return {"stacks": [json.loads(s) for s in sorted(log.stacks)], "replays": REPLAYS}


def compiled() -> dict[str, Any]:
    """Inference; what is noted are the kernels of Triton that are launched while capturing."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    stacks: set[str] = set()
    run = CachingAutotuner.run

    def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        get, note = sys._getframe, stacks.add
        if torch.cuda.is_current_stream_capturing():
            note(json.dumps(stack_from_next_line(get())))
        return run(self, *args, **kwargs)

    CachingAutotuner.run = noting
    model, x = transformer()
    step = torch.compile(model.eval(), mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(WARM_UP + REPLAYS):
            torch.compiler.cudagraph_mark_step_begin()
            step(x)
    torch.cuda.synchronize()
    return {"stacks": [json.loads(s) for s in sorted(stacks)], "replays": REPLAYS}


def update() -> dict[str, Any]:
    """One replay as it was captured, two after the update; the lines of both captures."""
    x = torch.zeros(64, device="cuda")
    warm(lambda: x.add_(1))
    first, second = (torch.cuda.CUDAGraph(keep_graph=True) for _ in range(2))
    here = sys._getframe()
    lines = []
    with torch.cuda.graph(first):
        lines.append(here.f_lineno + 1)
        x.add_(1)
    with torch.cuda.graph(second):
        lines.append(here.f_lineno + 1)
        x.add_(1)
    first.instantiate()
    first.replay()
    runtime = ctypes.CDLL(f"libcudart.so.{(torch.version.cuda or '').split('.')[0]}")
    result = ctypes.create_string_buffer(256)  # cudaGraphExecUpdateResultInfo
    status = runtime.cudaGraphExecUpdate(
        ctypes.c_void_p(first.raw_cuda_graph_exec()),
        ctypes.c_void_p(second.raw_cuda_graph()),
        result,
    )
    for _ in range(2):
        first.replay()
    torch.cuda.synchronize()
    return {"lines": lines, "status": status, "stacks": [], "replays": 3}


def price() -> dict[str, float]:
    """Of the transformer's inference."""
    model, x = transformer()
    model.eval()
    with torch.no_grad():
        warm(lambda: model(x))
        times = []
        for _ in range(5):
            graph = torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            with torch.cuda.graph(graph):
                for _ in range(20):
                    model(x)
            times.append(time.perf_counter() - begin)
    torch.cuda.synchronize()
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(200):
        graph.replay()
    torch.cuda.synchronize()
    replay = (time.perf_counter() - begin) / 200
    return {"ms_per_replay": replay * 1e3, "ms_per_capture": sorted(times)[2] * 1e3}


def main() -> None:
    """Run a program and write its log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=("capture", "compile", "update", "price"))
    parser.add_argument("log", type=Path)
    options = parser.parse_args()
    programs: dict[str, Callable[[], dict[str, Any]]] = {
        "capture": capture,
        "compile": compiled,
        "update": update,
        "price": price,
    }
    torch.zeros(1, device="cuda")
    found = programs[options.program]()
    options.log.write_text(json.dumps(found))
    print(options.program, {k: len(v) if isinstance(v, list) else v for k, v in found.items()})


if __name__ == "__main__":
    main()
