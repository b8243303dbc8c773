"""A program that goes on when its window has been closed."""

from __future__ import annotations

import subprocess

from support.captures import Capture, Capturer, running, table
from support.fake_cuda import script
from support.fakes import kernel_name
from support.waiting import wait_until


def kernels_are_inside(capture: Capture) -> None:
    """Between the begin of switching on and the end of switching off, however long they took."""
    spans = [
        (w["start_ns"] - w["switch_on_ns"], w["end_ns"] + w["switch_off_ns"])
        for w in capture.rows("capture_window")
    ]
    for row in capture.rows("kernel"):
        assert any(a <= row["start_ns"] <= b for a, b in spans), (row, spans)


def run_until_windows(capturer: Capturer, count: int, *options: str, then: str = "") -> Capture:
    """A program that launches until so many windows are closed, which the trace says.

    Args:
        then: what it does after that, in Python.
    """
    stop = capturer.folder / "stop"
    text = f"""
cuda()
while not os.path.exists({str(stop)!r}):
    launch(5, 1); driver.fakeSynchronize(); time.sleep(0.002)
{then}
"""
    words, env, trace, log = capturer.prepare("13.5.25", options, command=script(text))
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_until(lambda: table(trace, "capture_window").num_rows >= count)
        stop.touch()
        _, stderr = process.communicate(timeout=120)
    done = subprocess.CompletedProcess(words, process.returncode, "", stderr)
    capture = Capture(trace, done, capturer.fakes.log(log))
    assert capture.status == 0, stderr
    return capture


def run_past_the_window(capturer: Capturer, *options: str) -> Capture:
    """A program that launches until its window is closed, and goes on."""
    capture = run_until_windows(capturer, 1, *options, then="launch(500, 2)")
    # What was launched when the window was closed is not there.
    assert {row["name"] for row in capture.rows("kernel")} == {kernel_name(1)}
    kernels_are_inside(capture)
    capture.check_sums()
    return capture
