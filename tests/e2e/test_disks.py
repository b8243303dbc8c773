"""Captures on a disk that is slow, and captures that are killed while they are finished."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.endings import verdict_and_kernels

import cupti_etl
from cupti_etl.storage.recovery import recover

pytestmark = pytest.mark.slow

RECORDING = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
# Kills itself before the disk does something for the n-th time; prints how often it did.  That is
# always the same, as nothing is written because time has passed.
KILLED = """
import os, runpy, signal, sys
from cupti_etl.storage import disk, parts
from cupti_etl.storage.destination import Destination
Destination.interval_s = lambda destination, age_s: 3600
left, done = int(sys.argv.pop(1)), 0
def counted(real):
    def do(*args):
        global done
        done += 1
        if done == left:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args)
    return do
disk.rename, disk.write = counted(disk.rename), counted(disk.write)
disk.sync, parts.exchange = counted(disk.sync), counted(parts.exchange)
try:
    runpy.run_module("cupti_etl", run_name="__main__")
finally:
    print(done)
"""


def replay(out: Path, killed_at: int, *options: str) -> subprocess.CompletedProcess[str]:
    words = [str(killed_at), "replay", str(RECORDING), "-o", str(out), *options]
    return subprocess.run(
        [sys.executable, "-c", KILLED, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, int]:
    """How often the disk is asked for something, and how many kernels there are."""
    out = tmp_path_factory.mktemp("whole") / "trace"
    done = replay(out, 0)
    assert done.returncode == 0, done.stderr
    verdict, kernels = verdict_and_kernels(out)
    assert "so far" not in verdict
    return int(done.stdout.splitlines()[-1]), kernels


# Counted from the last: the commit itself, what comes before it, and so on.
@pytest.mark.parametrize("before_the_end", [1, 3, 6, 10, 15, 20])
def test_killed_at_its_end(tmp_path: Path, whole: tuple[int, int], before_the_end: int) -> None:
    out = tmp_path / "trace"
    asked, all_kernels = whole
    assert replay(out, asked - before_the_end).returncode == -9
    verdict, kernels = verdict_and_kernels(out)
    # The last thing is to bring the names to the disk: they are there for who can see.
    if before_the_end > 1:
        assert verdict.endswith("so far")
    recover(out)
    verdict, recovered = verdict_and_kernels(out)
    assert recovered >= kernels
    assert "so far" not in verdict
    assert "complete" not in verdict or recovered == all_kernels


def test_no_fsync(tmp_path: Path, whole: tuple[int, int]) -> None:
    out = tmp_path / "trace"
    done = replay(out, 0, "--no-fsync")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) < whole[0]
    assert verdict_and_kernels(out)[1] == whole[1]
    assert (out / "manifest.json").exists()
