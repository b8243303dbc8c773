"""The examples of the page about callbacks run, on the fakes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.captures import PACKAGES, Capturer
from support.fakes import CUPTI_13, Fakes

import cupti_etl

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "callbacks.md"
PRELUDE = """
import ctypes, json, sys, time
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
driver.fakeMemcpy.argtypes = driver.fakeMalloc.argtypes = ctypes.c_uint32, ctypes.c_uint64
driver.fakeMalloc.argtypes = ctypes.c_uint64,
driver.cuInit(0)
def train():
    for _ in range(30):
        driver.fakeLaunch(1, 5, 0)
        driver.fakeMemcpy(1, 100)
        driver.fakeMalloc(1 << 31)
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_functions_get_what_the_page_says(fakes: Fakes, tmp_path: Path) -> None:
    env = {**os.environ, **fakes.env(CUPTI_13), "PYTHONPATH": str(PACKAGES)}
    env["CUPTI_ETL_CUPTI"] = str(fakes.cupti(CUPTI_13))
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + "".join(blocks("python"))],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first == "60"  # launches and copies
    assert others[-31] == "180 0 0"  # three calls of the runtime, thirty times
    assert others[-30:] == ["cuMemAlloc_v2 2147483648 None"] * 30


@pytest.fixture
def capturer(fakes: Fakes, tmp_path: Path) -> Capturer:
    return Capturer(fakes, tmp_path)


def test_the_command_and_the_statement(capturer: Capturer) -> None:
    (command,) = [line for line in blocks("sh")[0].splitlines() if "--callbacks" in line]
    chosen = re.search(r"--callbacks (\S+)", command)
    assert chosen
    done = capturer.run(CUPTI_13, ["--callbacks", chosen[1]], launches=20, copy_every=5)
    assert done.status == 0, done.stderr
    with cupti_etl.open(done.trace) as trace:
        (statement,) = blocks("sql")
        assert trace.sql(statement).count() == 5
        summary = {row["function"]: row["calls"] for row in trace.query("callback_summary")}
        assert summary == {"cuLaunchKernel": 20, "cuMemcpyAsync": 4}
