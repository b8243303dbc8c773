"""``capture --callbacks``: the table ``callback_event``, against what the fake CUPTI told."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from support.captures import Capture, Capturer
from support.command import etl
from support.fake_cuda import script
from support.fakes import CUPTI_12, CUPTI_13

# As tests/native/fake_cuda.h makes the arguments up.
DST, SRC, VALUE, FAILURE = 0x7F0000001000, 0x7F0000002000, 7, 719
CALLS = """
cuda()
driver.fakeLaunch(3, 9, 0)
driver.fakeMemcpy.argtypes = driver.fakeMemset.argtypes = ctypes.c_uint32, ctypes.c_uint64
driver.fakeMalloc.argtypes = ctypes.c_uint64,
driver.fakeMemcpy(2, 5_000_000_000)
driver.fakeMemset(0, 4096)
driver.fakeMalloc(1 << 33)
driver.fakeLaunch(0, 1, 4)
driver.fakeSynchronize()
"""


def capture(
    capturer: Capturer, callbacks: str, *options: str, text: str = CALLS, **more: Any
) -> Capture:
    """A capture of a script with these callbacks."""
    release = more.pop("release", CUPTI_13)
    done = capturer.run(release, ["--callbacks", callbacks, *options], more, script(text))
    assert done.status == 0, done.stderr
    return done


def rows(done: Capture) -> list[dict[str, Any]]:
    """The rows in their order, of each what is known."""
    found = sorted(done.rows("callback_event"), key=lambda row: row["start_ns"])
    return [{key: value for key, value in row.items() if value is not None} for row in found]


def picked(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in names)


@pytest.mark.parametrize("records", ["fixed", "selected"])
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_calls_are_rows_with_their_arguments(
    capturer: Capturer, release: str, records: str
) -> None:
    if release == CUPTI_12 and records == "selected":
        pytest.skip("it has no selected records")
    done = capture(
        capturer,
        "driver:cuLaunchKernel,cuMem*,runtime:cudaLaunchKernel,cudaMem*,cudaMalloc",
        *("--records", records),
        release=release,
    )
    done.check_sums()
    assert not done.losses()
    assert "10 callback_event" in done.stderr
    found = rows(done)
    by_function = {(row["domain"], row["function"]): row for row in found[::-1]}
    assert len(found) == 10
    assert len(by_function) == 8
    for domain, function in (("driver", "cuLaunchKernel"), ("runtime", "cudaLaunchKernel")):
        launch = by_function[domain, function]
        sizes = [f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"]
        assert picked(launch, *sizes) == (10, 2, 3, 128, 4, 1)
        assert picked(launch, "dynamic_shared_bytes", "stream", "result") == (48, 0x3000, 0)
        assert launch["symbol"].endswith("kernel_9EPKfPfi")
        assert picked(launch, "bytes", "copy_kind", "message", "object") == (None,) * 4
    copy = "bytes", "stream", "src_address", "dst_address", "copy_kind"
    assert picked(by_function["driver", "cuMemcpyAsync"], *copy) == (5e9, 0x2000, SRC, DST, None)
    assert picked(by_function["runtime", "cudaMemcpyAsync"], *copy) == (
        *(5e9, 0x2000, SRC, DST),
        "DtoH",
    )
    for domain, function in (("driver", "cuMemsetD8Async"), ("runtime", "cudaMemsetAsync")):
        row = by_function[domain, function]
        assert picked(row, "bytes", "value", "dst_address", "stream") == (4096, VALUE, DST, 0)
    for domain, function in (("driver", "cuMemAlloc_v2"), ("runtime", "cudaMalloc")):
        assert picked(by_function[domain, function], "bytes", "stream") == (1 << 33, None)
    failed = [row for row in found if row["result"] != 0]
    assert {(row["function"], row["result"]) for row in failed} == {
        ("cuLaunchKernel", FAILURE),
        ("cudaLaunchKernel", FAILURE),
    }
    _check_against_api_calls(done, found)


def _check_against_api_calls(done: Capture, found: list[dict[str, Any]]) -> None:
    kernels = {row["correlation_id"]: row["name"] for row in done.rows("kernel")}
    for row in found:
        assert row["start_ns"] <= row["end_ns"]
        assert row["thread_id"] > 0
        assert row["context_id"] == 1
        if row.get("symbol"):
            assert kernels[row["correlation_id"]] == row["symbol"]


@pytest.mark.slow
def test_other_domains_tell_what_happened(capturer: Capturer) -> None:
    done = capture(capturer, "resource,synchronize,state:ERROR")
    found = [picked(row, "domain", "function", "stream", "object") for row in rows(done)]
    assert [one for one in found if one[0] == "resource"] == [
        ("resource", "CU_INIT_FINISHED", None, None),
        ("resource", "CONTEXT_CREATED", None, 1),
        ("resource", "STREAM_CREATED", 0x3000, 0x3000),
        ("resource", "STREAM_CREATED", 0x2000, 0x2000),
    ]
    assert [one for one in found if one[0] != "resource"] == [
        ("state", "ERROR", None, None),
        ("synchronize", "CONTEXT_SYNCHRONIZED", 0, None),
    ]
    (error,) = [row for row in rows(done) if row["domain"] == "state"]
    assert picked(error, "message", "result", "end_ns") == ("launch failed", FAILURE, None)
    done.check_sums()


@pytest.mark.slow
def test_nvtx_has_its_messages(capturer: Capturer) -> None:
    options = ["--callbacks", "nvtx:nvtxRangePush*,nvtxMarkA,nvtxDomainRangePushEx"]
    done = capturer.run(CUPTI_13, options, launches=20, nvtx_every=10)
    assert done.status == 0, done.stderr
    told = {(row["function"], row["message"]) for row in done.rows("callback_event")}
    markers = {row["name"] for row in done.rows("marker")}
    assert told
    assert {message for _, message in told if message} <= markers
    done.check_sums()


@pytest.mark.slow
def test_four_threads_lose_nothing(capturer: Capturer) -> None:
    options = ["--callbacks", "driver:cuLaunchKernel,runtime"]
    done = capturer.run(CUPTI_13, options, threads=4, launches=5000, streams=3, names=40)
    assert done.status == 0, done.stderr
    assert not done.losses()
    done.check_sums()
    found = done.rows("callback_event")
    launches = [row for row in found if row["function"] == "cuLaunchKernel"]
    assert len(launches) == 20_000 == done.count("kernel")
    kernels = {row["correlation_id"]: row["name"] for row in done.rows("kernel")}
    assert {row["correlation_id"]: row["symbol"] for row in launches} == kernels
    assert len({row["thread_id"] for row in launches}) == 4


@pytest.mark.slow
def test_what_finds_no_room_is_counted(capturer: Capturer) -> None:
    """A collector that reads nothing for a while: 64 MiB hold so many, and no more."""
    text = """
