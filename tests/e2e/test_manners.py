"""The traced program does not notice: exit status, streams, signals; and refusals in words."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.captures import Capturer, running, table
from support.fake_cuda import script
from support.fakes import Fakes
from support.waiting import is_pending, wait_until

from cupti_etl.config import LAUNCHERS


@pytest.mark.parametrize("status", [0, 1, 7, 200])
def test_exit_status(capturer: Capturer, status: int) -> None:
    assert capturer.run(launches=1, status=status).status == status


@pytest.mark.slow
def test_streams_pass_through(capturer: Capturer) -> None:
    capture = capturer.run(launches=1, echo=1, print="out", print_error="err", stdin="in\0\xff")
    assert capture.stdout == "out\nin\0\xff"
    assert capture.stderr.startswith("err\n")
    quiet = capturer.run(options=["--quiet"], launches=1, print_error="err")
    assert quiet.stderr == "err\n"


def test_program_without_cuda(capturer: Capturer) -> None:
    capture = capturer.run(no_cuda=1, print="hello")
    assert (capture.status, capture.stdout) == (3, "hello\n")
    (line,) = capture.stderr.splitlines()
    assert "without initialising CUDA, so there is no trace" in line
    assert "`cupti-etl doctor`" in line
    assert not capture.trace.exists()


def test_a_program_that_dies_says_of_what(capturer: Capturer) -> None:
    """A shell would, if it had started the program."""
    capture = capturer.run(command=["sh", "-c", "kill -SEGV $$"])
    assert capture.status == 128 + 11
    assert capture.stderr.startswith("cupti-etl: sh died of signal 11 (Segmentation fault)\n")


@pytest.mark.slow
@pytest.mark.parametrize("out", ["trace", "trace.duckdb", "kernel.arrows"])
@pytest.mark.parametrize(
    ("program", "status"), [({"no_cuda": 1}, 3), ({"command": ["/nonexistent/program"]}, 2)]
)
def test_nothing_is_left_of_a_program_without_cuda(
    capturer: Capturer, tmp_path: Path, out: str, program: dict[str, Any], status: int
) -> None:
    stream = ["--table", "kernel"] if out.endswith(".arrows") else []
    home = tmp_path / "home"
    (home / "mine").mkdir(parents=True)
    options = ["-o", home / "mine" / "x" / "y" / out, "--save-raw", home / "raw", *stream]
    assert capturer.run(options=options, **program).status == status
    assert list(home.rglob("*")) == [home / "mine"]


@pytest.mark.slow
def test_a_trace_that_is_replaced(capturer: Capturer, tmp_path: Path) -> None:
    out = tmp_path / "x" / "run"
    options = ["-o", out, "--overwrite"]

    def kernels() -> int:
        return int(table(out, "kernel").num_rows)

    assert capturer.run(options=options, launches=2).status == 0
    assert capturer.run(options=options, launches=5).status == 0
    assert kernels() == 5
    refused = capturer.run(options=options[:2], launches=1)
    assert (refused.status, kernels()) == (2, 5)
    assert "--overwrite" in refused.stderr
    # What there was stays where there is nothing to put in its place.
    assert capturer.run(options=options, no_cuda=1).status == 3
    assert capturer.run(options=options, command=["/nonexistent/program"]).status == 2
    assert kernels() == 5
    (out / "thesis.txt").write_text("mine")
    refused = capturer.run(options=options, launches=1)
    assert (refused.status, kernels()) == (2, 5)
    assert "holds more than a trace: thesis.txt" in refused.stderr
    assert [path.name for path in out.parent.iterdir()] == ["run"]


def test_own_status_comes_before_ours(capturer: Capturer) -> None:
    capture = capturer.run(no_cuda=1, status=9)
    assert capture.status == 9
    assert "without initialising CUDA" in capture.stderr


@pytest.mark.slow
def test_program_that_only_initialises(capturer: Capturer) -> None:
    capture = capturer.run(init_only=1)
    assert capture.status == 0, capture.stderr
    assert len(capture.rows("process")) == 1
    assert capture.count("kernel") == 0


@pytest.mark.slow
def test_driver_that_does_not_start(capturer: Capturer) -> None:
    capture = capturer.run(fake={"driver_init_error": 100}, print="x")
    assert capture.status == 96
    assert "cuInit: 100" in capture.stderr


@pytest.mark.slow
def test_no_cupti(capturer: Capturer, tmp_path: Path) -> None:
    broken = tmp_path / "libcupti.so.13"
    broken.write_bytes(b"not a library")
    capture = capturer.run(None, ["--cupti", broken], launches=5, print="ran")
    assert capture.status == 4
    assert capture.stdout == "ran\n"
    assert "CUPTI" in capture.stderr
    (loss,) = capture.losses()["not_traced"]
    assert "libcupti.so.13" in loss["detail"]


@pytest.mark.slow
def test_cupti_that_is_too_old(capturer: Capturer) -> None:
    capture = capturer.run(fake={"version": 17}, launches=5)
    assert capture.status == 4
    assert "too old" in capture.stderr


@pytest.mark.slow
def test_cupti_refuses(capturer: Capturer) -> None:
    capture = capturer.run(fake={"fail": "cuptiActivityEnable:10=35"}, launches=5)
    assert capture.status == 4
    assert "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in capture.stderr


def test_output_that_exists(capturer: Capturer, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "trace1").mkdir()
    capture = capturer.run(launches=1, ready=marker)
    assert capture.status == 2
    assert "exists already" in capture.stderr
    assert not marker.exists()


def test_program_that_does_not_exist(capturer: Capturer) -> None:
    capture = capturer.run(command=["/nonexistent/program"])
    assert capture.status == 2
    assert "there is no program" in capture.stderr


def test_a_script_that_is_no_program(capturer: Capturer, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    capture = capturer.run(command=[str(tmp_path / "train.py")])
    assert capture.status == 2
    assert "train.py' cannot be run: Permission denied" in capture.stderr
    assert "interpreter" in capture.stderr


def test_another_tool_is_injected(capturer: Capturer) -> None:
    words, env, _, _ = capturer.prepare("13.5.25", launches=1)
    env["CUDA_INJECTION64_PATH"] = "/opt/other/tool.so"
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "/opt/other/tool.so" in done.stderr


@pytest.mark.slow
def test_signal_to_the_collector_reaches_the_program_once(capturer: Capturer) -> None:
    words, env, trace, _ = capturer.prepare(
        "13.5.25", launches=10, print="go", count_sigint=10_000, status=5
    )
    with running(words, env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "sigint=1\n"
    assert process.returncode == 5
    assert (trace / "kernel").is_dir()


@pytest.mark.slow
def test_ctrl_c_on_a_terminal(capturer: Capturer) -> None:
    """The terminal signals the whole process group: the program must not get it twice."""
    words, env, _, _ = capturer.prepare(
        "13.5.25", launches=10, print="go", count_sigint=10_000, status=6
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(words[0], words, env)
    output = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            output += os.read(terminal, 4096)
        except OSError:  # EIO: the other side is closed
            break
        if b"go\r\n" in output and b"\x03" not in output:
            os.write(terminal, b"\x03")
            output += b"\x03"
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 6
    assert b"sigint=1\r\n" in output


@pytest.mark.slow
def test_a_terminal_that_goes_away(capturer: Capturer, tmp_path: Path) -> None:
    """A program that survives the end of its terminal is recorded to its own end."""
    start = tmp_path / "start"
    program = capturer.fakes.program(start=start, launches=300, rate=200)
    survivor = ["sh", "-c", 'trap "" HUP; exec "$@" > /dev/null 2>&1', "sh", *program]
    words, env, trace, _ = capturer.prepare("13.5.25", command=survivor)
    child, terminal = pty.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execvpe(words[0], words, env)
    output = b""
    while b"records/s" not in output:
        output += os.read(terminal, 4096)
    os.close(terminal)
    start.touch()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert table(trace, "kernel").num_rows == 300
    assert table(trace, "loss").num_rows == 0
    assert table(trace, "capture")["exit_status"].to_pylist() == [0]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_to_the_group_and_to_the_collector(
    capturer: Capturer, number: signal.Signals
) -> None:
    """Each reaches the program once: whoever signals a group has reached it already."""
    text = f"""
