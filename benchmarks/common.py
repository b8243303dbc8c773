"""What every benchmark needs: the machine's facts, medians, records to feed."""

from __future__ import annotations

import os
import platform
import statistics
import struct
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from cupti_etl.capture.recording import read_recording

RECORDING = Path(__file__).parents[1] / "cupti_etl" / "demo" / "h200.etlrec"
KERNEL, MEMCPY, MEMSET, DRIVER, RUNTIME = 10, 1, 2, 4, 5
_PACKAGES = ("cupti-etl", "pyarrow", "duckdb", "cffi")


def machine() -> dict[str, Any]:
    """Facts of the machine and versions, and how busy others keep it."""
    cpu = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
    }


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_mib() -> int:
    """Most memory of this process; getrusage's is also that of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process has used, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100).__trunc__() - 1)]


def rounded(value: float, digits: int = 3) -> float:
    """To so many significant digits."""
    return float(f"{value:.{digits}g}")


def recorded(path: Path = RECORDING) -> tuple[dict[str, Any], list[bytes], list[bytes]]:
    """Description, slots of strings and records of the recording's first process."""
    description: dict[str, Any] = {}
    strings: list[bytes] = []
    records: list[bytes] = []
    for frame in read_recording(path):
        if frame.tag == b"HEAD":
            description = description or frame.description()
        elif frame.content == 2:
            strings.append(frame.payload)
        else:
            records += split(frame.payload, description["strides"])
    return description, strings, records


def kernel_names(count: int) -> list[dict[str, str]]:
    """Rows of the table kernel_name for made kernels."""
    return [
        {
            "mangled": f"_ZN2at6native10elementwise{at}Ev",
            "demangled": f"void at::native::elementwise{at}<float, int>(float*, int const*)",
            "short": f"elementwise{at}",
        }
        for at in range(count)
    ]


def split(payload: bytes, strides: dict[str, int]) -> list[bytes]:
    """The records of a slot."""
    records = []
    at = 0
    while at < len(payload):
        (kind,) = struct.unpack_from("<I", payload, at)
        records.append(payload[at : at + strides[str(kind)]])
        at += strides[str(kind)]
    return records


def kind_of(record: bytes) -> int:
    return int.from_bytes(record[:4], "little")
