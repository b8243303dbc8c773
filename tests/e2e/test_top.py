"""``cupti-etl top`` with the fake program: what it shows, keys, signals, what is left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.captures import Capture, Capturer, running
from support.fake_cuda import script
from support.terminal import terminal
from support.waiting import wait_until

pytest.importorskip("textual", reason="the extra top is not installed")

# Goes on until it is told to stop.
ENDLESS = """
cuda()
print("hello", flush=True)
try:
    while not os.path.exists({stop!r}):
        launch(5, 1); time.sleep(0.002)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(9)
print("bye", flush=True)
sys.exit(7)
"""


class Shown:
    """A command under ``top``."""

    def __init__(self, capturer: Capturer, options: Sequence[str] = (), text: str = "") -> None:
        self.stop = capturer.folder / "stop"
        command = script(text or ENDLESS.format(stop=str(self.stop)))
        self._capturer = capturer
        words, self.env, self.trace, self._log = capturer.prepare(
            "13.5.25", list(options), command=command
        )
        self.words = ["top" if word == "capture" else word for word in words]
        self.output = self.trace.with_name(f"{self.trace.name}.output")

    def check(self, status: int) -> None:
        """See that the trace is whole."""
        done = subprocess.CompletedProcess([], status, "", "")
        Capture(self.trace, done, self._capturer.fakes.log(self._log)).check_sums()


@pytest.mark.slow
def test_a_command_and_its_end(capturer: Capturer) -> None:
    run = Shown(capturer)
    with terminal(run.words, run.env) as screen:
        screen.wait_for("recording")
        screen.wait_for("Kernels by")
        run.stop.touch()
        screen.wait_for("finished after")
        screen.press("q")
        assert screen.process.wait() == 7  # as capture does
        assert screen.is_as_before()
    last = screen.shown.rpartition("\x1b[?1049l")[2]
    assert f"trace in {run.trace}" in last
    assert f"output of the command in {run.output}" in last
    # Off the screen, but not lost.
    assert "hello" not in screen.shown.rpartition("\x1b[?1049l")[0]
    assert run.output.read_text().splitlines()[:2] == ["hello", "bye"]
    run.check(7)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ctrl+c", "SIGINT", "q and SIGINT"])
def test_an_interrupt_reaches_the_command_once(capturer: Capturer, how: str) -> None:
    run = Shown(capturer)
    with terminal(run.words, run.env) as screen:
        screen.wait_for("Kernels by")
        if how == "ctrl+c":
            screen.press("\x03")
        else:
            if how == "q and SIGINT":
                screen.press("q")
                screen.wait_for("the command goes on")
            screen.process.send_signal(signal.SIGINT)
        assert screen.process.wait() == 9
        assert screen.is_as_before()
    assert run.output.read_text().splitlines()[:2] == ["hello", "interrupted"]
    run.check(9)


@pytest.mark.slow
def test_a_command_that_does_not_end_at_once(capturer: Capturer) -> None:
    stop = capturer.folder / "stop"
    text = ENDLESS.format(stop=str(stop)).replace("sys.exit(9)", f"wait_for({str(stop)!r})")
    run = Shown(capturer, text=text)
    with terminal(run.words, run.env) as screen:
        screen.wait_for("Kernels by")
        screen.press("\x03")
        screen.wait_for("waiting until the command has ended")
        run.stop.touch()
        assert screen.process.wait() == 7


@pytest.mark.slow
def test_a_command_that_fails_while_it_is_shown(capturer: Capturer) -> None:
    run = Shown(capturer)
    with terminal(run.words, run.env) as screen:
        screen.wait_for("Kernels by")
        run.stop.touch()
        screen.wait_for("the command ended with status 7; q shows its last lines")
        screen.press("q")
        assert screen.process.wait() == 7


@pytest.mark.slow
def test_a_signal_that_ends(capturer: Capturer) -> None:
    run = Shown(capturer)
    with terminal(run.words, run.env) as screen:
        screen.wait_for("Kernels by")
        screen.process.send_signal(signal.SIGTERM)
        assert screen.process.wait() == 128 + signal.SIGTERM
        assert screen.is_as_before()
    assert (run.trace / "capture" / "part-000000.parquet").exists()


@pytest.mark.slow
def test_it_may_be_left(capturer: Capturer) -> None:
    run = Shown(capturer)
    with terminal(run.words, run.env) as screen:
        screen.wait_for("Kernels by")
        screen.press("q")
        screen.wait_for("the command goes on; Ctrl-C interrupts it")
        run.stop.touch()
        assert screen.process.wait() == 7
    run.check(7)


@pytest.mark.slow
def test_a_command_that_never_uses_cuda(capturer: Capturer) -> None:
    run = Shown(capturer, text="print('no GPU here')")
    with terminal(run.words, run.env) as screen:
        assert screen.process.wait() == 3
        assert screen.is_as_before()
    last = screen.shown.rpartition("\x1b[?1049l")[2]
    assert "no GPU here" in last
    assert "without initialising CUDA" in last


@pytest.mark.slow
def test_an_option_that_capture_does_not_have(capturer: Capturer) -> None:
    run = Shown(capturer, ["--no-such-option"])
    with terminal(run.words, run.env) as screen:
        assert screen.process.wait() == 2
    assert "--no-such-option" in screen.shown


@pytest.mark.slow
def test_a_trace_that_grows_and_a_reader_that_leaves(capturer: Capturer) -> None:
    """``top TRACE`` on a capture of somebody else's; Ctrl-C ends the view alone."""
    run = Shown(capturer)
    words = ["capture" if word == "top" else word for word in run.words]
    view = [sys.executable, "-m", "cupti_etl", "top", str(run.trace)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(words, run.env, **streams) as process:
        wait_until(lambda: any(run.trace.glob("kernel/part-000001.parquet")))
        once = subprocess.run(
            [*view, "--once", "--format", "json"], env=run.env, capture_output=True, check=True
        )
        reading = json.loads(once.stdout)
        assert reading["state"] == "recording"
        assert sum(gpu["kernels"] for gpu in reading["gpus"]) > 0
        with terminal(view, run.env) as screen:
            screen.wait_for("recording")
            screen.press("\x03")
            assert screen.process.wait() == 0
            assert screen.is_as_before()
        assert process.poll() is None
        with terminal(view, run.env) as screen:
            screen.wait_for("recording")
            run.stop.touch()
            screen.wait_for("finished after")
            screen.process.send_signal(signal.SIGTERM)
            assert screen.process.wait() == 128 + signal.SIGTERM
            assert screen.is_as_before()
        process.communicate()
    assert process.returncode == 7


def test_only_a_folder_is_shown(capturer: Capturer, tmp_path: Path) -> None:
    run = Shown(capturer, ["-o", str(tmp_path / "run.duckdb")])
    with terminal(run.words, run.env) as screen:
        assert screen.process.wait() == 2
    assert "give -o FOLDER" in screen.shown
    assert list(tmp_path.glob("run*")) == []


def test_nothing_is_overwritten(capturer: Capturer) -> None:
    run = Shown(capturer)
    run.output.write_text("of another day")
    with terminal(run.words, run.env) as screen:
        assert screen.process.wait() == 2
    assert "exists already" in screen.shown
    assert run.output.read_text() == "of another day"
    assert not run.trace.exists()
