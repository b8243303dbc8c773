"""Fake program, injector, segment, collector, Parquet: every row is the record emitted."""

from __future__ import annotations

import gzip
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.captures import Capture, Capturer
from support.expected import TABLES, all_rows
from support.fakes import CUPTI_12, KERNEL, RUNTIME, Fakes, kernel_name

pytestmark = pytest.mark.slow

DATA = Path(__file__).resolve().parents[1] / "data"
# What is left of the fake program's calls at each level of --api.
LAUNCHES = {
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "cuLaunchKernel",
    "cuMemcpyAsync",
    "cuMemsetD8Async",
}
DEFAULT = LAUNCHES | {"cudaMalloc", "cuMemAlloc_v2", "cudaDeviceSynchronize", "cuCtxSynchronize"}
WORK: dict[str, Any] = {
    "launches": 300,
    "names": 70,
    "streams": 3,
    "copy_every": 4,
    "set_every": 5,
    "malloc_every": 50,
    "sync_every": 60,
    "nvtx_every": 20,
    "noise": 4,
}


Values = Counter[tuple[tuple[str, Any], ...]]


def counted(rows: list[dict[str, Any]]) -> Values:
    """Rows regardless of their order and of the order of columns."""
    return Counter(tuple(sorted(row.items(), key=lambda item: item[0])) for row in rows)


def rows_by_pid(capture: Capture, table: str) -> Values:
    """Rows of a table with ``pid`` for ``process_id``."""
    pids = {row["process_id"]: row["pid"] for row in capture.rows("process")}
    rows = capture.rows(table)
    for row in rows:
        row["pid"] = pids[row.pop("process_id")]
    return counted(rows)


def difference(table: str, expected: Values, found: Values) -> str:
    """How many rows differ, and in which columns the first ones do."""
    missing, extra = sorted((expected - found), key=repr), sorted((found - expected), key=repr)
    pair = zip(missing[0], extra[0], strict=False) if missing and extra else ()
    columns = [f"{want} is {have[1]!r}" for want, have in pair if want != have]
    return f"{table}: {len(missing)} rows missing, {len(extra)} unexpected; {columns}"


def assert_rows(capture: Capture, calls: set[str] | None) -> None:
    """Each table of records holds exactly what the fakes handed over."""
    for table in TABLES:
        expected, found = counted(all_rows(capture.log, table, calls)), rows_by_pid(capture, table)
        if expected != found:
            pytest.fail(difference(table, expected, found))
    for process in capture.log:
        assert process.counters["dirty_buffers"] == 0
        assert process.counters["misaligned"] == 0
        assert process.counters["flush_in_callback"] == 0
        assert process.counters["outstanding"] == 0
    capture.check_sums()
    assert capture.losses() == {}


@pytest.mark.parametrize(
    ("release", "threads", "processes"),
    [
        ("12.0.146", 1, 1),
        ("12.4.127", 16, 1),
        ("12.5.82", 1, 1),
        ("12.8.90", 1, 8),
        ("12.9.79", 4, 1),
        ("13.0.85", 16, 1),
        ("13.1.115", 1, 1),
        ("13.3.75", 1, 1),
        ("13.5.25", 1, 1),
        ("13.5.25", 2, 8),
        ("13.5.25", 16, 1),
    ],
)
def test_every_row(capturer: Capturer, release: str, threads: int, processes: int) -> None:
    work = WORK | {"launches": 40 if processes > 1 else 100 if threads > 1 else 300}
    capture = capturer.run(
        release, fake={"log_rows": True}, threads=threads, spawn=processes - 1, **work
    )
    assert capture.status == 0, capture.stderr
    assert len(capture.rows("process")) == len(capture.log) == processes
    assert {row["state"] for row in capture.rows("process")} == {"finished"}
    assert capture.count("kernel") == work["launches"] * threads * processes
    assert_rows(capture, DEFAULT)


