"""The flight recorder: nothing is written until a trigger fires, and then what led to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.captures import Capture, Capturer, running, table, wait_until_collected
from support.fake_cuda import script
from support.fakes import CUPTI_13
from support.waiting import wait_for, wait_until

import cupti_etl

pytestmark = pytest.mark.slow

FLIGHT = ("--flight-recorder", "1h", "--flight-after", "0")


def traces(capture_or_folder: Capture | Path) -> list[Path]:
    folder = getattr(capture_or_folder, "trace", capture_or_folder)
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())


def is_whole(trace: Path) -> bool:
    return [row["end_ns"] is not None for row in table(trace, "capture").to_pylist()] == [True]


def fired(trace: Path) -> list[tuple[str, bool]]:
    return [(row["trigger"], row["is_first"]) for row in table(trace, "flight_trigger").to_pylist()]


def verdict(trace: Path) -> str:
    with cupti_etl.open(trace) as opened:
        (row,) = opened.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
    return str(row["subject"])


def recover(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "cupti_etl", "recover", str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def run_until_told(
    capturer: Capturer, during: Callable[[subprocess.Popen[str], Path], Any], *options: str
) -> Capture:
    """A program that launches ten kernels and waits; what ``during`` does, it does meanwhile."""
    stop, ready = capturer.folder / "stop", capturer.folder / "ready"
    text = (
        f"cuda(); launch(10, 1); open({str(ready)!r}, 'w'); wait_for({str(stop)!r})\nlaunch(5, 2)"
    )
    words, env, trace, log = capturer.prepare(CUPTI_13, [*FLIGHT, *options], command=script(text))
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_for(ready)
        wait_until_collected(log)
        during(process, trace)
        stop.touch()
        _, stderr = process.communicate(timeout=120)
    done = subprocess.CompletedProcess(words, process.returncode, "", stderr)
    return Capture(trace, done, capturer.fakes.log(log))


def test_without_a_trigger_nothing_is_left(capturer: Capturer) -> None:
    capture = capturer.run(options=FLIGHT, launches=100)
    assert capture.status == 0, capture.stderr
    assert not capture.trace.exists()
    assert "no trigger fired, so nothing was written" in capture.stderr


def test_exit_status(capturer: Capturer) -> None:
    capture = capturer.run(options=FLIGHT, command=script("cuda(); launch(20); sys.exit(7)"))
    assert capture.status == 7
    assert "trigger exit!=0: the command exited with 7" in capture.stderr
    (trace,) = traces(capture)
    assert trace.name == "001-exit"
    assert table(trace, "kernel").num_rows == 20
    assert fired(trace) == [("exit!=0", True)]
    assert verdict(trace) == "complete"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_program_that_is_killed(capturer: Capturer, number: int) -> None:
    """By itself, once all that it did has been flushed."""
    text = f"cuda(); launch(20); flushed(); os.kill(os.getpid(), {number})"
    capture = capturer.run(options=FLIGHT, command=script(text))
    assert capture.status == 128 + number
    (trace,) = traces(capture)
    assert [what for what, _ in fired(trace)] == ["exit!=0", "exit!=0"]
    assert [row["cause"] for row in table(trace, "loss").to_pylist()] == ["killed"]
    assert "killed" in verdict(trace)


def test_signal(capturer: Capturer) -> None:
    made = []

    def during(process: subprocess.Popen[str], folder: Path) -> None:
        assert traces(folder) == []
        # What the program has done reaches the collector with the next flush.
        while not (made and table(made[-1], "kernel").num_rows):
            process.send_signal(signal.SIGUSR2)
            wait_until(lambda: len(traces(folder)) > len(made) and is_whole(traces(folder)[-1]))
            made[:] = traces(folder)
        # It is whole while the program goes on.
        assert table(made[-1], "process")["state"].to_pylist() == ["running"]

    capture = run_until_told(capturer, during)
    assert capture.status == 0, capture.stderr
    assert traces(capture) == made
    assert made[0].name == "001-signal"
    assert table(made[-1], "kernel").num_rows == 10
    assert verdict(made[-1]) == "complete"
    assert f"{len(made)} trace" in capture.stderr
    assert json.loads((capture.trace / "flight-recorder.json").read_text())["is_over"]


def test_a_trigger_while_a_trace_is_written(capturer: Capturer) -> None:
    def during(process: subprocess.Popen[str], folder: Path) -> None:
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: traces(folder) and fired(traces(folder)[0]))
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: len(fired(traces(folder)[0])) == 2)

    capture = run_until_told(capturer, during, "--flight-after", "1h", "--roll", "1s")
    (trace,) = traces(capture)
    assert fired(trace) == [("signal", True), ("signal", False)]
    # What came after the trigger is there, too.
    assert table(trace, "kernel").num_rows == 15
    assert verdict(trace) == "complete"
    assert table(trace, "process")["state"].to_pylist() == ["finished"]


def test_a_collector_that_is_killed_while_it_writes(capturer: Capturer) -> None:
    stop = capturer.folder / "stop"
    text = f"cuda(); launch(10, 1); wait_for({str(stop)!r})"
    options = [*FLIGHT[:2], "--flight-after", "1h", "--roll", "1s"]
    words, env, folder, log = capturer.prepare(CUPTI_13, options, command=script(text))
    with running(words, env, stderr=subprocess.DEVNULL) as process:
        wait_until_collected(log)
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: traces(folder) and table(traces(folder)[0], "kernel").num_rows == 10)
        busy = recover(folder)
        assert (busy.returncode, "being written" in busy.stderr) == (2, True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = recover(folder)
        stop.touch()
    assert done.returncode == 0, done.stderr
    assert "001-signal is whole again; 1 process was being traced" in done.stderr
    assert "what it had in memory is gone; `cupti-etl resume PID`" in done.stderr
    (trace,) = traces(folder)
    assert [row["cause"] for row in table(trace, "loss").to_pylist()] == ["collector_killed"]
    assert fired(trace) == [("signal", True)]
    again = recover(folder)
    assert "finished already" in again.stderr
    assert "gone" not in again.stderr


def test_hang(capturer: Capturer) -> None:
    def during(process: subprocess.Popen[str], folder: Path) -> None:
        wait_until(lambda: traces(folder) and is_whole(traces(folder)[0]))

    capture = run_until_told(capturer, during, "--trigger", "hang>1s")
    trace, *others = traces(capture)
    assert others == []
    assert trace.name == "001-hang"
    assert table(trace, "kernel").num_rows == 10
    assert "made no record for 1 s" in capture.stderr


def test_nvtx(capturer: Capturer) -> None:
    capture = capturer.run(
        options=[*FLIGHT, "--trigger", "nvtx:step"],
        launches=64, range_every=16, range_gap=16, range_name="step",
    )  # fmt: skip
    assert capture.status == 0, capture.stderr
    trace = traces(capture)[0]
    assert trace.name == "001-nvtx"
    assert table(trace, "kernel").num_rows > 0
    assert verdict(trace) == "complete"
    other = capturer.run(
        options=[*FLIGHT, "--trigger", "nvtx:ste"], launches=64, range_every=16, range_name="step"
    )
    assert not other.trace.exists()


def test_what_is_older_is_not_kept_and_is_no_loss(capturer: Capturer) -> None:
    """Of a program that goes on until what it did first has been dropped."""
    options = ("--flight-recorder", "1ms", "--flight-after", "0")
    stop = capturer.folder / "stop"
    text = f"""
