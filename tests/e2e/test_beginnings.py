"""Programs that begin in unusual ways, and programs that only seem to have ended."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.captures import Capture, Capturer, running, unshare
from support.fake_cuda import script
from support.fakes import Fakes

CUPTI = "13.5.25"


def check(capture: Capture, kernels: int, processes: int = 1) -> None:
    """So many kernels and processes, and all of them ended in order."""
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == kernels
    assert [row["state"] for row in capture.rows("process")] == ["finished"] * processes
    assert capture.losses() == {}
    capture.check_sums()


@pytest.mark.slow
@pytest.mark.parametrize("prefix", [(), ("--pid", "--fork"), ("--pid", "--fork", "--mount-proc")])
def test_a_program_that_closes_all_descriptors(capturer: Capturer, prefix: Sequence[str]) -> None:
    """Its socket ends, it does not; nor does it end when it is quiet for a while."""
    text = "cuda(); launch(10); os.closerange(3, 4096); time.sleep(1.5); launch(20); launch(5)"
    command = [*(unshare(*prefix) if prefix else ()), *script(text)]
    check(capturer.run(options=["--flush-ms", "20"], command=command), 35)


@pytest.mark.slow
def test_a_daemon(capturer: Capturer, tmp_path: Path) -> None:
    """It closes everything, gets a session of its own, and outlives the command by far."""
    text = f"""
if os.fork():
    sys.exit()
os.setsid()
cuda(); launch(7)
os.closerange(0, 4096)
Path({str(tmp_path / "ready")!r}).touch()
time.sleep(0.5)
launch(8)
"""
    check(capturer.run(command=script(text)), 15)


@pytest.mark.slow
def test_descriptors_that_are_reused(capturer: Capturer, tmp_path: Path) -> None:
    """A child must not close what has got the numbers of our descriptors meanwhile."""
    text = f"""
cuda(); launch(1)
os.closerange(3, 4096)
file = os.open({str(tmp_path / "own")!r}, os.O_RDWR | os.O_CREAT)
for number in range(4, 1024):
    os.dup2(file, number)
if os.fork() == 0:
    for number in range(3, 1024):
        os.fstat(number)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    check(capturer.run(command=script(text)), 1)


@pytest.mark.slow
def test_exec_after_cuda(capturer: Capturer, fakes: Fakes) -> None:
    """Two images in one process: the first ends at once, without an orderly end."""
    again = shlex.join(fakes.program(launches=20))
    text = f"cuda(); launch(10); flushed(); os.execvp('sh', ['sh', '-c', {again!r}])"
    capture = capturer.run(options=["--flush-ms", "20"], command=script(text))
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 30
    first, second = sorted(capture.rows("process"), key=lambda row: row["start_ns"])
    assert (first["state"], second["state"]) == ("killed", "finished")
    assert first["process_id"] != second["process_id"]
    assert set(capture.losses()) == {"killed"}


@pytest.mark.slow
@pytest.mark.parametrize("closes", [False, True])
def test_exec_is_seen_at_once(capturer: Capturer, closes: bool) -> None:
    """What runs on as another image, without CUDA, does not keep the first one open."""
    close = "os.closerange(3, 4096); time.sleep(0.2)" if closes else "pass"
    text = f"cuda(); launch(10); flushed(); {close}; os.execvp('sleep', ['sleep', '3'])"
    capture = capturer.run(options=["--flush-ms", "20"], command=script(text))
    (process,) = capture.rows("process")
    (whole,) = capture.rows("capture")
    assert capture.count("kernel") == 10
    assert process["state"] == "killed"
    assert process["end_ns"] < whole["end_ns"] - 2_000_000_000