import signal
came, last = [], []
signal.signal({int(number)}, lambda *_: came.append(1))
signal.signal(signal.SIGUSR2, lambda *_: last.append(1))
cuda(); launch(1)
print("go", flush=True)
for expected in (1, 2, 3, 4):
    while len(came) < expected:
        time.sleep(0.005)
    print(len(came), flush=True)
while not last:
    time.sleep(0.005)
print(len(came), flush=True)
"""
    words, env, _, _ = capturer.prepare("13.5.25", command=script(text))
    with running(words, env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        for send, count in zip((os.killpg, os.kill, os.killpg, os.kill), "1234", strict=True):
            send(process.pid, number)
            assert process.stdout.readline().strip() == count
            wait_until(lambda: not is_pending(process.pid, number))
        # It comes to the program after all that the collector has passed on.
        os.kill(process.pid, signal.SIGUSR2)
        assert process.stdout.readline().strip() == "4"
    assert process.returncode == 0


@pytest.mark.slow
def test_killed_by_a_signal_that_was_passed_on(capturer: Capturer) -> None:
    words, env, _, _ = capturer.prepare("13.5.25", launches=10, exit="wait", print="go")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(words, env, **streams) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        process.terminate()
        process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.slow
def test_workers_that_outlive_the_command(capturer: Capturer) -> None:
    capture = capturer.run(launches=20, spawn=2, wait_children=0, rate=100)
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 60
    assert {row["state"] for row in capture.rows("process")} == {"finished"}


@pytest.mark.slow
def test_command_lines_can_be_kept_out(capturer: Capturer, fakes: Fakes) -> None:
    capture = capturer.run(options=["--no-argv"], launches=1, print="secret")
    assert capture.rows("process")[0]["argv"] is None
    assert capture.rows("capture")[0]["command"] is None
    capture = capturer.run(launches=1, print="shown")
    assert capture.rows("process")[0]["argv"] == " ".join(fakes.program(launches=1, print="shown"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
          "OMPI_COMM_WORLD_SIZE": "8"}, (3, 1, 8)),
        ({"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1"}, (3, 1, 8)),
        ({"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "8"}, (3, 1, 8)),
        # One task a node: what it starts are no ranks for that.
        ({"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "1"},
         (None, None, None)),
        # torchrun within a step, or below mpirun.
        ({"RANK": "9", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "WORLD_SIZE": "16",
          "LOCAL_RANK": "1", "OMPI_COMM_WORLD_RANK": "1"}, (9, 1, 16)),
        ({"RANK": "first", "PMIX_RANK": "2"}, (2, None, None)),
    ],
)  # fmt: skip
def test_ranks_by_each_launcher(
    capturer: Capturer, variables: dict[str, str], expected: tuple[int | None, ...]
) -> None:
    words, env, trace, _ = capturer.prepare("13.5.25", launches=1)
    for name in {name for names in LAUNCHERS.values() for name in names}:
        env.pop(name, None)
    subprocess.run(words, env=env | variables, check=True, capture_output=True, timeout=120)
    (row,) = table(trace, "process").to_pylist()
    assert (row["rank"], row["local_rank"], row["world_size"]) == expected


@pytest.mark.slow
def test_ranks_of_a_distributed_job(capturer: Capturer) -> None:
    words, env, trace, log = capturer.prepare("13.5.25", launches=1)
    env |= {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "SLURM_JOB_ID": "123456"}
    subprocess.run(words, env=env, check=True, capture_output=True, timeout=120)
    (row,) = table(trace, "process").to_pylist()
    assert (row["rank"], row["local_rank"], row["world_size"]) == (3, 1, 8)
    assert (row["slurm_job_id"], row["slurm_proc_id"]) == (123456, None)
    assert row["driver_version"] == 13050
    assert row["pid"] == capturer.fakes.log(log)[0].pid