cuda(); launch(50, 1)
while not os.path.exists({str(stop)!r}):
    launch(1, 2); time.sleep(0.01)
sys.exit(1)
"""
    words, env, folder, log = capturer.prepare(CUPTI_13, options, command=script(text))
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_until_collected(log)
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: traces(folder) and is_whole(traces(folder)[-1]))

        def is_dropped() -> bool:
            trace = traces(folder)[-1]
            if not is_whole(trace):
                return False
            rows = table(trace, "discarded").to_pylist()
            if any(row["table_name"] == "kernel" and row["rows"] >= 50 for row in rows):
                return True
            process.send_signal(signal.SIGUSR2)
            return False

        wait_until(is_dropped)
        stop.touch()
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    last = traces(folder)[-1]
    (row,) = [r for r in table(last, "discarded").to_pylist() if r["table_name"] == "kernel"]
    assert row["reason"] == "age"
    # All that ended later is there, and no loss is known.
    assert table(last, "capture")["start_ns"].to_pylist()[0] >= row["end_ns"]
    assert table(last, "loss").num_rows == 0
    assert verdict(last).startswith("complete; not kept: age ")
    # The GPU is described, however long ago it was.
    assert table(last, "device").num_rows == 1
    assert "older rows not kept" in stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--flight-recorder", "0"], "--flight-recorder 0 would keep nothing"),
        (["--flight-recorder", "soon"], "'soon' is not a duration"),
        (["--trigger", "signal"], "go with --flight-recorder"),
        ([*FLIGHT, "--trigger", "crash"], "--trigger 'crash' is no trigger"),
        ([*FLIGHT, "--trigger", "nvtx:"], "is no trigger"),
        ([*FLIGHT, "--trigger", "slow-step>1x"], "every second step is slower"),
        ([*FLIGHT, "--trigger", "hang>0s"], "would fire at once"),
        ([*FLIGHT, "--trigger", "hang>long"], "'long' is not a duration"),
        ([*FLIGHT, "--kinds", "light", "--trigger", "nvtx:a"], "looks at marker, which --kinds"),
        ([*FLIGHT, "--flight-memory", "1kB"], "is too little"),
        ([*FLIGHT, "--max-rows", "5"], "does not go with --max-rows"),
        (["--flight-recorder", "1s", "-o", "x.duckdb"], "writes a folder for each trigger"),
    ],
)
def test_nonsense_is_refused(options: list[str], sentence: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "cupti_etl", "capture", *options, "--", "true"]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []
