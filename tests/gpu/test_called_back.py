"""The checks of callbacks on a GPU: on the fakes they hold, and what is amiss is seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.captures import PACKAGES
from support.fakes import CUPTI_13, Fakes

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "gpu"
# The program of the acceptance, whose kernels are the fake driver's.
PROGRAM = """
import ctypes, sys
import called_back

LIBRARY = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
LIBRARY.fakeMemcpy.argtypes = ctypes.c_uint32, ctypes.c_uint64
LIBRARY.fake_kernel_name.restype = ctypes.c_char_p

class Driver:
    def __init__(self):
        LIBRARY.cuInit(0)
        self.streams = 5
    def synchronize(self):
        LIBRARY.fakeSynchronize()
    def create_stream(self):
        self.streams += 1
        LIBRARY.fakeLaunch(self.streams, 0, 0)

class Launcher(called_back.Launcher):
    def __init__(self):
        self.driver = Driver()
    def one(self, grid, block, shared):
        LIBRARY.fakeLaunch(shared // 16, grid - 1, 0)
    def launch(self, count):
        launched = []
        for number in range(count):
            grid, stream = 1 + number % 97, number % 5
            self.one(grid, 128, 16 * stream)
            name = LIBRARY.fake_kernel_name(grid - 1).decode()
            launched.append((grid + AMISS, 128, 16 * stream, stream * 0x1000, name))
        return launched
    def copy(self):
        for size in called_back.COPIES:
            LIBRARY.fakeMemcpy(0, size)
        return [(None, size, 0x7F0000002000, 0x7F0000001000 + AMISS) for size in called_back.COPIES]

# The fake CUPTI's kernels have sizes of their own.
called_back.Checks._agreeing = lambda self, run: run.trace.sql("FROM callback_event").count()
called_back.Launcher = Launcher
called_back.main()
"""


def run(
    fakes: Fakes, folder: Path, amiss: int, what: str = "exact", *options: str
) -> dict[str, Any]:
    """What the program wrote."""
    env = {**os.environ, **fakes.env(CUPTI_13, log=folder / "log")}
    env["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), str(SCRIPTS)])
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        env.pop(name, None)
    cupti = str(fakes.cupti(CUPTI_13))
    words = [sys.executable, "-c", f"AMISS = {amiss}\n{PROGRAM}", what, folder / "out.json"]
    done = subprocess.run(
        [*words, "--cupti", cupti, *options], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return found


@pytest.mark.parametrize("records", ["fixed", "selected"])
def test_nothing_is_wrong_where_nothing_is(fakes: Fakes, tmp_path: Path, records: str) -> None:
    assert run(fakes, tmp_path, 0, "exact", "--records", records)["wrong"] == []


def test_other_arguments_are_seen(fakes: Fakes, tmp_path: Path) -> None:
    wrong = run(fakes, tmp_path, 1)["wrong"]
    for words in ("batches: 5000 launches", "in line: launches", "beside: 5000", "table: 5000"):
        assert any(one.startswith(words) for one in wrong), wrong
    assert any(one.startswith("copies: ") for one in wrong)


def test_a_price_is_named(fakes: Fakes, tmp_path: Path) -> None:
    found = run(fakes, tmp_path, 0, "price")
    assert found["us_per_launch"].keys() == {"plain", "batches", "in line"}
    assert found["us_more_than_plain"].keys() == {"batches", "in line"}
