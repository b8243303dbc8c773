"""Files of several ranks that were merged into one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from imports.conftest import Import, event, kineto
from support.trace import assert_rows


def of_rank(at: int, cpu: object, gpu: object, correlation: int, **said: Any) -> list[Any]:
    """An operator of a rank that launches a kernel, which takes longer in each rank."""
    ids: dict[str, Any] = {"correlation": correlation, **said}
    return [
        event("cpu_op", f"aten::of_{at}", 100, 50, cpu, **{"External id": 1, **said}),
        event("cuda_runtime", "cudaLaunchKernel", 110, 5, cpu, **ids),
        event("kernel", "k", 120, 10 + at, gpu, device=at, stream=7, **ids),
        event("Trace", "PyTorch Profiler (0)", 90, 80, f"{gpu}", **said),
    ]


EXPECTED = """
    pid rank name        gpu_ns device_id
    80  0    aten::of_0  10000  0
    81  1    aten::of_1  11000  1
"""
BY_PROCESS = """
    SELECT pid, rank, nvtx_range.name, kernel.end_ns - kernel.start_ns AS gpu_ns, device_id
    FROM kernel
    JOIN api_call USING (process_id, correlation_id)
    JOIN nvtx_range ON nvtx_range.process_id = kernel.process_id AND nvtx_range.domain = 'cpu_op'
    JOIN process ON process.process_id = kernel.process_id
    ORDER BY pid
"""


def test_ranks_among_the_arguments(tmp_path: Path, imported: Import) -> None:
    """As TraceFuse of TraceLens writes them."""
    path = kineto(
        tmp_path / "fused.json",
        *of_rank(0, 80, 0, 5, rank=0),
        *of_rank(1, 81, 100000001, 100005, rank=1),
    )
    trace = imported(path)
    assert_rows(trace.sql(BY_PROCESS), EXPECTED)
    assert_rows(
        trace.query("operator_summary"), "name self_gpu_ns\naten::of_1 11000\naten::of_0 10000"
    )
    assert trace.sql("FROM process").count() == 2


def test_ranks_before_the_process(tmp_path: Path, imported: Import) -> None:
    """As SGLang merges them, with the members of the first file; ids are those of others, too."""
    path = kineto(
        tmp_path / "merged.json",
        *of_rank(0, "[TP00] 80", "[TP00] 0", 5),
        *of_rank(1, "[TP01] 81", "[TP01] 1", 5),
        distributedInfo={"rank": 0, "world_size": 2},
        deviceProperties=[{"id": number, "name": "H100"} for number in (0, 1, 0, 1)],
    )
    trace = imported(path)
    assert_rows(trace.sql(BY_PROCESS), EXPECTED)
    assert_rows(
        trace.sql("SELECT rank, device_id, name FROM device JOIN process USING (process_id)"),
        "rank device_id name\n0 0 H100\n1 1 H100",
    )


def test_the_process_behind_the_gpu(tmp_path: Path, imported: Import) -> None:
    """As our own export of several processes writes it; ids are those of others, too."""
    path = kineto(
        tmp_path / "exported.json",
        *of_rank(0, 80, "GPU 0 of 80", 5),
        *of_rank(1, 81, "GPU 1 of 81", 5),
        event("cuda_sync", "Stream Sync", 140, 5, "waits of 81", correlation=6, stream=7),
        event("overhead", "Resource", 150, 2, "overhead of 80"),
        event("Trace", "PyTorch Profiler (0)", 90, 90, 81),
        deviceProperties=[{"id": number, "name": "H100"} for number in (0, 1)],
    )
    trace = imported(path)
    assert_rows(
        trace.sql(BY_PROCESS), EXPECTED.replace("80  0 ", "80  - ").replace("81  1 ", "81  - ")
    )
    assert trace.sql("FROM process").count() == 2
    assert trace.sql("FROM device").count() == 2
    of_profiler = "(FROM marker WHERE domain = 'Trace' AND event = 'start')"
    for table, pid in (("synchronization", 81), ("overhead", 80), (of_profiler, 81)):
        assert_rows(
            trace.sql(f"SELECT pid FROM {table} JOIN process USING (process_id)"), f"pid\n {pid}"
        )


def test_ranks_of_several_kinds_have_no_number(tmp_path: Path, imported: Import) -> None:
    path = kineto(
        tmp_path / "merged.json",
        *of_rank(0, "[TP00-DP00] 80", "[TP00-DP00] 0", 5),
        *of_rank(1, "[TP00-DP01] 81", "[TP00-DP01] 1", 5),
        distributedInfo={"rank": 0, "world_size": 2},
    )
    trace = imported(path)
    assert_rows(
        trace.sql(BY_PROCESS), EXPECTED.replace("80  0 ", "80  - ").replace("81  1 ", "81  - ")
    )


def test_work_of_a_rank_without_calls_is_its_own(tmp_path: Path, imported: Import) -> None:
    kernels = [
        event("kernel", "k", 120, 10 + rank, rank, device=rank, rank=rank) for rank in range(2)
    ]
    trace = imported(kineto(tmp_path / "fused.json", *kernels))
    assert_rows(
        trace.sql("SELECT rank, device_id FROM kernel JOIN process USING (process_id)"),
        "rank device_id\n0 0\n1 1",
    )
