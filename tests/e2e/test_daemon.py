"""A daemon that collects from programs that know its address and nothing else of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.captures import PACKAGES, running, table, wait_until_collected
from support.endings import verdict_and_kernels
from support.fake_cuda import script
from support.fakes import CUPTI_13, Fakes
from support.waiting import wait_for, wait_until

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import inject_library_path


class Node:
    """A machine with a daemon, and programs that are started on it."""

    def __init__(self, fakes: Fakes, home: Path) -> None:
        self.fakes = fakes
        self.home = home
        self.out = home / "traces"
        self.socket = home / "run" / "socket"
        self._logs = 0

    def words(self, *options: str) -> list[str]:
        given = ["-o", str(self.out), "--socket", str(self.socket), "--roll", "1s", *options]
        return [sys.executable, "-m", "cupti_etl", "daemon", *given]

    def env(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(PACKAGES)}

    @contextmanager
    def daemon(self, *options: str) -> Iterator[subprocess.Popen[str]]:
        """One that listens."""
        with running(self.words(*options), self.env(), stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            assert any("listening at" in line for line in iter(process.stderr.readline, ""))
            yield process

    def end(self, process: subprocess.Popen[str]) -> str:
        """End it in order; returns what it said."""
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        return stderr

    def program(self, command: list[str]) -> tuple[list[str], dict[str, str], Path]:
        """A command with the variables of the daemon, as others would start it."""
        self._logs += 1
        log = self.home / f"log{self._logs}"
        said = subprocess.run(
            self.words("--environment"), env=self.env(), capture_output=True, text=True, check=True
        )
        ours = dict(line.split("=", 1) for line in said.stdout.splitlines())
        return command, {**os.environ, **self.fakes.env(CUPTI_13, log=log), **ours}, log

    def run(self, command: list[str]) -> int:
        words, env, _ = self.program(command)
        return subprocess.run(words, env=env, check=False, timeout=120).returncode

    def traces(self) -> list[Path]:
        return sorted(self.out.glob("trace-*"))


@pytest.fixture
def node(fakes: Fakes, tmp_path: Path) -> Node:
    try:
        inject_library_path()
    except NativeError as error:
        pytest.skip(f"no capture without the native part: {error.message}")
    return Node(fakes, tmp_path)


def ended(trace: Path) -> Callable[[], bool]:
    return lambda: bool(table(trace, "process")["end_ns"].null_count == 0)


@pytest.mark.slow
def test_programs_come_and_go(node: Node) -> None:
    # Before it is there, they run as they would alone.
    assert node.run(node.fakes.program(launches=30)) == 0
    with node.daemon() as process:
        assert node.run(node.fakes.program(launches=30)) == 0
        assert node.run(script("cuda(); launch(5); flushed(); os.kill(os.getpid(), 9)")) == -9
        assert node.run(node.fakes.program(launches=20)) == 0
        (trace,) = node.traces()
        wait_until(lambda: table(trace, "process").num_rows == 3 and ended(trace)())
        said = node.end(process)
    assert "trace in" in said
    assert not node.socket.exists()
    states = sorted(table(trace, "process")["state"].to_pylist())
    assert states == ["finished", "finished", "killed"]
    (row,) = table(trace, "capture").to_pylist()
    assert (row["source"], row["end_ns"] is not None) == ("daemon", True)
    verdict, kernels = verdict_and_kernels(trace)
    assert kernels == 55
    assert verdict == "losses: killed ?"


@pytest.mark.slow
def test_it_ends_before_a_program(node: Node) -> None:
    stop, ready = node.home / "stop", node.home / "ready"
    text = f"cuda(); launch(10); open({str(ready)!r}, 'w'); wait_for({str(stop)!r}); launch(10)"
    words, env, log = node.program(script(text))
    with node.daemon() as process, running(words, env) as program:
        wait_for(ready)
        wait_until_collected(log)
        (trace,) = node.traces()
        wait_until(lambda: table(trace, "kernel").num_rows == 10)
        node.end(process)
        stop.touch()
        assert program.wait(120) == 0
    assert table(trace, "process")["state"].to_pylist() == ["lost"]
    assert [row["cause"] for row in table(trace, "loss").to_pylist()] == ["abandoned"]


@pytest.mark.slow
def test_one_daemon_at_a_socket_and_one_after_another_was_killed(node: Node) -> None:
    with node.daemon() as process:
        second = subprocess.run(
            node.words(), env=node.env(), capture_output=True, text=True, check=False
        )
        assert second.returncode == 2
        assert "another daemon listens at" in second.stderr
        process.kill()
        process.wait()
    assert node.socket.exists()
    # Its trace has no end, and is too old for the next.
    old = node.traces()[0].rename(node.out / "trace-20200101-000000")
    os.utime(old, ns=(1, 1))
    with node.daemon() as process:
        assert node.run(node.fakes.program(launches=3)) == 0
        node.end(process)
    assert not old.exists()
    assert verdict_and_kernels(node.traces()[-1]) == ("complete", 3)


@pytest.mark.slow
def test_a_flight_recorder(node: Node) -> None:
    with node.daemon("--flight-recorder", "1h", "--flight-after", "0") as process:
        assert node.run(node.fakes.program(launches=30)) == 0
        assert node.run(script("cuda(); launch(5); flushed(); os.kill(os.getpid(), 9)")) == -9
        (folder,) = node.traces()
        wait_until(lambda: list(folder.glob("001-exit/capture/*.parquet")))
        said = node.end(process)
    assert "1 trigger;" in said
    (trace,) = folder.glob("0*")
    assert verdict_and_kernels(trace) == ("losses: killed ?", 35)


def test_a_socket_that_cannot_be(node: Node) -> None:
    node.socket = node.home / ("x" * 120)
    done = subprocess.run(node.words(), env=node.env(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be listened at" in done.stderr
    assert not node.out.exists()