@pytest.mark.parametrize("release", ["12.4.127", "13.5.25"])
@pytest.mark.parametrize(
    ("level", "calls"), [("all", None), ("launch", LAUNCHES), ("none", set[str]())]
)
def test_api_levels(capturer: Capturer, release: str, level: str, calls: set[str] | None) -> None:
    capture = capturer.run(release, ["--api", level], fake={"log_rows": True}, **WORK)
    assert capture.status == 0, capture.stderr
    assert_rows(capture, calls)
    if level != "none":
        kernels, named = capture.rows("kernel"), Counter[int]()
        for row in capture.rows("api_call"):
            named[row["correlation_id"]] += row["name"] == "cudaLaunchKernel"
        assert all(named[row["correlation_id"]] == 1 for row in kernels)


def test_driver_api_program(capturer: Capturer) -> None:
    capture = capturer.run(fake={"log_rows": True}, launches=50, driver_api=1)
    assert capture.count("api_call") == capture.count("kernel") == 50
    assert {row["name"] for row in capture.rows("api_call")} == {"cuLaunchKernel"}
    assert_rows(capture, DEFAULT)


def test_kinds(capturer: Capturer) -> None:
    capture = capturer.run(options=["--kinds", "kernel,memset"], **WORK)
    assert capture.count("kernel") == 300
    assert capture.count("memset") == 60
    for table in ("api_call", "memcpy", "marker", "device"):
        assert capture.count(table) == 0


def test_names_in_memory_that_is_reused(capturer: Capturer) -> None:
    fake = {"names": "moving", "log_rows": True}
    capture = capturer.run(fake=fake, launches=5000, names=500, options=["--flush-ms", "1"])
    assert Counter(row["name"] for row in capture.rows("kernel")) == {
        kernel_name(i): 10 for i in range(500)
    }
    assert {row["mangled"] for row in capture.rows("kernel_name")} == set(
        map(kernel_name, range(500))
    )
    assert_rows(capture, DEFAULT)


def test_correlation_ids_that_wrap(capturer: Capturer) -> None:
    # Few enough for one buffer: CUPTI hands several over in any order, and which id is seen first
    # decides what the rest is near to.  A process that has just begun to count is never near the
    # wrap.
    one = ["--flush-ms", "60000"]
    capture = capturer.run(CUPTI_12, one, fake={"correlation": 2**32 - 75}, launches=150)
    assert capture.log[0].counters["requests"] == 1
    kernels = sorted(
        row["correlation_id"] for row in capture.rows("kernel") if row["correlation_id"]
    )
    calls = {row["correlation_id"] for row in capture.rows("api_call")}
    assert kernels == [i for i in range(2**32 - 75, 2**32 + 75) if i != 2**32]  # 0 is no id
    assert calls >= set(kernels)


def test_late_completion(capturer: Capturer) -> None:
    fake = {"late_ms": 15, "log_rows": True}
    capture = capturer.run(
        fake=fake, options=["--flush-ms", "5"], launches=400, rate=4000, linger_ms=40
    )
    assert all(row["end_ns"] > row["start_ns"] for row in capture.rows("kernel"))
    assert_rows(capture, DEFAULT)


def test_many_threads(capturer: Capturer) -> None:
    capture = capturer.run(threads=500, launches=4)
    assert capture.count("kernel") == 2000
    assert capture.log[0].counters["requests"] >= 500
    assert capture.losses() == {}
    capture.check_sums()


def test_the_copy_already_in_the_process_is_used(capturer: Capturer, fakes: Fakes) -> None:
    old = fakes.cupti("12.9.79")
    capture = capturer.run("13.5.25", preload=old, launches=10)
    (process,) = capture.rows("process")
    assert process["cupti_version"] == 28
    assert Path(process["cupti_path"]) == old
    assert capture.count("kernel") == 10


def test_two_programs_in_turn(capturer: Capturer, fakes: Fakes) -> None:
    first, second = fakes.program(launches=10), fakes.program(launches=20, status=5)
    script = f"{' '.join(first)}; echo between; {' '.join(second)}"
    capture = capturer.run(command=["sh", "-c", script])
    assert (capture.status, capture.stdout) == (5, "between\n")
    assert sorted(process["stored"] for process in capture.rows("process")) == [32, 62]
    assert capture.count("kernel") == 30


def test_a_million_records(capturer: Capturer) -> None:
    capture = capturer.run(threads=2, launches=150_000, names=10, options=["--buffer-mb", "1024"])
    (process,) = capture.rows("process")
    assert process["state"] == "finished"
    assert process["emitted"] == sum(capture.log[0].delivered.values())
    capture.check_sums()


