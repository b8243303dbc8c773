"""Waiting for what happens in another process, and not for a time in which it may."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait until something holds.

    Whoever waits for long is on a busy machine; only a fault makes it wait in vain.

    Raises:
        AssertionError: it did not become so.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.005)


def wait_for(path: Path) -> None:
    """Wait until a file exists."""
    wait_until(path.exists)


def wait_until_worked(pid: int, seconds: float) -> None:
    """Wait until a process has used so many more seconds of processors."""
    enough = _cpu_seconds(pid) + seconds
    wait_until(lambda: _cpu_seconds(pid) >= enough, 120)


def is_pending(pid: int, number: int) -> bool:
    """Whether a signal was sent to a process that has not taken it yet."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    masks = [line.split()[1] for line in lines if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def _cpu_seconds(pid: int) -> float:
    """Of user and system, as proc(5) says; the name before them may hold anything."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
