"""Whose the rows of a trace of PyTorch's are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from imports.conftest import Import, event, kineto
from support.trace import assert_rows


@pytest.mark.parametrize("first", [[], [event("cpu_op", "aten::add", 1e15, 1, pid=8, tid=8)]])
def test_overhead_is_of_the_process_that_was_recorded(
    tmp_path: Path, imported: Import, first: list[dict[str, Any]]
) -> None:
    # Kineto gives it the pid -1; 7 calls CUDA, whether it comes first in the file or not.
    trace = imported(
        kineto(
            tmp_path / "a.json",
            event("overhead", "Activity Buffer Request", 1e15 + 12, 5, pid=-1, tid=0),
            *first,
            event("overhead", "Runtime Triggered Module Loading", 1e15 + 20, 2, pid=-1, tid=0),
            event("cuda_runtime", "cudaLaunchKernel", 1e15, 1, correlation=1),
            event("kernel", "k", 1e15, 10, 0, device=0, stream=7, correlation=1),
            event("cuda_runtime", "cudaLaunchKernel", 1e15 + 29, 1, correlation=2),
            event("kernel", "k", 1e15 + 30, 10, 0, device=0, stream=7, correlation=2),
        )
    )
    pids = "SELECT pid FROM process ORDER BY pid"
    assert_rows(trace.sql(pids), "pid\n 7" + ("\n 8" if first else ""))
    assert_rows(
        trace.sql("SELECT DISTINCT pid FROM overhead JOIN process USING (process_id)"), "pid\n 7"
    )
    assert_rows(
        trace.query("gap_attribution"),
        "gap_ns profiler_ns loading_ns launching_ns\n 20000 5000 2000 1000",
    )
    assert_rows(
        trace.sql("SELECT sum(stored) - (SELECT count(*) FROM device) AS n FROM process"),
        f"n\n{6 + 2 * len(first)}",
    )


@pytest.mark.parametrize("is_first", [True, False])
def test_pid_0_is_no_process(tmp_path: Path, imported: Import, is_first: bool) -> None:
    # Python frames of threads of which PyTorch does not know the process.
    frame = event("python_function", "threading.py(1032): _bootstrap", 1e15, 9, pid=0, tid=0)
    call = event("cuda_runtime", "cudaLaunchKernel", 1e15, 1, correlation=1)
    kernel = event("kernel", "k", 1e15, 10, 0, device=0, stream=7, correlation=1)
    events = [frame, call, kernel] if is_first else [call, frame, kernel]
    trace = imported(kineto(tmp_path / "a.json", *events))
    assert_rows(trace.sql("SELECT pid, stored FROM process"), "pid stored\n 7 5")
    tables = " UNION ALL ".join(f"FROM (SELECT process_id FROM {t})" for t in ("marker", "kernel"))
    assert_rows(trace.sql(f"SELECT count(DISTINCT process_id) AS n FROM ({tables})"), "n\n 1")
