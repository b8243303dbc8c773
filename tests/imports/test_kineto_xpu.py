"""Traces of PyTorch on GPUs of Intel (XPUs)."""

from __future__ import annotations

from pathlib import Path

from imports.conftest import Import, event, kineto
from support.trace import assert_rows

# As they are written, but for times that repeat others; queues may have addresses as numbers.
PLACE = {"device": 0, "context": "0x00005581a2b3c4d0", "sycl queue": 94013245890128}


def test_a_launch_its_kernel_and_the_operator_around_them(tmp_path: Path, imported: Import) -> None:
    ids = {"External id": 3, "correlation": 9}
    trace = imported(
        kineto(
            tmp_path / "t.json",
            event("cpu_op", "aten::mm", 1e15, 50, **{"External id": 3}),
            event("xpu_runtime", "urEnqueueKernelLaunch", 1e15 + 10, 20, **ids),
            event("xpu_driver", "zeCommandListAppendLaunchKernel", 1e15 + 12, 8, **ids),
            event("kernel", "gemm_kernel", 1e15 + 40, 30, 0, tid=1, **ids, **PLACE),
        )
    )
    assert_rows(
        trace.sql("FROM api_call ORDER BY start_ns"),
        """
        domain  name                            correlation_id thread_id
        runtime urEnqueueKernelLaunch           9              7
        driver  zeCommandListAppendLaunchKernel 9              7
        """,
    )
    assert_rows(
        trace.sql(
            "SELECT launch.name, context_id, stream_id FROM kernel JOIN launch"
            " USING (process_id, correlation_id)"
        ),
        "name context_id stream_id\nurEnqueueKernelLaunch -1565276976 1",
    )
    assert_rows(
        trace.query("operator_summary"),
        "name calls self_gpu_ns launches kernels\naten::mm 1 30000 1 1",
    )
    assert trace.sql("FROM import_skipped").count() == 0


def test_copies_and_sets(tmp_path: Path, imported: Import) -> None:
    names = (
        "Memcpy M2D (Memory -> Device)",
        "Memcpy D2H (Device -> Host)",
        "Memcpy S2D (Shared -> Device)",
    )
    trace = imported(
        kineto(
            tmp_path / "t.json",
            *(
                event("gpu_memcpy", name, 1e15 + at, 1, 0, bytes=64, **PLACE)
                for at, name in enumerate(names)
            ),
            event("gpu_memset", "Memset (0 -> Device)", 1e15, 1, 0, bytes=8, **PLACE),
        )
    )
    assert_rows(
        trace.sql("FROM memcpy ORDER BY start_ns"),
        """
        copy_kind src_kind dst_kind bytes
        HtoD      pageable device   64
        DtoH      device   pinned   64
        unknown   managed  device   64
        """,
    )
    assert_rows(trace.sql("FROM memset"), "memory_kind bytes\ndevice 8")
