"""What befalls the program, the collector and the disk in the middle of a capture."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.captures import Capture, Capturer, running
from support.fakes import KERNEL
from support.waiting import wait_for

CUPTI = "13.5.25"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_program_that_is_killed_at_any_moment(
    capturer: Capturer, tmp_path: Path, seed: int
) -> None:
    """What was published is stored; what was not is said to be lost, and since when."""
    words, env, trace, log = capturer.prepare(
        CUPTI, ["--flush-ms", "5"], launches=3_000_000, threads=2, rate=20_000
    )
    with running(words, env, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        # On a busy machine the first flush can be long in coming.
        while not (found := capturer.fakes.log(log)).delivered(KERNEL):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(random.Random(seed).uniform(0.05, 0.5))
        os.kill(found[0].pid, signal.SIGKILL)
        _, stderr = process.communicate(timeout=120)
    done = subprocess.CompletedProcess(words, process.returncode, "", stderr)
    capture = Capture(trace, done, capturer.fakes.log(log))
    assert capture.status == 137
    (row,) = capture.rows("process")
    assert row["state"] == "killed"
    assert 0 < capture.count("kernel") <= capture.log.delivered(KERNEL)
    assert row["stored"] <= row["emitted"]
    (loss,) = capture.losses()["killed"]
    assert loss["records"] is None
    # Two flush intervals at most, and what a busy machine adds.
    assert 0 < loss["end_ns"] - loss["start_ns"] < 3e9
    last = max(kernel["end_ns"] for kernel in capture.rows("kernel"))
    assert last <= loss["end_ns"]


@pytest.mark.slow
def test_a_collector_without_memory(capturer: Capturer, tmp_path: Path) -> None:
    """It says so and ends in order; the program runs as it would."""
    start, ready = tmp_path / "start", tmp_path / "ready"
    capturer.trace_duckdb = True
    words, env, trace, log = capturer.prepare(
        CUPTI, launches=400_000, names=64, start=start, ready=ready
    )
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_for(trace / "trace.duckdb")  # what it needs once is there
        # What it may write to.  Its addresses are no measure: each thread's heap has taken
        # more of them than it uses.
        status = Path(f"/proc/{process.pid}/status").read_text()
        used = int(status.split("VmData:")[1].split()[0]) * 1024
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (used, used))
        start.touch()
        wait_for(ready)
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1, stderr
    assert "memory" in stderr
    assert "Traceback" not in stderr
    (program,) = capturer.fakes.log(log)
    assert program.ended


def test_a_folder_that_is_removed_under_way(capturer: Capturer, tmp_path: Path) -> None:
    start, ready = tmp_path / "start", tmp_path / "ready"
    words, env, trace, log = capturer.prepare(CUPTI, launches=50_000, start=start, ready=ready)
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_for(trace / "kernel")
        while not list(log.glob("*.counters")):
            time.sleep(0.005)
        while trace.exists():  # parts are being made meanwhile
            shutil.rmtree(trace, ignore_errors=True)
        start.touch()
        wait_for(ready)
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1, stderr
    assert "Traceback" not in stderr
    assert "cannot be written" in stderr or "No such file" in stderr
    assert capturer.fakes.log(log)[0].ended


@pytest.mark.slow
def test_a_disk_that_fills_up(capturer: Capturer, tmp_path: Path) -> None:
    """Parts that were written stay whole; the program ends as it would have."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    mount = ["unshare", "-m", "sh", "-c"]
    small = f"mount -t tmpfs -o size=1m none {disk}"
    if shutil.which("unshare") is None or subprocess.run([*mount, small], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    start = tmp_path / "start"
    words, env, _, log = capturer.prepare(
        CUPTI, launches=400_000, streams=4, print="done", start=start
    )
    words[words.index("-o") + 1] = str(disk / "trace")
    # How small kernels become depends on how many come at once: the disk is full before the first.
    text = (
        f'{small} || exit 99; "$@" & capture=$!;'
        f" until [ -e {disk}/trace/kernel ] || ! kill -0 $capture; do sleep 0.05; done;"
        f" cat /dev/zero > {disk}/filler 2> /dev/null; touch {start};"
        f" wait $capture; status=$?; cp -r {disk}/trace {kept}; exit $status"
    )
    done = subprocess.run(
        [*mount, text, "sh", *words],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    capture = Capture(kept, done, capturer.fakes.log(log))
    assert capture.status == 1, capture.stderr
    assert capture.stdout == "done\n"
    assert "No space left on device" in capture.stderr
    assert "Traceback" not in capture.stderr
    assert capture.log.delivered(KERNEL) == 400_000
    # A part is there whole or not at all.
    assert capture.count("kernel") < 400_000
