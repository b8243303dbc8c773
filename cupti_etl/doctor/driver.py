"""The NVIDIA driver, its devices, and who may read hardware counters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cupti_etl.doctor.findings import Area, Finding, System
from cupti_etl.native.cupti_search import driver_branch

_DRIVER = Area("driver")
_DEVICE = Area("device")
_COUNTERS = Area("counters")

_CAP_SYS_ADMIN = 21


def check_driver(system: System, cuda: dict[str, Any]) -> Iterator[Finding]:
    """Kernel module, libcuda and devices, by the machine and what the probe ``cuda`` answered."""
    module = driver_branch(system.root)
    if module:
        yield _DRIVER.ok(f"NVIDIA kernel module {module}")
    elif cuda.get("devices"):
        # WSL and some sandboxes have no such file, and capture works there.
        yield _DRIVER.ok("the kernel module does not show its version here")
    else:
        yield _DRIVER.fail(
            "no NVIDIA kernel module is loaded (/proc/driver/nvidia/version)",
            "install the driver, or give the container its GPUs (docker run --gpus all)",
        )
    version = int(cuda.get("version", 0))
    devices = cuda.get("devices", [])
    if not version:
        problem = str(cuda.get("error", "it does not tell its version"))
        yield _DRIVER.fail(
            f"libcuda.so.1 cannot be used: {problem}",
            "install the driver's user-space libraries of the same version",
        )
        return
    yield _DRIVER.ok(f"libcuda.so.1 runs CUDA {cuda_text(version)}")
    if not devices:
        problem = str(cuda.get("error", "CUDA shows no device"))
        yield _DEVICE.fail(
            f"no GPU can be used: {problem}",
            "look at nvidia-smi, and at CUDA_VISIBLE_DEVICES if it is set",
        )
    for number, device in enumerate(devices):
        yield _DEVICE.ok(f"{number}: {device['name']}, {device['uuid']}")
    yield from _check_partitions(system, devices)


def _check_partitions(system: System, devices: list[dict[str, str]]) -> Iterator[Finding]:
    capabilities = system.root / "proc/driver/nvidia/capabilities"
    if any(" MIG " in device["name"] for device in devices) or any(
        capabilities.glob("gpu*/mig/gi*")
    ):
        yield _DEVICE.warn(
            "a GPU is partitioned (MIG): activity is recorded, whole-GPU counters, PC samples"
            " and exact counters are not",
            "leave MIG as it is for captures of activity",
        )


def check_counters(system: System) -> Iterator[Finding]:
    """Whether hardware counters may be read; activity records need no privilege."""
    match = re.search(
        r"^RmProfilingAdminOnly:\s*(\d+)", system.read("proc/driver/nvidia/params"), re.MULTILINE
    )
    if not match:
        return
    status = re.search(r"^CapEff:\s*([0-9a-fA-F]+)", system.read("proc/self/status"), re.MULTILINE)
    is_admin = bool(status and int(status.group(1), 16) >> _CAP_SYS_ADMIN & 1)
    if match.group(1) == "0":
        yield _COUNTERS.ok("hardware counters are open to every user (RmProfilingAdminOnly: 0)")
    elif is_admin:
        yield _COUNTERS.ok(
            "hardware counters are for administrators, and this process is one (CAP_SYS_ADMIN)",
        )
    else:
        yield _COUNTERS.warn(
            "hardware counters (--pm, --pc-sampling, --range-metrics) are for administrators only;"
            " activity records need no privilege",
            "options nvidia NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN",
        )


def cuda_text(version: int) -> str:
    """``13.0`` of 13000, as cuDriverGetVersion counts."""
    return f"{version // 1000}.{version % 1000 // 10}"