def raw_records(name: str) -> list[tuple[int, bytes]]:
    """Records of a recorded file: the real sizes of CUPTI 13.0."""
    strides = {1: 96, 2: 88, 4: 40, 5: 40, 8: 184, 9: 32, 10: 216, 37: 24, 49: 128}
    data = gzip.decompress((DATA / name).read_bytes())
    found, offset = [], 0
    while offset < len(data):
        (length,) = struct.unpack_from("<Q", data, offset + 8)
        offset += 16
        end = offset + length
        while offset < end:
            (kind,) = struct.unpack_from("<I", data, offset)
            found.append((kind, data[offset : offset + strides[kind]]))
            offset += strides[kind]
    return found


def test_replay_of_real_buffers(capturer: Capturer) -> None:
    """Buffers of a training program on an H200; ten rows are checked by hand."""
    play = DATA / "raw_cupti13.0_torch.bin.gz"
    capture = capturer.run("13.0.85", ["--api", "all"], fake={"play": play}, play=1)
    assert capture.status == 0, capture.stderr
    assert capture.count("api_call") == 140_720
    assert capture.count("kernel") == 17_480
    assert capture.count("memcpy") == 72
    capture.check_sums()
    records = raw_records(play.name)
    kernels = [record for kind, record in records if kind == KERNEL]
    calls = [record for kind, record in records if kind == RUNTIME]
    rows = {row["correlation_id"]: row for row in capture.rows("kernel")}
    for record in kernels[:: len(kernels) // 5][:5]:
        start, end = struct.unpack_from("<QQ", record, 16)
        grid = struct.unpack_from("<3i3i", record, 52)
        (correlation,) = struct.unpack_from("<I", record, 92)
        (pointer,) = struct.unpack_from("<Q", record, 104)
        row = rows[correlation]
        assert (row["start_ns"], row["end_ns"]) == (start, end)
        assert grid == tuple(row[f"{a}_{b}"] for a in ("grid", "block") for b in "xyz")
        assert row["stream_id"] == struct.unpack_from("<I", record, 48)[0]
        assert row["name"] == f"_Z{7 + len(f'{pointer:x}')}kernel_{pointer:x}v"
        assert row["registers_per_thread"] == struct.unpack_from("<H", record, 6)[0]
    by_start = {row["start_ns"]: row for row in capture.rows("api_call")}
    for record in calls[:: len(calls) // 5][:5]:
        cbid, start, end = struct.unpack_from("<IQQ", record, 4)
        thread, correlation = struct.unpack_from("<iI", record, 28)
        row = by_start[start]
        assert (row["cbid"], row["end_ns"], row["thread_id"]) == (cbid, end, thread)
        assert row["correlation_id"] == correlation


def test_replay_without_noise(capturer: Capturer) -> None:
    play = DATA / "raw_cupti13.0_torch.bin.gz"
    capture = capturer.run("13.0.85", fake={"play": play}, play=1)
    names = Counter(row["name"] for row in capture.rows("api_call"))
    assert names["cudaLaunchKernel"] == 17_480
    assert names["cudaMemcpyAsync"] == 72
    assert not {"cudaGetDevice", "cudaGetLastError"} & names.keys()
    assert capture.count("kernel") == 17_480


def test_replay_of_the_square_wave(capturer: Capturer) -> None:
    play = DATA / "raw_cupti13.5_square_wave.bin.gz"
    capture = capturer.run("13.5.25", fake={"play": play}, play=1)
    assert capture.count("kernel") == 751
    assert len(capture.rows("kernel_name")) == 3


def test_a_recording_replays_to_the_same_rows(capturer: Capturer, tmp_path: Path) -> None:
    recording, again = tmp_path / "run.rec", tmp_path / "again"
    capture = capturer.run(options=["--save-raw", recording], spawn=1, **WORK)
    words, env, _, _ = capturer.prepare(None, command=["true"])
    command = [*words[: words.index("capture")], "replay", str(recording), "-o", str(again)]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=120)
    replayed = Capture(again, subprocess.CompletedProcess([], 0, "", ""), capture.log)
    for table in TABLES:
        assert rows_by_pid(replayed, table) == rows_by_pid(capture, table)
