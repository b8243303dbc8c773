"""Traces of PyTorch 1.8 and 1.9, whose events have other categories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from imports.conftest import Import, event, kineto
from support.trace import assert_rows

PLACE = {"device": 0, "context": 1, "stream": 7}


def test_the_form_of_2021_and_a_bare_array(tmp_path: Path, imported: Import) -> None:
    file = tmp_path / "old.json"
    events = [
        event("Operator", "aten::add", 1e15, 9, **{"external id": 5}),
        event("Runtime", "cudaLaunchKernel", 1e15, 9, correlation=8, **{"external id": 5}),
        event("Kernel", "k", 1e15, 9, pid=0, tid="stream 7", correlation=8, **PLACE),
        3,
    ]
    file.write_text(json.dumps(events))
    trace = imported(file)
    assert_rows(
        trace.sql(
            "SELECT kernel.name, external_id FROM kernel JOIN launch USING (correlation_id)"
            " JOIN external_correlation USING (correlation_id)"
        ),
        "name external_id\nk 5",
    )


def test_annotations_among_the_operators(tmp_path: Path, imported: Import) -> None:
    launches = [
        made
        for at in (0, 100)
        for made in (
            event("Runtime", "cudaLaunchKernel", 1e15 + at + 10, 5, correlation=at + 1),
            event(
                "Kernel", "k", 1e15 + at + 20, 60, 0, tid="stream 7", correlation=at + 1, **PLACE
            ),
        )
    ]
    trace = imported(
        kineto(
            tmp_path / "t.json",
            *launches,
            event("Operator", "ProfilerStep#5", 1e15, 90, **{"External id": 4}),
            event("Operator", "Optimizer.step#SGD.step", 1e15 + 2, 50, **{"External id": 5}),
            event("Operator", "aten::add", 1e15 + 5, 40, **{"External id": 6}),
            event("Operator", "ProfilerStep#6", 1e15 + 100, 90, **{"External id": 7}),
        )
    )
    assert_rows(
        trace.sql("FROM nvtx_range ORDER BY start_ns"),
        """
        name                    domain
        ProfilerStep#5          user_annotation
        Optimizer.step#SGD.step user_annotation
        aten::add               Operator
        ProfilerStep#6          user_annotation
        """,
    )
    assert_rows(
        trace.sql("SELECT *, end_ns - start_ns AS ns FROM step"),
        """
        step source name           ns     confidence
        0    nvtx   ProfilerStep#5 100000 1
        1    nvtx   ProfilerStep#6 60000  1
        """,
    )
    assert_rows(
        trace.sql("FROM operator_summary ORDER BY name"),
        """
        name                    kind       calls self_gpu_ns gpu_ns
        Optimizer.step#SGD.step annotation 1     0           60000
        ProfilerStep*           annotation 2     60000       120000
        aten::add               operator   1     60000       60000
        """,
    )


def test_memory_without_addresses(tmp_path: Path, imported: Import) -> None:
    def memory(ts: float, size: int, kind: int, number: int) -> dict[str, Any]:
        args = {"Device Type": kind, "Device Id": number, "Bytes": size}
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": 7, "tid": 7, "ts": ts, "args": args}

    trace = imported(
        kineto(
            tmp_path / "t.json",
            event("Operator", "aten::empty", 1e15, 9),
            memory(1e15 + 1, 512, 1, 0),
            memory(1e15 + 2, -256, 1, 0),
            memory(1e15 + 3, 4, 0, -1),
            {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 1e15 + 9},
        )
    )
    assert_rows(
        trace.sql("FROM memory ORDER BY timestamp_ns"),
        """
        operation  bytes memory_kind device_id thread_id address source
        allocation 512   device      0         7         -       "PyTorch allocator"
        release    256   device      0         7         -       "PyTorch allocator"
        allocation 4     pageable    -         7         -       "PyTorch allocator"
        """,
    )
    assert_rows(
        trace.sql("FROM range_memory ORDER BY memory_kind"),
        """
        path        memory_kind allocations allocated_bytes releases released_bytes
        aten::empty device      1           512             1        256
        aten::empty pageable    1           4               0        0
        """,
    )
    assert_rows(trace.sql("FROM marker WHERE event = 'instant'"), "name\n'Record Window End'")


def test_arrows_from_calls_to_kernels(tmp_path: Path, imported: Import) -> None:
    arrow = {"cat": "async", "name": "launch", "id": 8}
    trace = imported(
        kineto(
            tmp_path / "t.json",
            event("Runtime", "cudaLaunchKernel", 1e15, 9, correlation=8),
            event("Kernel", "k", 1e15 + 5, 9, pid=0, tid="stream 7", correlation=8, **PLACE),
            {"ph": "s", "pid": 7, "tid": 7, "ts": 1e15, **arrow},
            {"ph": "f", "bp": "e", "pid": 0, "tid": "stream 7", "ts": 1e15 + 5, **arrow},
        )
    )
    assert_rows(
        trace.sql("FROM import_skipped"),
        "category what events\nredundant 'arrows async' 2",
    )
