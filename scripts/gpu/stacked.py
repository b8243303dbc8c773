"""PyTorch programs that know the Python stack of their launches, or are timed.

    python stacked.py additions|llama LOG      the stacks as sys._getframe tells them
    python stacked.py loop LOG [--tool torch] [--depth N]    microseconds an addition
    python stacked.py train LOG [--tool torch]               milliseconds a step

A stack is a list of [function, file, line], the innermost frame first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from steps import llama, ms_per_step, profiler, small_transformer
from torch.utils._python_dispatch import TorchDispatchMode

Stack = list[list[Any]]
CALLS, DEEP = 20_000, 40


def stack_from_next_line(frame: Any) -> Stack:
    """The frame as it is in its next line, and its callers."""
    found = []
    while frame is not None:
        code = frame.f_code
        found.append([code.co_qualname, code.co_filename, frame.f_lineno])
        frame = frame.f_back
    found[0][2] += 1
    return found


def additions() -> list[Any]:
    """An addition, which is a launch, from each of some places; the stack of each."""
    x = torch.zeros(64, device="cuda")
    stacks: list[Stack] = []
    get = sys._getframe

    def leaf() -> None:
        stacks.append(stack_from_next_line(get()))
        x.add_(1)

    def nest(depth: int) -> None:
        if depth:
            nest(depth - 1)
        else:
            leaf()

    for depth in (0, 1, 5, 40, 5, 200):
        for _ in range(50):
            nest(depth)
    torch.cuda.synchronize()
    return stacks


class Logging(TorchDispatchMode):
    """Notes the stack of each operator."""

    def __init__(self) -> None:
        super().__init__()
        self.stacks: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        get, note = sys._getframe, self.stacks.add
        note(json.dumps(stack_from_next_line(get())))
        return func(*args, **(kwargs or {}))


def operators() -> list[Any]:
    """Two steps of a small Llama; the stacks of the second one's operators, each once."""
    step, _ = llama()
    step()
    torch.cuda.synchronize()
    with Logging() as log:
        step()
    torch.cuda.synchronize()
    return [json.loads(stack) for stack in sorted(log.stacks)]


@contextlib.contextmanager
def tool(name: str) -> Any:
    """torch.profiler with stacks, or nothing."""
    with profiler(with_stack=True) if name == "torch" else contextlib.nullcontext():
        yield


def loop(depth: int) -> dict[str, float]:
    """Additions of few numbers, called through some functions of Python."""
    x = torch.zeros(64, device="cuda")

    def leaf() -> float:
        for _ in range(1000):
            x.add_(1)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            x.add_(1)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / CALLS * 1e6

    def nest(left: int) -> float:
        return nest(left - 1) if left else leaf()

    return {"us_per_call": nest(max(0, depth - 3))}


def main() -> None:
    """Run a program and write its log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=("additions", "llama", "loop", "train"))
    parser.add_argument("log", type=Path)
    parser.add_argument("--tool", default="")
    parser.add_argument("--depth", type=int, default=4)
    options = parser.parse_args()
    programs: dict[str, Callable[[], Any]] = {
        "additions": additions,
        "llama": operators,
        "loop": lambda: loop(options.depth),
        "train": lambda: ms_per_step(small_transformer(), 40),
    }
    torch.zeros(1, device="cuda")
    with tool(options.tool):
        found = programs[options.program]()
    options.log.write_text(json.dumps(found))
    print(options.program, found if isinstance(found, dict) else len(found))


if __name__ == "__main__":
    main()
