"""Captures the built-in workload and checks the trace against what the workload launched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.demo.check import (
    COPY_ROWS,
    GRAPH_KERNEL_ROWS,
    KERNEL_ROWS,
    MEMSET_ROWS,
    compare_copies,
    compare_graph_kernels,
    compare_kernels,
    compare_memsets,
)
from cupti_etl.demo.folder import mark
from cupti_etl.errors import CaptureError

if TYPE_CHECKING:
    from cupti_etl.api import Trace

TIMEOUT_S = 300


def capture_workload(folder: Path) -> dict[str, Any]:
    """Capture the workload into a folder; what it says that it launched.

    Raises:
        CaptureError: the workload fails, or its capture does.
    """
    workload = [sys.executable, "-m", "cupti_etl.demo.workload"]
    command = [sys.executable, "-m", "cupti_etl", "capture", "--quiet", "-o", str(folder), "--"]
    launched: dict[str, Any] | None = None
    try:
        done = subprocess.run(
            [*command, *workload], stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False
        )
        lines = done.stdout.strip().splitlines()
        if lines and lines[-1].startswith("{"):
            launched = json.loads(lines[-1])
    except subprocess.TimeoutExpired:
        raise CaptureError(f"the capture did not end within {TIMEOUT_S} s") from None
    finally:
        mark(folder, launched)
    if done.returncode != 0:
        # What went wrong stands above: the capture's words went to our stderr.
        raise CaptureError(
            f"there is a GPU, but capturing on it failed with status {done.returncode}",
            "run `cupti-etl doctor`",
        )
    if launched is None:
        raise CaptureError("the workload did not say what it launched")
    return launched


def compare(trace: Trace, launched: dict[str, Any]) -> list[str]:
    """Differences between a trace of the workload and what the workload launched."""
    pid = f"(SELECT process_id FROM process WHERE pid = {launched['pid']})"
    everything = (
        (compare_kernels, KERNEL_ROWS),
        (compare_graph_kernels, GRAPH_KERNEL_ROWS),
        (compare_copies, COPY_ROWS),
        (compare_memsets, MEMSET_ROWS),
    )
    differences = []
    for function, query in everything:
        rows = trace.sql(query.format(process=f"process_id IN {pid}"))
        differences += function(launched, [tuple(row.values()) for row in rows])
    return differences