@pytest.mark.slow
def test_a_stopped_program_has_not_ended(capturer: Capturer, tmp_path: Path) -> None:
    """Without descriptors and without a heartbeat it is still there."""
    ready = tmp_path / "ready"
    text = f"cuda(); launch(10); os.closerange(3, 4096); time.sleep(0.2); \
Path({str(ready)!r}).write_text(str(os.getpid())); time.sleep(0.5); launch(20)"
    words, env, trace, log = capturer.prepare(CUPTI, command=script(text))
    with running(words, env, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        while not (ready.exists() and ready.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        pid = int(ready.read_text())
        os.kill(pid, signal.SIGSTOP)
        time.sleep(2.5)
        os.kill(pid, signal.SIGCONT)
        _, stderr = process.communicate(timeout=120)
    done = subprocess.CompletedProcess(words, process.returncode, "", stderr)
    check(Capture(trace, done, capturer.fakes.log(log)), 30)


@pytest.mark.slow
def test_a_child_that_closes_nothing_does_not_hide_an_end(capturer: Capturer) -> None:
    """A fork without exec, alive when its parent has long ended."""
    text = """
cuda(); launch(10); time.sleep(0.3)
if os.fork() == 0:
    os.close(1); os.close(2)
    time.sleep(4)
    os._exit(0)
"""
    capture = capturer.run(options=["--flush-ms", "20"], command=script(text))
    check(capture, 10)
    (process,), (whole,) = capture.rows("process"), capture.rows("capture")
    assert whole["end_ns"] - process["end_ns"] < 2_000_000_000


@pytest.mark.slow
def test_small_shared_memory(capturer: Capturer, base: Path) -> None:
    """A container's /dev/shm of 64 MB, or of 1: it plays no part."""
    capturer = Capturer(capturer.fakes, base)  # whose files are not there
    command = shlex.join(script("cuda(); launch(60000)"))
    mount = "mount -t tmpfs -o size=1m tmpfs /dev/shm"
    prefix = unshare("--mount")
    tried = subprocess.run([*prefix, "sh", "-c", mount], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    whole = [*prefix, "sh", "-c", f"{mount} && exec {command}"]
    check(capturer.run(options=["--buffer-mb", "256"], command=whole), 60_000)


@pytest.mark.slow
def test_cuda_that_comes_late(capturer: Capturer) -> None:
    """The driver is opened long after the start, by a thread that ends."""
    text = """
import threading
time.sleep(0.3)
thread = threading.Thread(target=lambda: (cuda(), launch(5)))
thread.start(); thread.join()
launch(6)
"""
    check(capturer.run(command=script(text)), 11)


@pytest.mark.slow
def test_cuda_in_a_child_only(capturer: Capturer) -> None:
    text = """
if os.fork() == 0:
    cuda(); launch(9); sys.exit()
os.wait()
"""
    check(capturer.run(command=script(text)), 9)


@pytest.mark.parametrize("cupti", ["12.9.79", pytest.param(CUPTI, marks=pytest.mark.slow)])
@pytest.mark.parametrize("children", [0, 2])
def test_nvtx_before_cuda(capturer: Capturer, cupti: str, children: int) -> None:
    """CUPTI is not initialised then, and must not be before the program forks."""
    capture = capturer.run(
        cupti,
        ["--kinds", "full"],
        launches=3,
        nvtx_every=1,
        range_before="early",
        fork=children,
    )
    check(capture, 3 * (1 + children), 1 + children)
    names = [row["name"] for row in capture.rows("marker") if row["name"]]
    assert sorted(set(names)) == ["mark", "range 0", "range 1", "range 2"]


@pytest.mark.slow
def test_threads_by_the_hundred(capturer: Capturer) -> None:
    """Each has a buffer of CUPTI's own; what they hold stays within --buffer-mb and 64 MiB."""
    capture = capturer.run(
        options=["--buffer-mb", "64"], threads=512, launches=100, rate=2000, linger_ms=200
    )
    assert capture.status == 0, capture.stderr
    lost = sum(row["records"] for row in capture.losses().get("ring_full", ()))
    assert capture.count("kernel") + capture.count("api_call") + lost >= 512 * 200
    assert set(capture.losses()) <= {"ring_full"}
    capture.check_sums()


@pytest.mark.slow
def test_processes_by_the_dozen(capturer: Capturer) -> None:
    capture = capturer.run(options=["--buffer-mb", "32"], spawn=63, launches=30)
    check(capture, 64 * 30, 64)


@pytest.mark.slow
@pytest.mark.parametrize("hard", [40, 4096])
def test_few_descriptors(capturer: Capturer, hard: int) -> None:
    """The soft limit is raised when needed; below the hard one processes wait their turn."""
    words, env, trace, log = capturer.prepare(
        CUPTI, ["--buffer-mb", "32"], spawn=23, launches=30, linger_ms=300
    )
    limit = ["sh", "-c", f'ulimit -S -n 40 && ulimit -H -n {hard} && exec "$@"', "sh"]
    done = subprocess.run(
        [*limit, *words], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    check(Capture(trace, done, capturer.fakes.log(log)), 24 * 30, 24)


def test_the_program_keeps_its_own_limit(capturer: Capturer) -> None:
    words, env, _, _ = capturer.prepare(
        CUPTI, command=script("cuda(); import resource; print(resource.getrlimit(7)[0])")
    )
    limit = ["sh", "-c", 'ulimit -S -n 40 && exec "$@"', "sh"]
    done = subprocess.run(
        [*limit, *words], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "40\n"


@pytest.mark.slow
def test_a_connection_that_says_nothing(capturer: Capturer, tmp_path: Path) -> None:
    """It holds nobody up, and is refused after a while."""
    text = f"""
import socket
silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]
for one in silent:
    one.connect(os.environ["CUPTI_ETL_SOCKET"])
start = time.monotonic()
cuda(); launch(3000)
while not list(Path({str(tmp_path)!r}).glob("trace*/kernel/part-000001.parquet")):
    time.sleep(0.01)
print(time.monotonic() - start)
time.sleep(2.5)
"""
    capture = capturer.run(options=["--flush-ms", "20"], command=script(text))
    assert float(capture.stdout) < 10  # 20 s, if each were waited for
    assert capture.count("kernel") == 3000
    refused = [row["detail"] for row in capture.losses()["not_traced"]]
    assert len(refused) == 20
    assert all("said nothing" in detail for detail in refused)


def folders(base: Path) -> list[Path]:
    """Folders of captures that run, or were killed."""
    return sorted(base.glob("cupti-etl-*"))


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder for temporary files with a path that is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="ends-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.slow
def test_what_a_killed_capture_left_is_removed_by_the_next(capturer: Capturer, base: Path) -> None:
    foreign = base / "cupti-etl-of-a-friend"  # without a lock: not ours to judge
    foreign.mkdir()
    words, env, _, _ = capturer.prepare(CUPTI, command=["sleep", "30"])
    env["TMPDIR"] = str(base)
    with running(words, env, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not list(base.glob("cupti-etl-*/lock")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (live,) = set(folders(base)) - {foreign}
        # While it lives, another capture leaves it alone.
        others, other_env, _, _ = capturer.prepare(CUPTI, launches=1)
        other_env["TMPDIR"] = str(base)
        subprocess.run(others, env=other_env, check=True, capture_output=True, timeout=120)
        assert folders(base) == sorted([foreign, live])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert live.exists()
    others, other_env, _, _ = capturer.prepare(CUPTI, launches=1)
    other_env["TMPDIR"] = str(base)
    subprocess.run(others, env=other_env, check=True, capture_output=True, timeout=120)
    assert folders(base) == [foreign]


@pytest.mark.slow
def test_a_socket_is_no_program(capturer: Capturer) -> None:
    """A connection that is closed at once."""
    text = """
import socket
one = socket.socket(socket.AF_UNIX); one.connect(os.environ["CUPTI_ETL_SOCKET"]); one.close()
cuda(); launch(2)
"""
    capture = capturer.run(command=script(text))
    assert capture.status == 4
    assert capture.count("kernel") == 2
    assert "no valid greeting" in capture.stderr
