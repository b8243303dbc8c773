"""What a trace does not hold is said: by cause, with a number where there is one."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support.captures import Capture, Capturer, running, table, wait_until_collected
from support.fakes import DRIVER, KERNEL, RUNTIME, Fakes
from support.waiting import wait_for, wait_until


def test_records_dropped_by_cupti(capturer: Capturer) -> None:
    capture = capturer.run(fake={"drop_every": 7}, launches=700)
    (loss,) = capture.losses()["cupti_dropped"]
    assert loss["records"] == sum(capture.log[0].dropped.values()) > 0
    assert loss["is_stored"] is False
    assert capture.count("kernel") == capture.log.delivered(KERNEL) < 700
    capture.check_sums()
    assert capture.status == 0
    assert f"{loss['records']:,} records lost (cupti_dropped)" in capture.stderr


def test_kind_without_a_table(capturer: Capturer) -> None:
    capture = capturer.run(fake={"unknown_every": 100, "unknown": "step"}, launches=1000)
    (loss,) = capture.losses()["unknown_kind"]
    assert loss["records"] == capture.log[0].delivered[60]
    assert capture.count("kernel") == 1000
    capture.check_sums()


def test_kind_of_unknown_size(capturer: Capturer) -> None:
    capture = capturer.run(fake={"unknown_every": 100, "unknown": "refuse"}, launches=1000)
    (loss,) = capture.losses()["unreadable"]
    rows = sum(process["stored"] for process in capture.rows("process"))
    strides = {KERNEL: 248, 5: 40, 4: 40, 8: 192, 9: 40}
    stored = (
        (capture.count("kernel") * strides[KERNEL])
        + capture.count("api_call") * 40
        + capture.count("device") * strides[8]
        + capture.count("context") * strides[9]
    )
    assert rows > 0
    assert loss["bytes"] == capture.log[0].counters["bytes"] - stored


def test_kernel_that_never_ends(capturer: Capturer) -> None:
    capture = capturer.run(launches=10, long_kernel=1)
    assert capture.count("kernel") == 11
    (running,) = [row for row in capture.rows("kernel") if row["end_ns"] is None]
    assert running["start_ns"] is not None
    (loss,) = capture.losses()["incomplete"]
    assert (loss["records"], loss["table_name"], loss["is_stored"]) == (1, "kernel", True)
    assert "1 row incomplete (incomplete)" in capture.stderr
    assert capture.status == 0
    capture.check_sums()


def test_a_cause_is_told_once_for_all_processes(capturer: Capturer, fakes: Fakes) -> None:
    program = shlex.join(fakes.program(launches=20, exit="_exit"))
    capture = capturer.run(command=["sh", "-c", f"{program}; {program}"])
    assert len(capture.losses()["killed"]) == 2
    assert capture.stderr.count("an unknown number of records lost (killed)") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "status"), [("kill", 137), ("abort", 134), ("_exit", 3)])
def test_disorderly_end(capturer: Capturer, ending: str, status: int) -> None:
    """What CUPTI had handed over is stored; what it still held is gone, and that is said."""
    capture = capturer.run(
        options=["--flush-ms", "10"], launches=600, rate=3000, exit=ending, status=3
    )
    assert capture.status == status
    assert capture.count("kernel") == capture.log.delivered(KERNEL)
    assert capture.log.delivered(KERNEL) > 300
    (loss,) = capture.losses()["killed"]
    assert loss["records"] is None
    assert 0 < loss["end_ns"] - loss["start_ns"] < 5e9
    (process,) = capture.rows("process")
    assert process["state"] == "killed"
    assert "killed" in capture.stderr


@pytest.mark.slow
@pytest.mark.slow
def test_a_last_flush_that_gets_on_is_waited_for(capturer: Capturer) -> None:
    """Eight buffers take longer together than nothing may come for."""
    capture = capturer.run(fake={"slow_ms": 400}, launches=10, threads=8)
    assert capture.count("kernel") == 80
    assert capture.losses() == {}
    assert [row["state"] for row in capture.rows("process")] == ["finished"]
    capture.check_sums()


@pytest.mark.slow
def test_a_driver_that_hangs_does_not_keep_the_program(capturer: Capturer) -> None:
    capture = capturer.run(fake={"slow_ms": 8000}, launches=10)
    (loss,) = capture.losses()["not_flushed"]
    assert loss["detail"].startswith("at the program's end CUPTI gave nothing back for 2 s")
    assert capture.status == 0


def test_threads_that_call_cuda_while_the_program_ends_are_no_other_client(
    capturer: Capturer,
) -> None:
    """CUPTI holds a buffer in the end, but one that it asked for during the last flush."""
    capture = capturer.run(fake={"still_called": 1}, launches=10)
    (loss,) = capture.losses()["not_flushed"]
    assert loss["records"] is None
    assert loss["detail"].startswith("threads of the program still called CUDA while it ended")
    assert (capture.status, capture.count("kernel")) == (0, 10)


def test_what_was_flushed_outlives_a_kill(capturer: Capturer, tmp_path: Path) -> None:
    until = tmp_path / "until"
    words, env, trace, log = capturer.prepare(
        "13.5.25", ["--flush-ms", "5"], launches=200, until=until, exit="kill"
    )
    with running(words, env, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: capturer.fakes.log(log).delivered(KERNEL) >= 200)
        until.touch()
    assert process.returncode == 137
    assert table(trace, "kernel").num_rows == 200


@pytest.mark.slow
def test_program_is_never_held_up(capturer: Capturer, tmp_path: Path) -> None:
    """A collector that stands still costs records, which are counted, not time.

    When CUPTI's thread gets no processor either, the spare buffers are all full, and CUPTI
    is refused another: what it drops then is counted by it, and not by table.
    """
    start, ready = tmp_path / "start", tmp_path / "ready"
    words, env, trace, log = capturer.prepare(
        "13.5.25",
        ["--buffer-mb", "32"],
        threads=2,
        launches=200_000,
        start=start,
        ready=ready,
    )
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_until_collected(log)
        process.send_signal(signal.SIGSTOP)
        start.touch()
        wait_for(ready)  # while the collector stands still
        process.send_signal(signal.SIGCONT)
        _, stderr = process.communicate(timeout=120)
    done = subprocess.CompletedProcess(words, process.returncode, "", stderr)
    capture = Capture(trace, done, capturer.fakes.log(log))
    assert capture.status == 0, stderr
    losses = capture.losses()
    assert set(losses) <= {"ring_full", "cupti_dropped"}
    lost = Counter[str]()
    for row in losses["ring_full"]:
        lost[row["table_name"]] += row["records"]
    made, dropped = Counter(capture.log[0].made), Counter(capture.log[0].dropped)
    assert sum(row["records"] for row in losses.get("cupti_dropped", ())) == dropped.total()
    assert lost["kernel"] > 0
    assert capture.count("kernel") + lost["kernel"] + dropped[KERNEL] == 400_000
    # Our own calls are of no table; CUPTI can have dropped some of their records.
    own = made[RUNTIME] + made[DRIVER] - 800_000
    calls = capture.count("api_call") + lost["api_call"] + dropped[RUNTIME] + dropped[DRIVER]
    assert 800_000 <= calls <= 800_000 + min(own, dropped[DRIVER])
    capture.check_sums()
    assert "--buffer-mb" in stderr


def test_collector_that_is_killed(capturer: Capturer, tmp_path: Path) -> None:
    """The program goes on as if nothing had happened."""
    start, ready = tmp_path / "start", tmp_path / "ready"
    words, env, _, log = capturer.prepare(
        "13.5.25", launches=100_000, start=start, ready=ready, linger_ms=300
    )
    with running(words, env, stderr=subprocess.DEVNULL) as process:
        wait_until_collected(log)
        process.kill()
        process.wait()
    start.touch()
    wait_for(ready)
    wait_until(lambda: capturer.fakes.log(log)[0].ended)


def test_another_client_was_first(capturer: Capturer) -> None:
    capture = capturer.run(fake={"other_client": True}, launches=10)
    assert capture.status == 4
    assert "another CUPTI client" in capture.stderr
    assert capture.log[0].counters["requests"] == 0


@pytest.mark.slow
def test_another_client_takes_over(capturer: Capturer) -> None:
    """CUPTI then holds a buffer of ours, as nothing is flushed before the end."""
    capture = capturer.run(options=["--flush-ms", "60000"], launches=2000, takeover_at=1000)
    assert capture.status == 4
    (loss,) = capture.losses()["other_client"]
    assert loss["records"] is None
    assert loss["start_ns"] is not None
    rows = sum(process["stored"] for process in capture.rows("process"))
    assert rows == capture.log[0].clients[0]
    assert capture.log[0].clients[1] > 0


def test_one_kind_is_refused(capturer: Capturer) -> None:
    capture = capturer.run(fake={"fail": "cuptiActivityEnable:12=27"}, launches=10, nvtx_every=2)
    assert capture.status == 0
    assert capture.count("kernel") == 10
    assert capture.count("marker") == 0
    (process,) = capture.rows("process")
    assert "marker" in process["detail"]


def test_buffers_that_come_back_after_the_end(capturer: Capturer) -> None:
    """A program may launch in an exit handler of its own; CUPTI returns that at its end."""
    capture = capturer.run(fake={"at_exit": True}, launches=10, late_launches=5)
    assert capture.log.delivered(KERNEL) == 15
    assert capture.count("kernel") == 15
    capture.check_sums()


def test_forked_child_does_not_speak_for_its_parent(capturer: Capturer) -> None:
    capture = capturer.run(launches=100, fork_after=3)
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 100
    (process,) = capture.rows("process")
    assert process["state"] == "finished"


def test_trace_that_cannot_be_written(capturer: Capturer, tmp_path: Path) -> None:
    """Known before the program starts, so that nothing runs for nothing."""
    file = tmp_path / "file"
    file.touch()
    capture = capturer.run(options=["-o", file / "trace"], launches=10, print="ran")
    assert capture.status == 2
    assert capture.stdout == ""
    assert "cannot be created" in capture.stderr
    assert "choose another -o" in capture.stderr
