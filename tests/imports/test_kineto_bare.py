"""Events of which Kineto knew only what it knows of all, as those of ROCm before PyTorch 2."""

from __future__ import annotations

from pathlib import Path

from imports.conftest import Import, event, kineto
from support.trace import assert_rows


def test_work_has_the_call_the_device_and_the_queue_that_kineto_writes_elsewhere(
    tmp_path: Path, imported: Import
) -> None:
    path = kineto(
        tmp_path / "rocm.json",
        event("cpu_op", "aten::a", 90, 100, **{"External id": 26}),
        event("cpu_op", "aten::mm", 200, 100, **{"External id": 517}),
        event("cuda_runtime", "hipGetDevicePropertiesR0600", 205, 0, **{"External id": 24}),
        event(
            "cuda_runtime", "hipExtModuleLaunchKernel", 210, 5,
            **{"External id": 26, "grid dim": [512, 4, 1], "stream": "0x0"},
        ),
        event("cuda_runtime", "hipMemcpyWithStream", 220, 5, **{"External id": 27}),
        event("kernel", "gemm", 230, 40, 2, tid=1, **{"External id": 26}),
        event("gpu_memcpy", "CopyHostToDevice", 280, 10, 2, tid=1, **{"External id": 27}),
    )  # fmt: skip
    trace = imported(path)
    assert_rows(
        trace.sql("SELECT kind, api_name, device_id, stream_id FROM launch_to_gpu ORDER BY kind"),
        """
        kind   api_name                 device_id stream_id
        kernel hipExtModuleLaunchKernel 2         1
        memcpy hipMemcpyWithStream      2         1
        """,
    )
    assert_rows(trace.query("gpu_busy"), "gpu busy_ns\n2 50000")
    # Numbers of operators are others.
    assert trace.sql("FROM external_correlation").count() == 0
    assert_rows(
        trace.query("operator_summary"),
        "name self_gpu_ns launches\naten::mm 50000 2\naten::a 0 0",
    )


def test_where_calls_have_ids_that_of_an_operator_is_none(tmp_path: Path, imported: Import) -> None:
    path = kineto(
        tmp_path / "cuda.json",
        event("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=7, **{"External id": 3}),
        event("cuda_runtime", "cudaLaunchKernel", 20, 5, correlation=3, **{"External id": 4}),
        event("kernel", "k", 30, 5, 99999, **{"External id": 3}),
    )
    trace = imported(path)
    assert_rows(trace.sql("SELECT correlation_id, device_id FROM kernel"), "correlation_id\n-")
    assert trace.query("launch_to_gpu").count() == 0
