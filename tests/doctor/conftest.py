"""A machine of files: a root folder with /proc, and libraries built from a few lines of C."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

# VERSION and CODE are what cuptiGetVersion gives; CRASH makes it crash, as CUPTI 13.2 does.
FAKE_CUPTI = r"""
#include <stdint.h>
#include <stdlib.h>
int cuptiGetVersion(uint32_t *version)
{
    if (CRASH)
        abort();
    *version = VERSION;
    return CODE;
}
#ifdef LEVELS /* from "all" to "wsl", of samples of PCs; of the rest, all are supported */
int cuptiProfilerInitialize(size_t *params)
{
    return params[0] == 16 ? 0 : 1;
}
int cuptiProfilerDeviceSupported(void *params)
{
    static const int levels[] = { LEVELS };
    struct { size_t size; void *private; int device, levels[7], api, sku; } *asked = params;
    if (asked->size != SIZE)
        return 1;
    for (int i = 0; i < 7; i++)
        asked->levels[i] = asked->api == 1 ? levels[i] : 3;
    if (asked->size > 52)
        asked->sku = 3;
    return 0;
}
#endif
"""

FAKE_CUDA = r"""
#include <string.h>
int cuInit(unsigned flags) { return CODE + (int)flags; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
int cuDeviceGetCount(int *count) { *count = DEVICES; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int device)
{
    (void)size; (void)device;
    strcpy(name, NAME);
    return 0;
}
int cuDeviceGetUuid(unsigned char *uuid, int device) { memset(uuid, 0xa0 + device, 16); return 0; }
int cuGetErrorName(int code, const char **name)
{
    *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
    return 0;
}
"""

Build = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds a shared library: ``build(path, source, NAME=value, ...)``."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")

    def run(path: Path, source: str, **macros: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = [f"-D{name}={value}" for name, value in macros.items()]
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-x", "c", *flags, "-o", str(path), "-"],
            input=source, text=True, check=True,
        )  # fmt: skip
        return path

    return run


@pytest.fixture
def cupti(build: Build) -> Build:
    """Builds a libcupti: ``cupti(path, version, code=0, crash=0)``."""

    def run(path: Path, version: int, code: int = 0, crash: int = 0, **macros: object) -> Path:
        return build(path, FAKE_CUPTI, VERSION=version, CODE=code, CRASH=crash, **macros)

    return run


@pytest.fixture
def cuda(build: Build, tmp_path: Path) -> Build:
    """Builds a libcuda.so.1 in ``tmp_path/"driver"``: ``cuda(version, devices, code=0)``."""

    def run(version: int, devices: int, code: int = 0) -> Path:
        path = tmp_path / "driver/libcuda.so.1"
        return build(path, FAKE_CUDA, VERSION=version, DEVICES=devices, CODE=code, NAME='"X 100"')

    return run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a machine with driver 580, counters for administrators, and no tools."""
    folder = tmp_path / "root"
    write(folder / "proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
          "GCC version:  gcc version 13.3.0\n")  # fmt: skip
    write(
        folder / "proc/driver/nvidia/params",
        "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n",
    )
    write(folder / "proc/self/status", "Name:\tpython\nCapEff:\t0000000000000000\n")
    write(folder / "proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n")
    write(folder / "proc/1/comm", "systemd\n")
    return folder


def write(path: Path, text: str) -> None:
    """Write a file, making its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
