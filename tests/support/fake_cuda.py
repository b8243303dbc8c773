"""A program to trace that is Python: it calls the fake driver itself, between other things.

For what a program can do that the fake program has no option for.
"""

from __future__ import annotations

import sys

from support.flushed import FLUSHED

PRELUDE = f"""{FLUSHED}
import ctypes, os, sys, time
from pathlib import Path

def cuda():
    global driver
    driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    assert driver.cuInit(0) == 0

def launch(count=1, name=0):
    for _ in range(count):
        assert driver.fakeLaunch(0, name, 0) == 0

def wait_for(path):
    while not Path(path).exists():
        time.sleep(0.005)
"""


def script(text: str) -> list[str]:
    """The command line of a program that has ``cuda``, ``launch``, ``flushed`` and ``wait_for``."""
    return [sys.executable, "-c", PRELUDE + text]
