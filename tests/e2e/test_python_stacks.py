"""``capture --python-stacks``: the stack of each launch, as the interpreter itself tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_13
from support.pythons import VERSIONS, interpreters, program

STACKS = ["--python-stacks"]


def read(capture: Capture) -> list[list[list[Any]] | str]:
    """The stack of each kernel in the order of launches, or why it has none."""
    frames: dict[int, list[list[Any]]] = {}
    for row in sorted(capture.rows("python_stack"), key=lambda row: row["depth"]):
        frames.setdefault(row["stack_id"], []).append([row["function"], row["file"], row["line"]])
    stacks = {
        row["correlation_id"]: frames[row["stack_id"]] if row["stack_id"] else row["state"]
        for row in capture.rows("launch_stack")
    }
    order = sorted(row["correlation_id"] for row in capture.rows("kernel"))
    return [stacks[call] for call in order]


def run(
    capturer: Capturer, tmp_path: Path, version: str, text: str, *options: str, **fake: Any
) -> tuple[Capture, list[list[list[Any]]]]:
    """A capture of a program, and the stacks that it logged."""
    if version not in interpreters():
        pytest.skip(f"no Python {version} here")
    log = tmp_path / "stacks.json"
    command = ["env", f"STACKS={log}", *program(interpreters()[version], text)]
    capture = capturer.run(CUPTI_13, [*STACKS, *options], fake, command)
    assert capture.status == 0, capture.stderr
    capture.check_sums()
    return capture, json.loads(log.read_text())


# All that a frame can be: functions, methods, closures, lambdas, comprehensions, generators,
# coroutines, calls from C, recursion, code made at run time, other alphabets, other threads.
FRAMES = """
import asyncio, functools
class Layer:
    def __call__(self, depth):
        return self.forward(depth)
    def forward(self, depth):
        if depth: self(depth - 1)
        else: launch()
Layer()(3)
def generator():
    for _ in range(2):
        launch(); yield
def delegating():
    yield from generator()
list(delegating())
(lambda: launch(1))()
[launch(2) for _ in range(2)]
async def inner():
    await asyncio.sleep(0); launch()
async def outer():
    await asyncio.gather(inner(), inner())
asyncio.run(outer())
sorted([1, 2], key=lambda item: [launch(), item][1])
functools.reduce(lambda a, b: launch(), [1, 2, 3])
back = ctypes.CFUNCTYPE(None)(lambda: launch())
back()
def größe_δ():
    launch()
größe_δ()
for line in range(200):
    exec(compile("\\n" * line + "launch()", f"<made {line % 7}>", "exec"))
exec(compile("def \U0001d4bb(): launch()\\n\U0001d4bb()", "/tmp/\u65e5\u672c.py", "exec"))
def many(
    *arguments
):
    return (
        launch(),
        [
            launch()
            for _ in range(1)
        ],
    )
many(1,
     2)
threads = [threading.Thread(target=lambda: [launch() for _ in range(50)]) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
try:
    raise ValueError
except ValueError:
    launch()
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_launch_has_the_stack_that_python_tells(
    capturer: Capturer, tmp_path: Path, version: str
) -> None:
    capture, logged = run(capturer, tmp_path, version, FRAMES)
    assert len(logged) > 400
    assert read(capture) == logged
    assert {row["state"] for row in capture.rows("launch_stack")} == {"whole"}