import signal, subprocess
cuda()
collector = os.getppid()
os.kill(collector, signal.SIGSTOP)
launch(400_000)
os.kill(collector, signal.SIGCONT)
"""
    done = capture(
        capturer,
        "driver:cuLaunchKernel",
        *("--buffer-mb", "32", "--kinds", "memcpy", "--api", "none"),
        text=text,
    )
    (loss,) = [row for row in done.losses()["ring_full"] if row["table_name"] == "callback_event"]
    assert done.count("callback_event") + loss["records"] == 400_000
    done.check_sums()


REFUSED = {
    "drive": ("there is no callback domain 'drive'", "domains are driver"),
    "driver:cuLaunchKernal": (
        "there is no callback 'cuLaunchKernal' in the domain driver",
        "did you mean cuLaunchKernel",
    ),
    "runtime:cuLaunchKernel": ("there is no callback 'cuLaunchKernel'", "did you mean"),
    "driver:zzz*": ("there is no callback 'zzz*'", "cuLaunch* stands for several"),
    "cuLaunchKernel": ("there is no callback domain 'cuLaunchKernel'", "domains are"),
    "resource:NONE_SUCH,state": ("there is no callback 'NONE_SUCH'", ""),
}


@pytest.mark.parametrize("callbacks", REFUSED)
def test_what_does_not_exist_is_refused(callbacks: str) -> None:
    done = etl("capture", "--callbacks", callbacks, "--", "true")
    assert done.returncode == 2
    assert all(part in done.stderr for part in REFUSED[callbacks]), done.stderr


@pytest.mark.slow
def test_a_recording_holds_them(capturer: Capturer, tmp_path: Any) -> None:
    done = capture(capturer, "driver:cuLaunchKernel", "--save-raw", str(tmp_path / "raw.etlrec"))
    etl("import", str(tmp_path / "raw.etlrec"), "-o", str(tmp_path / "again"))
    again = Capture(tmp_path / "again", subprocess.CompletedProcess([], 0, "", ""), done.log)
    key = "start_ns"
    assert sorted(again.rows("callback_event"), key=lambda row: row[key]) == sorted(
        done.rows("callback_event"), key=lambda row: row[key]
    )


@pytest.mark.slow
def test_stacks_and_ranges_live_beside_them(capturer: Capturer) -> None:
    done = capture(capturer, "driver", "--python-stacks", text="cuda()\nlaunch(50)\nos.getpid()\n")
    assert done.count("launch_stack") == 50
    assert len([row for row in rows(done) if row["function"] == "cuLaunchKernel"]) == 50
    done.check_sums()
