"""Sizes below zero in files of other tools: not stored, and counted."""

from __future__ import annotations

from pathlib import Path

from imports.conftest import Import, event, kineto, nsys
from support.trace import assert_rows

PLACE = {"device": 0, "context": 1, "stream": 7}
SKIPPED = "SELECT category, what, events FROM import_skipped"


def test_sizes_below_zero_of_pytorch(tmp_path: Path, imported: Import) -> None:
    memory = {"Bytes": -64, "Addr": 8, "Device Type": 1, "Device Id": 0}
    file = kineto(
        tmp_path / "t.json",
        event("kernel", "k", 1e15, 5, grid=[-4, 1, 1], block=[32, -1, 1], **PLACE),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1e15, 5, bytes=-1, **PLACE),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1e15, 5, bytes=7, **PLACE),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1e15, 5, **PLACE),
        event("cpu_instant_event", "[memory]", 1e15, 0)
        | {"ph": "i", "args": memory | {"Total Allocated": -1, "Total Reserved": 2048}},
        distributedInfo={"rank": -1, "world_size": 0},
    )
    trace = imported(file)
    assert_rows(trace.sql("FROM kernel"), "grid_x grid_y block_x block_y\n - 1 32 -")
    assert_rows(trace.sql("FROM memcpy ORDER BY bytes"), "bytes\n 7\n -\n -")
    # Below zero says that it was a release.
    assert_rows(
        trace.sql("FROM memory"),
        "operation bytes pool_bytes pool_utilized_bytes\n release 64 2048 -",
    )
    assert_rows(trace.sql("FROM process"), "rank world_size\n - -")
    assert_rows(
        trace.sql(SKIPPED),
        """
        category what                       events
        invalid  distributedInfo.rank       1
        invalid  distributedInfo.world_size 1
        invalid  kernel.block_y             1
        invalid  kernel.grid_x              1
        invalid  memcpy.bytes               1
        invalid  memory.pool_utilized_bytes 1
        """,
    )


def test_sizes_below_zero_of_nsys(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_MEMCPY="""
            start end deviceId streamId contextId globalPid correlationId copyKind bytes
            10    20  0        7        1         11:0      1             1        -5
            30    40  0        7        1         11:0      2             1        5
        """,
    )
    trace = imported(file)
    assert_rows(trace.sql("FROM memcpy ORDER BY start_ns"), "bytes\n -\n 5")
    assert_rows(
        trace.sql(SKIPPED + " WHERE what = 'memcpy.bytes'"),
        "category what events\n invalid memcpy.bytes 1",
    )
