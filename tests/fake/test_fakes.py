"""The fakes behave as the research says the real libraries do; nothing of ours takes part."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from pathlib import Path

import pytest
from support.fake_build import api_version, facts, layouts
from support.fake_run import Run, received
from support.fakes import (
    DEVICE,
    DRIVER,
    FUTURE,
    KERNEL,
    MARKER,
    MARKER_DATA,
    MEMCPY,
    MEMSET,
    OVERHEAD,
    RUNTIME,
    STREAM,
    Fakes,
    kernel_name,
)

DATA = Path(__file__).resolve().parents[1] / "data"
ALL_KINDS = "1,2,4,5,8,9,10,12,13,17,37,38,49"
RELEASES = tuple(facts()["releases"])


@pytest.mark.parametrize("release", RELEASES)
def test_release(run: Run, release: str) -> None:
    report, (log,) = run(
        release,
        {"kinds": ALL_KINDS},
        launches=96,
        copy_every=3,
        set_every=4,
        nvtx_every=8,
        malloc_every=5,
        sync_every=9,
    )
    assert report["version"] == log.version == api_version(release)
    assert received(report) == log.delivered == log.made
    assert set(log.delivered) == set(map(int, ALL_KINDS.split(",")))
    strides = {int(kind): stride for kind, (_, stride) in report["records"].items()}
    assert strides == {kind: layouts(release)[kind]["size"] for kind in strides}
    assert bool(report["has_enable_runtime"]) == (api_version(release) >= 23)
    newest = layouts(release)[KERNEL]["size"] if api_version(release) >= 130200 else -1
    assert report["struct_size"] == newest
    assert report["name_211"] == "cudaLaunchKernel_v7000"
    assert report["nvtx"] == 0
    assert log.ended


def test_counts_follow_from_the_program(run: Run) -> None:
    report, (log,) = run(
        "12.9.79",
        {"kinds": ALL_KINDS},
        threads=4,
        launches=1000,
        names=10,
        streams=2,
        copy_every=10,
        set_every=20,
        noise=4,
        nvtx_every=100,
    )
    launches, copies, sets = 4000, 400, 200
    assert log.delivered[KERNEL] == launches
    assert log.delivered[MEMCPY] == copies
    assert log.delivered[MEMSET] == sets
    assert log.delivered[RUNTIME] == launches * 5 + copies + sets
    assert log.delivered[DRIVER] == launches + copies + sets
    assert log.delivered[STREAM] == 8
    assert log.delivered[DEVICE] == 1
    assert log.delivered[MARKER] == 40 * 3
    assert log.delivered[MARKER_DATA] == 40 * 2
    assert log.delivered[OVERHEAD] == log.counters["requests"]
    assert log.names == {kernel_name(i): 400 for i in range(10)}
    assert log.api["runtime", 211] == launches
    assert log.api["runtime", 17] == log.api["runtime", 10] == 2 * launches
    assert log.api["driver", 307] == launches
    assert received(report) == log.delivered


def test_rows_hold_what_the_facts_say(run: Run) -> None:
    _, (log,) = run("13.0.85", {"kinds": ALL_KINDS}, {"log_rows": True}, launches=40, names=40)
    kernels = log.rows(KERNEL)
    assert [row["name"] for row in kernels] == [kernel_name(i) for i in range(40)]
    assert sum(int(str(row["start"])) for row in kernels) % 2**64 == log.sum_start[KERNEL]
    calls = {row["correlationId"] for row in log.rows(RUNTIME)}
    assert {row["correlationId"] for row in kernels} == calls
    assert len(calls) == 40
    for row in kernels:
        assert 0 < int(str(row["start"])) < int(str(row["end"]))
    assert len({row["gridX"] for row in kernels}) == 16
    values = [row["blockX"] for row in kernels] + [row["gridY"] for row in kernels]
    assert len(set(values)) == 32


@pytest.mark.parametrize(
    ("release", "kind", "offset"),
    [("12.9.79", MEMCPY, 84), ("12.9.79", MEMSET, 84), ("12.4.127", 9, 22)],
)
def test_padding_is_garbage(run: Run, release: str, kind: int, offset: int) -> None:
    _, (log,) = run(
        release, {"kinds": ALL_KINDS}, {"log_rows": True}, launches=2, copy_every=1, set_every=1
    )
    data = log.path.with_suffix(".rows").read_bytes()
    stride = layouts(release)[kind]["size"]
    at = data.index(struct.pack("<4I", kind, stride, 0, 0)) + 16
    assert data[at + offset] not in (0, 1)


def test_buffers_per_thread(run: Run) -> None:
    _, (new,) = run("13.0.85", threads=6, launches=10)
    assert new.counters["requests"] == 6
    _, logs = run("12.9.79", threads=6, launches=10)
    assert logs[-1].counters["requests"] == 1
    assert logs[-1].delivered[KERNEL] == 60
    _, logs = run("12.9.79", {}, {"per_thread": True}, threads=6, launches=10)
    assert logs[-1].counters["requests"] == 6


def test_flush_holds_back_incomplete_buffers(run: Run) -> None:
    report, (log,) = run(tiny={"last_flush": 0}, launches=10, long_kernel=1)
    assert report["records"] == {}
    assert log.made[KERNEL] == 11
    assert log.counters["outstanding"] == 1


def test_forced_flush_gives_running_kernels_without_end(run: Run) -> None:
    report, (log,) = run(tiny={"last_flush": 1}, launches=10, long_kernel=1)
    assert received(report) == {RUNTIME: 11, KERNEL: 11}
    assert log.incomplete == {KERNEL: 1}


def test_late_completion(run: Run) -> None:
    options = {"late_ms": 20}
    report, (log,) = run(tiny={"last_flush": 0}, options=options, launches=10, linger_ms=60)
    assert received(report)[KERNEL] == 10
    assert log.incomplete == {}
    report, logs = run(tiny={"last_flush": 0}, options={"late_ms": 10000}, launches=10)
    assert report["records"] == {}
    report, logs = run(tiny={"last_flush": 1}, options={"late_ms": 10000}, launches=10)
    assert received(report)[KERNEL] == 10
    assert logs[-1].incomplete == {KERNEL: 10}


def test_late_records_of_forced_buffers_are_not_delivered_again(run: Run) -> None:
    report, (log,) = run(
        tiny={"flush_ms": 1, "bytes": 4096},
        options={"late_ms": 3},
        threads=4,
        launches=3000,
        rate=20000,
    )
    assert received(report) == log.delivered == log.made


def test_drops(run: Run) -> None:
    report, (log,) = run(options={"drop_every": 7}, launches=500)
    assert report["dropped"] == log.dropped[RUNTIME] + log.dropped[KERNEL] == 1000 // 7
    for kind in (RUNTIME, KERNEL):
        assert log.made[kind] == log.delivered[kind] + log.dropped[kind]


def test_null_buffer(run: Run) -> None:
    tiny = {"null_after": 1, "bytes": 4096}
    report, (log,) = run("12.9.79", tiny, launches=1000)
    assert report["dropped"] == sum(log.dropped.values()) > 0
    assert sum(log.made.values()) == sum(log.delivered.values()) + sum(log.dropped.values())
    run("12.8.90", tiny, launches=1000, status=-signal.SIGABRT)
    assert "NULL buffer" in run.stderr


@pytest.mark.parametrize("refuse", [False, True])
def test_unknown_kind(run: Run, refuse: bool) -> None:
    options = {"unknown_every": 100, "unknown": "refuse" if refuse else "step"}
    report, (log,) = run(options=options, launches=1000)
    assert log.delivered[FUTURE] == 19
    if refuse:
        assert report["refused"] == report["buffers"]
        assert sum(received(report).values()) == 100
    else:
        assert received(report) == log.delivered


def test_zeroed_out_buffers_are_checked(run: Run) -> None:
    _, (log,) = run(tiny={"zeroed": 1}, launches=10)
    assert log.counters["dirty_buffers"] == 0
    _, logs = run(tiny={"zeroed": 2}, launches=10)
    assert logs[-1].counters["dirty_buffers"] == 1
    _, logs = run(tiny={"zeroed": 0}, launches=10)
    assert logs[-1].counters["dirty_buffers"] == 0


def test_second_subscriber_is_refused(run: Run) -> None:
    report, _ = run(tiny={"subscribe": 1})
    assert report["subscribe"] == 0
    report, _ = run(tiny={"subscribe": 1}, options={"other_client": True})
    assert report["subscribe"] == 39


def test_take_over(run: Run) -> None:
    report, (log,) = run(tiny={"bytes": 4096}, launches=1000, takeover_at=500, rate=20000)
    mine = sum(received(report).values())
    assert mine == log.clients[0]
    assert 0 < mine < 1000  # the last buffer of the first client goes to the second
    assert sum(log.clients) == sum(log.delivered.values()) == 2000


def test_switched_off_functions(run: Run) -> None:
    report, (log,) = run(tiny={"kinds": "5", "off": "17,10"}, launches=50, noise=4)
    assert received(report) == {RUNTIME: 50}
    assert log.api == {("runtime", 211): 50}
    report, _ = run("12.4.127", {"kinds": "5", "off": "17,10"}, launches=50, noise=4)
    assert received(report) == {RUNTIME: 250}


def test_correlation_ids(run: Run) -> None:
    options = {"correlation": 4294967290, "log_rows": True}
    _, (log,) = run(tiny={"kinds": "5,4,10"}, options=options, launches=10)
    expected = [(4294967290 + i) % 2**32 for i in range(10)]
    for kind in (RUNTIME, DRIVER, KERNEL):
        assert [row["correlationId"] for row in log.rows(kind)] == expected
    _, logs = run(tiny={"kinds": "10"}, options=options, launches=10)
    assert {row["correlationId"] for row in logs[-1].rows(KERNEL)} == {0}


def test_moving_names(run: Run) -> None:
    report, (log,) = run(
        tiny={"bytes": 8192}, options={"names": "moving"}, launches=2000, names=200
    )
    assert report["lost_names"] == 0
    assert log.names == {kernel_name(i): 10 for i in range(200)}


def test_errors(run: Run) -> None:
    report, _ = run(
        tiny={"bad_flush": 1}, options={"fail": "cuptiActivityEnable:10=35"}, launches=9
    )
    assert report["early_flush"] == 7  # INVALID_OPERATION: no callbacks registered yet
    assert report["bad_flush"] == report["buffers"] == 1
    assert report["enable"] == 35
    assert received(report) == {RUNTIME: 9}
    report, _ = run(tiny={"kinds": "6"}, options={})
    assert report["enable"] == 21  # a legacy kind
    report, _ = run("12.9.79", {"kinds": "6"})
    assert report["enable"] == 0


def test_no_message_when_the_library_does_not_load(fakes: Fakes, tmp_path: Path) -> None:
    env = {**os.environ, **fakes.env(log=tmp_path), "CUDA_INJECTION64_PATH": "/nonexistent.so"}
    done = subprocess.run(
        fakes.program(launches=5), env=env, capture_output=True, check=True, timeout=60
    )
    assert done.stdout == done.stderr == b""


def test_forked_and_killed(run: Run) -> None:
    report, logs = run(launches=20, fork_after=2)
    assert received(report)[KERNEL] == 20
    assert len(logs) == 1
    run(launches=20, fork=2, tiny={"flush_ms": 1})
    _, logs = run(tiny={"flush_ms": 5}, launches=20, handed_over=1, exit="kill", status=-9)
    killed = [log for log in logs if not log.ended]
    assert [log.delivered[KERNEL] for log in killed] == [20]


def test_spawned_children(run: Run) -> None:
    _, logs = run(launches=7, spawn=3)
    assert [log.delivered[KERNEL] for log in logs] == [7] * 4


def test_program_streams(fakes: Fakes) -> None:
    command = fakes.program(no_cuda=1, echo=1, print="out", print_error="err", status=7)
    done = subprocess.run(command, input="text", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\ntext", "err\n")


def test_program_counts_interrupts(fakes: Fakes) -> None:
    command = fakes.program(no_cuda=1, count_sigint=5000, print="ready")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "sigint=1\n"


@pytest.mark.parametrize("size", [1 << 20, 100_000])
def test_replay_of_a_training_step(run: Run, size: int) -> None:
    play = DATA / "raw_cupti13.0_torch.bin.gz"
    report, (log,) = run(
        "13.0.85",
        {"bytes": size, "kinds": "1,2,5,8,9,10,37,49"},
        {"play": play},
        play=1,
    )
    assert received(report)[RUNTIME] == 140_720
    assert received(report)[KERNEL] == 17_480
    assert report["buffers"] == 9 if size == 1 << 20 else 90 <= report["buffers"] <= 110
    assert log.counters["played"] == sum(received(report).values()) == 158_471
    assert report["lost_names"] == 0


def test_replay_obeys_what_is_enabled(run: Run) -> None:
    play = DATA / "raw_cupti13.0_torch.bin.gz"
    report, _ = run("13.0.85", {"kinds": "5,10", "off": "17,10"}, {"play": play}, play=1)
    assert received(report) == {RUNTIME: 140_720 - 105_565 - 17_561, KERNEL: 17_480}


def test_replay_of_the_square_wave(run: Run) -> None:
    play = DATA / "raw_cupti13.5_square_wave.bin.gz"
    report, (log,) = run("13.5.25", {}, {"play": play, "log_rows": True}, play=1)
    assert received(report) == {KERNEL: 751}
    assert len({row["name"] for row in log.rows(KERNEL)}) == 3


def test_millions_of_records_a_second(run: Run) -> None:
    """Fast enough that the fake is never what a measurement measures."""
    report, (log,) = run(tiny={"kinds": "5,10"}, launches=500_000, names=50)
    assert received(report) == {RUNTIME: 500_000, KERNEL: 500_000}
    assert log.names == {kernel_name(i): 10_000 for i in range(50)}
