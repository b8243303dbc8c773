"""Which device work was on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from imports.conftest import Import, event, kineto
from support.trace import assert_rows

from cupti_etl.analysis.findings import none
from cupti_etl.imports.kineto import reader
from cupti_etl.imports.kineto.events import EventReader
from cupti_etl.imports.source import ASKS
from cupti_etl.queries.catalog import library

MI300 = {"id": 0, "name": "AMD Instinct MI300X"}
H100 = {"id": 0, "name": "NVIDIA H100"}


@pytest.mark.parametrize(
    ("members", "devices"),
    [
        # ROCm counts two processors of the host before it.
        ({"deviceProperties": [MI300], "hip_driver_version": 7}, "0 AMD_Instinct_MI300X 1"),
        ({"hip_driver_version": 7, "deviceProperties": [MI300]}, "0 AMD_Instinct_MI300X 1"),
        # Which of several it is, is not known, but what it is, if all are alike.
        (
            {"deviceProperties": [MI300, {**MI300, "id": 1}], "roctracer_version": 4.1},
            "0 AMD_Instinct_MI300X 0\n 1 AMD_Instinct_MI300X 0\n 2 AMD_Instinct_MI300X 1",
        ),
        (
            {"deviceProperties": [MI300, {"id": 1, "name": "MI210"}], "roctracer_version": 4.1},
            "0 AMD_Instinct_MI300X 0\n 1 MI210 0\n 2 - 1",
        ),
        ({"deviceProperties": [{"id": "x"}], "hip_driver_version": 7}, "2 - 1"),
        ({"hip_driver_version": 7}, "2 - 1"),
        ({"deviceProperties": [H100]}, "0 NVIDIA_H100 0\n 2 - 1"),
    ],
)
def test_the_only_device_of_rocm(
    tmp_path: Path, imported: Import, members: dict[str, object], devices: str
) -> None:
    kernel = event("kernel", "k", 1e15, 10, 2, device=2, stream=0, correlation=1)
    trace = imported(kineto(tmp_path / "a.json", kernel, **members))
    assert_rows(
        trace.sql(
            "SELECT device_id, replace(name, ' ', '_') AS name,"
            " (SELECT count(*) FROM kernel WHERE kernel.device_id = device.device_id) AS kernels"
            " FROM device ORDER BY device_id"
        ),
        f"device_id name kernels\n {devices}",
    )


@pytest.mark.parametrize("ahead", ["", "last_"])
def test_the_only_device_of_rocm_stands_behind_many_events(
    tmp_path: Path, imported: Import, monkeypatch: pytest.MonkeyPatch, ahead: str
) -> None:
    # As in files that were written anew: what is said of devices comes when work was read.
    monkeypatch.setattr(reader, "EventReader", partial(EventReader, rows=1, piece=64))
    kernel = event("kernel", "k", 1e15, 10, 2, device=2, stream=0, correlation=1)
    members = {f"{ahead}deviceProperties": [MI300], f"{ahead}roctracer_version": 4.1}
    trace = imported(kineto(tmp_path / "a.json", kernel, NO_KERNEL, **members))
    assert_rows(trace.sql("SELECT device_id FROM device"), "device_id\n 0")
    assert_rows(trace.sql("SELECT device_id FROM kernel"), "device_id\n 0")


KERNEL = event("kernel", "k", 1e15, 10, 1, device=1, stream=7, correlation=1)
NO_KERNEL = event("cpu_op", "aten::add", 1e15, 10, 1)


@pytest.mark.parametrize(
    ("did", "members", "devices"),
    [
        (KERNEL, {"distributedInfo": {"rank": 1, "world_size": 2}}, "1"),
        # One that did nothing on a GPU has none of those of others.
        (NO_KERNEL, {"distributedInfo": {"rank": 1, "world_size": 2}}, ""),
        (NO_KERNEL, {"distributedInfo": {"rank": 0, "world_size": 1}}, "0 1 2"),
        # Without a rank, all that the process saw are its own.
        (KERNEL, {}, "0 1 2"),
    ],
)
def test_a_rank_sees_the_gpus_of_others(
    tmp_path: Path,
    imported: Import,
    did: dict[str, object],
    members: dict[str, object],
    devices: str,
) -> None:
    seen = [{**H100, "id": number} for number in range(3)]
    trace = imported(kineto(tmp_path / "a.json", did, deviceProperties=seen, **members))
    assert_rows(
        trace.sql("SELECT device_id FROM device ORDER BY device_id"),
        "device_id\n" + "\n".join(devices.split()),
    )
    not_its_own = 3 - len(devices.split())
    assert_rows(
        trace.sql("SELECT what, events FROM import_skipped WHERE what = 'deviceProperties'"),
        "what events" + (f"\n deviceProperties {not_its_own}" if not_its_own else ""),
    )


@pytest.mark.slow
def test_gpus_of_ranks_are_in_their_order(tmp_path: Path, imported: Import) -> None:
    files = []
    for rank in (2, 0, 1):
        events = [
            event("user_annotation", f"ProfilerStep#{at}", 1e15 + 50 * at, 40, rank)
            for at in range(2)
        ]
        for at in range(2):
            call = {"correlation": at + 1}
            start = 1e15 + 50 * at
            events.append(event("cuda_runtime", "cudaLaunchKernel", start + 1, 1, rank, **call))
            place = {"device": rank, "stream": 7, **call}
            events.append(event("kernel", "k", start + 5, 9 + rank, rank, **place))
        members = {
            "distributedInfo": {"rank": rank, "world_size": 3},
            "deviceProperties": [{**H100, "id": number} for number in range(3)],
        }
        files.append(kineto(tmp_path / f"rank{rank}.json", *events, **members))
    trace = imported(*files)
    assert_rows(
        trace.query("step_summary"),
        """
        gpu step busy_ns
        0   0    9000
        0   1    9000
        1   0    10000
        1   1    10000
        2   0    11000
        2   1    11000
        """,
    )
    assert [
        row["subject"].split()[-1]
        for row in trace.query("run_summary")
        if row["section"] == "process"
    ] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("call", "work", "expected"),
    [
        ("cudaLaunchKernel", "", ["torch.profiler: 2 calls launched, copied or set, and"]),
        ("hipLaunchKernel", "", ["torch.profiler: 2 calls launched, copied or set, and"]),
        ("cudaEventRecord", "", []),
        ("cudaLaunchKernel", "gpu_memset", []),
    ],
)
def test_work_that_was_asked_for_and_not_recorded(
    tmp_path: Path, imported: Import, call: str, work: str, expected: list[str]
) -> None:
    # As where CUPTI gives no records of GPUs: the file has calls, and neither kernels nor copies.
    path = kineto(
        tmp_path / "a.json",
        *(event("cuda_runtime", call, at, 5, correlation=at) for at in (100, 200)),
        event("cuda_runtime", "cudaMalloc", 300, 5, correlation=300),
        *([event(work, "Memset (Device)", 110, 5, device=0, correlation=100)] if work else []),
    )
    trace = imported(path)
    rows = list(trace.sql("FROM loss"))
    told = [
        row["detail"].split(" no work of a GPU is in the file: it may lack the permission")
        for row in rows
    ]
    assert [detail for detail, _ in told] == expected
    assert all(f" {row['detail']}." in none(trace) for row in rows)


def test_imports_and_queries_know_the_same_calls_that_ask_for_work() -> None:
    """An import counts them before there is a trace to ask."""
    assert f"'{ASKS}'" in library()["_process_without_links"].sql
