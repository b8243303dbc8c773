"""How a Python program ends: what CUPTI still holds then is in the trace all the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.captures import Capturer
from support.fake_cuda import PRELUDE, script

SELDOM = ["--flush-ms", 60_000]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError", 1),
        # Python ends itself, and is then killed by the signal, so that its parent sees that.
        ("import signal; signal.raise_signal(signal.SIGINT)", 130),
        ("raise KeyboardInterrupt", 130),
    ],
)
def test_nothing_is_lost(capturer: Capturer, end: str, status: int) -> None:
    program = script(f"cuda()\nlaunch(30)\n{end}")
    capture = capturer.run(options=SELDOM, command=program)
    assert capture.status == status
    assert capture.count("kernel") == 30
    assert capture.losses() == {}
    assert [row["state"] for row in capture.rows("process")] == ["finished"]


def child(folder: Path, method: str, work: str) -> list[str | Path]:
    """A program that has a child of multiprocessing do something, which ends by ``_exit``."""
    program = folder / "program.py"
    program.write_text(
        f"{PRELUDE}\n"
        "import multiprocessing, multiprocessing.util, threading\n"
        "def work():\n"
        f"    {work}\n"
        "if __name__ == '__main__':\n"
        f"    child = multiprocessing.get_context({method!r}).Process(target=work)\n"
        "    child.start(); child.join(); sys.exit(child.exitcode)\n"
    )
    return [sys.executable, program]


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_nothing_of_a_child_is_lost(capturer: Capturer, tmp_path: Path, method: str) -> None:
    capture = capturer.run(options=SELDOM, command=child(tmp_path, method, "cuda(); launch(30)"))
    assert capture.status == 0
    assert capture.count("kernel") == 30
    assert capture.losses() == {}
    assert [row["state"] for row in capture.rows("process")] == ["finished"]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="a child ends its threads first there")
@pytest.mark.parametrize("count", [0, 1])
def test_what_a_thread_does_later_is_lost(capturer: Capturer, tmp_path: Path, count: int) -> None:
    """The child waits for its threads after all of its finalizers, ours among them."""
    work = (
        "cuda(); launch(30); last = threading.Event()\n"
        f"    threading.Thread(target=lambda: (last.wait(), launch({count}))).start()\n"
        "    multiprocessing.util.Finalize(None, last.set, exitpriority=-2_000_000_000)"
    )
    capture = capturer.run(options=SELDOM, command=child(tmp_path, "fork", work))
    assert capture.count("kernel") == 30
    assert list(capture.losses()) == ["killed"] * count
    state = "killed" if count else "finished"
    assert [row["state"] for row in capture.rows("process")] == [state]


@pytest.mark.parametrize(("method", "kernels"), [("fork", 30), ("spawn", 0)])
def test_only_who_never_exits_is_flushed(
    capturer: Capturer, tmp_path: Path, method: str, kernels: int
) -> None:
    """What is still running would be stored without its end; a spawned child goes on to exit()."""
    work = (
        "cuda(); launch(30)\n"
        "    kill = (os.getpid(), 9)\n"
        "    multiprocessing.util.Finalize(None, os.kill, kill, exitpriority=-2_000_000_000)"
    )
    capture = capturer.run(options=SELDOM, command=child(tmp_path, method, work))
    assert capture.count("kernel") == kernels
    assert list(capture.losses()) == ([] if kernels else ["killed"])


@pytest.mark.slow
def test_a_driver_that_hangs_is_given_up(capturer: Capturer) -> None:
    capture = capturer.run(fake={"slow_ms": 8000}, command=script("cuda()\nlaunch(10)"))
    assert list(capture.losses()) == ["not_flushed"]
    assert capture.status == 0
