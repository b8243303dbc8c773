"""Programs that cannot say hello to their collector at once, or at all: they are counted."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.captures import Capture, Capturer, running, table, unshare
from support.fake_cuda import script
from support.fakes import Fakes
from support.waiting import wait_for, wait_until

from cupti_etl.capture import listener
from cupti_etl.capture.collector import Collector
from cupti_etl.capture.launcher import target_environment, target_settings
from cupti_etl.config import CaptureOptions

CUPTI = "13.5.25"
NOBODY = 65534


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder for temporary files that all users can enter, with a short path."""
    with tempfile.TemporaryDirectory(prefix="hello-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def run(capturer: Capturer, base: Path, command: Sequence[str], *options: str) -> Capture:
    """A capture whose folders for temporary files and for the fakes' logs are ``base``."""
    words, env, trace, log = capturer.prepare(CUPTI, options, command=command)
    logs = base / "logs"
    logs.mkdir(mode=0o777)
    logs.chmod(0o777)
    env |= {"TMPDIR": str(base), "FAKE_CUPTI_LOG": str(logs)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert not log.exists() or not list(log.iterdir())
    return Capture(trace, done, capturer.fakes.log(logs))


def not_traced(capture: Capture) -> list[str]:
    """Why processes were not traced; each of them makes the capture exit with 4."""
    found = [row["detail"] for row in capture.losses().get("not_traced", ())]
    assert bool(found) == (capture.status == 4), capture.stderr
    assert all(detail in capture.stderr for detail in found)
    return found


def emptied(base: Path) -> str:
    """A shell command that removes the collector's files."""
    return f"rm -rf {base}/cupti-etl-*"


@pytest.mark.slow
def test_a_folder_that_is_emptied(capturer: Capturer, fakes: Fakes, base: Path) -> None:
    program = shlex.join(fakes.program(launches=20))
    words = ["sh", "-c", f"{program} && {emptied(base)} && {program}"]
    capture = run(capturer, base, words, "--duration", "1h")
    assert not_traced(capture) == []
    assert capture.status == 0
    assert capture.count("kernel") == 40
    assert [row["state"] for row in capture.rows("process")] == ["finished"] * 2
    capture.check_sums()


@pytest.mark.slow
def test_no_descriptor_need_be_inherited(capturer: Capturer, fakes: Fakes, base: Path) -> None:
    text = f"""
import shutil, subprocess
shutil.rmtree(Path(os.environ["CUPTI_ETL_SOCKET"]).parent)
subprocess.run({fakes.program(launches=20)!r}, close_fds=True, check=True)
"""
    capture = run(capturer, base, script(text))
    assert not_traced(capture) == []
    assert capture.count("kernel") == 20


def test_another_network_namespace(capturer: Capturer, fakes: Fakes, base: Path) -> None:
    """There the name is not known, but the path is."""
    command = [*unshare("--net"), *fakes.program(launches=20)]
    capture = run(capturer, base, command)
    assert not_traced(capture) == []
    assert capture.count("kernel") == 20


def test_no_address_at_all(capturer: Capturer, fakes: Fakes, base: Path) -> None:
    """Neither the name nor the path; the page that all of them share tells it."""
    inner = f"{emptied(base)} && exec {shlex.join(fakes.program(launches=20))}"
    capture = run(capturer, base, [*unshare("--net"), "sh", "-c", inner])
    assert not_traced(capture) == ["1 process could not reach the collector"]
    assert capture.count("kernel") == 0


@pytest.mark.slow
def test_orders_in_another_pid_namespace(capturer: Capturer, tmp_path: Path) -> None:
    """The page cannot be opened there by its path, and comes with the answer."""
    end = tmp_path / "end"
    program = script(f"cuda(); launch(10); wait_for({str(end)!r})")
    command = [*unshare("--pid", "--fork", "--mount-proc"), *program]
    options = ["--flush-ms", "20", "--duration", "500ms"]
    words, env, trace, _ = capturer.prepare(CUPTI, options, command=command)
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_until(lambda: table(trace, "capture_window").num_rows, 120)
        end.touch()
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    (window,) = table(trace, "capture_window").to_pylist()
    assert window["closed_by"] == "collector"


def as_nobody(fakes: Fakes) -> list[str]:
    """The fake program as another user; skips where that cannot be."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can be another user")
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    program = fakes.program(launches=20)
    tried = subprocess.run([*prefix, "test", "-x", program[0]], check=False)
    if tried.returncode:
        pytest.skip("another user cannot run the fake program here")
    return [*prefix, *program]


def test_another_user(capturer: Capturer, fakes: Fakes, base: Path) -> None:
    capture = run(capturer, base, as_nobody(fakes))
    (detail,) = not_traced(capture)
    assert f"it runs as user {NOBODY}" in detail
    assert f"--allow-uid {NOBODY} lets it in" in detail
    assert capture.count("kernel") == 0


@pytest.mark.parametrize("who", ["name", "number"])
def test_another_user_who_is_let_in(capturer: Capturer, fakes: Fakes, base: Path, who: str) -> None:
    import pwd

    command = as_nobody(fakes)
    users = f"root,{pwd.getpwuid(NOBODY).pw_name}" if who == "name" else f"0,{NOBODY}"
    capture = run(capturer, base, command, "--allow-uid", users)
    assert not_traced(capture) == []
    assert capture.count("kernel") == 20
    assert [row["state"] for row in capture.rows("process")] == ["finished"]
    capture.check_sums()


def test_a_user_whom_nobody_knows(capturer: Capturer) -> None:
    capture = capturer.run(options=["--allow-uid", "no such user"], launches=1)
    assert capture.status == 2
    assert "there is no user 'no such user'" in capture.stderr
    assert not capture.trace.exists()


# Opens files until so many more can be had.
FILL = """
import ctypes, resource
ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
ctypes.CDLL(os.environ["CUPTI_ETL_CUPTI"])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
files = []
try:
    while True:
        files.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
def free(count):
    for _ in range(count):
        os.close(files.pop())
"""


def test_no_descriptor_is_left(capturer: Capturer) -> None:
    """It speaks to the collector from a table of descriptors that is not the program's."""
    capture = capturer.run(command=script(f"{FILL}cuda(); launch(3); free(50)"))
    (detail,) = not_traced(capture)
    assert "memfd_create: Too many open files" in detail
    assert capture.count("kernel") == 0


def test_one_descriptor_is_left(capturer: Capturer) -> None:
    """Enough for the memory; the hello waits until there is one for a socket."""
    text = f"{FILL}free(1); cuda(); launch(3); free(50); launch(4)"
    capture = capturer.run(options=["--flush-ms", "20"], command=script(text))
    assert not_traced(capture) == []
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 7
    capture.check_sums()


def test_descriptors_that_never_come(capturer: Capturer) -> None:
    text = f"{FILL}free(1); cuda(); launch(3)"
    capture = capturer.run(options=["--flush-ms", "20"], command=script(text))
    assert not_traced(capture) == ["1 process could not reach the collector"]


class Crowd:
    """A collector whose queues of connections are full, and a program that comes then."""

    def __init__(self, fakes: Fakes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listener, "_BACKLOG", 1)
        self.collector = Collector()
        self.idle = [*self._fill(""), *self._fill("\0")]
        self.files = {name: folder / name for name in ("ready", "go")}
        text = f"""
cuda(); launch(10)
Path({str(self.files["ready"])!r}).touch()
wait_for({str(self.files["go"])!r})
launch(5)
"""
        options = CaptureOptions(
            folder, kinds=("kernel",), flush_ms=20, cupti=fakes.cupti(CUPTI), records="fixed"
        )
        env = {**os.environ, **fakes.env(CUPTI), "CUDA_INJECTION64_PATH": ""}
        env["NVTX_INJECTION64_PATH"] = ""
        settings = target_settings(options, self.collector.settings, env)
        env = target_environment(settings, env)
        self.program = subprocess.Popen(script(text), env=env)

    def _fill(self, prefix: str) -> list[socket.socket]:
        made = []
        while True:
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            made.append(one)
            try:
                one.connect(f"{prefix}{self.collector.settings['SOCKET']}")
            except BlockingIOError:
                return made

    def close(self) -> None:
        """End everything."""
        for one in self.idle:
            one.close()
        self.collector.close()
        self.program.kill()
        self.program.wait()


@pytest.fixture
def crowd(fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    made = Crowd(fakes, tmp_path, monkeypatch)
    yield made
    made.close()


def test_a_full_queue(crowd: Crowd) -> None:
    """The program goes on and records; it is heard when there is room."""
    collector = crowd.collector
    wait_for(crowd.files["ready"])
    assert collector.listener is not None
    assert collector.listener.wakeup.unmet() == 1
    wait_until(lambda: collector.drain() or collector.traced)
    crowd.files["go"].touch()
    crowd.program.wait(120)
    for one in crowd.idle:
        one.close()
    wait_until(lambda: collector.drain() or collector.live == 0)
    (process,) = collector.process_rows()
    assert (process["state"], process["emitted"], process["stored"]) == ("finished", 15, 15)
    collector.abandon()
    assert not [one for one in collector.refused if "reach" in one.reason]


@pytest.mark.slow
def test_killed_before_it_was_heard(crowd: Crowd) -> None:
    wait_for(crowd.files["ready"])
    crowd.program.kill()
    crowd.program.wait()
    assert crowd.collector.refused == []
    crowd.collector.abandon()
    reasons = [one.reason for one in crowd.collector.refused]
    assert reasons[-1] == "1 process could not reach the collector"
    assert set(reasons[:-1]) == {"it came when the capture had ended"}
