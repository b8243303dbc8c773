"""What machine, driver and software a measurement was made with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from runs import output_of

_PACKAGES = ("cupti-etl", "torch", "triton", "nvidia-cuda-cupti", "pyarrow", "duckdb", "cffi")


def machine() -> dict[str, Any]:
    """Facts about this machine as plain data."""
    query = "--query-gpu=name,uuid,driver_version,memory.total,clocks.max.sm"
    gpus = [
        line.split(", ")
        for line in output_of(["nvidia-smi", query, "--format=csv,noheader"]).splitlines()
    ]
    params = Path("/proc/driver/nvidia/params")
    nvcc = output_of(["nvcc", "--version"]).splitlines()
    return {
        "gpus": [{"name": g[0], "uuid": g[1], "memory": g[3], "clock": g[4]} for g in gpus],
        "driver": gpus[0][2] if gpus else None,
        "profiling_admin_only": next(
            (line for line in _lines(params) if line.startswith("RmProfilingAdminOnly")), None
        ),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "nvcc": nvcc[-1] if nvcc else None,
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
