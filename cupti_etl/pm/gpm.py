"""The process that samples by NVML: GPU performance monitoring (GPM), of Hopper and later.

The driver counts for NVML, so this goes beside whoever has the counters that CUPTI reads: DCGM, an
exact counter, samples of PCs.  Few metrics, and ten samples a second at most.  It says what
``sampler`` says, and is run like it.  Source: nvml.h, "GPM Functions".
"""

from __future__ import annotations

import ctypes
import json
import math
import select
import socket
import struct
import sys
import time
from dataclasses import asdict
from typing import Any

from cupti_etl.errors import EtlError
from cupti_etl.native.headers import constant, packed
from cupti_etl.pm.aliases import ALIASES
from cupti_etl.pm.frames import LOSS, SAMPLES, text_frame
from cupti_etl.pm.presets import GPM, Metric

_MAGIC = constant("ETL_FRAME_MAGIC")
_FAILED = constant("ETL_GAP_FAILED")
_MIB = 1 << 20
# Alias, nvmlGpmMetricId_t and its name there; those in bytes are rates in MiB/s.
_METRICS = (
    ("gr_active_pct", 1, "GRAPHICS_UTIL"),
    ("sm_active_pct", 2, "SM_UTIL"),
    ("warps_active_pct", 3, "SM_OCCUPANCY"),
    ("tensor_active_pct", 5, "ANY_TENSOR_UTIL"),
    ("tensor_dmma_pct", 6, "DFMA_TENSOR_UTIL"),
    ("tensor_hmma_pct", 7, "HMMA_TENSOR_UTIL"),
    ("tensor_imma_pct", 9, "IMMA_TENSOR_UTIL"),
    ("dram_pct", 10, "DRAM_BW_UTIL"),
    ("fp64_pct", 11, "FP64_UTIL"),
    ("fma_pct", 12, "FP32_UTIL"),
    ("fp16_pct", 13, "FP16_UTIL"),
    ("pcie_tx_bytes", 20, "PCIE_TX_PER_SEC"),
    ("pcie_rx_bytes", 21, "PCIE_RX_PER_SEC"),
    ("nvlink_rx_bytes", 60, "NVLINK_TOTAL_RX_PER_SEC"),
    ("nvlink_tx_bytes", 61, "NVLINK_TOTAL_TX_PER_SEC"),
)


class _Support(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint), ("is_supported", ctypes.c_uint))


class _Value(ctypes.Structure):
    _fields_ = (
        ("metric", ctypes.c_uint),
        ("result", ctypes.c_uint),
        ("value", ctypes.c_double),
        ("names", ctypes.c_char_p * 3),
    )


class _Get(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint),
        ("count", ctypes.c_uint),
        ("first", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("values", _Value * len(_METRICS)),
    )


class _Nvml:
    """The functions that are needed; a result that is not 0 raises EtlError."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            raise EtlError(f"there is no NVML ({error})", "it comes with NVIDIA's driver") from None
        self._library.nvmlErrorString.restype = ctypes.c_char_p
        self("nvmlInit_v2")

    def __call__(self, name: str, *arguments: Any) -> None:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise EtlError(f"this driver's NVML lacks {name}", "use driver 520 or later") from None
        result = function(*arguments)
        if result:
            said = self._library.nvmlErrorString(result).decode()
            raise EtlError(f"{name}: {said} ({result})", "`nvidia-smi` says how the GPU is")

    def text(self, name: str, handle: ctypes.c_void_p) -> str:
        """What a function writes into a buffer."""
        buffer = ctypes.create_string_buffer(96)
        self(name, handle, buffer, len(buffer))
        return buffer.value.decode()


class _Gpu:
    """A GPU, and what was counted when it was looked at last."""

    def __init__(self, nvml: _Nvml, index: int) -> None:
        self._nvml = nvml
        self.index = index
        self._handle = ctypes.c_void_p()
        nvml("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(self._handle))
        self.uuid = nvml.text("nvmlDeviceGetUUID", self._handle)
        self.name = nvml.text("nvmlDeviceGetName", self._handle)
        self.since_ns = 0
        self.rows = 0

    def open(self) -> None:
        """Begin to count.

        Raises:
            EtlError: the GPU does not support it.
        """
        support = _Support(1)
        self._nvml("nvmlGpmQueryDeviceSupport", self._handle, ctypes.byref(support))
        if not support.is_supported:
            raise EtlError(
                "NVML counts nothing on this GPU (GPM)", "it needs Hopper or later, without MIG"
            )
        self._before, self._now = ctypes.c_void_p(), ctypes.c_void_p()
        for sample in (self._before, self._now):
            self._nvml("nvmlGpmSampleAlloc", ctypes.byref(sample))
        self.look()

    def look(self) -> None:
        """Note what has been counted until now."""
        self._nvml("nvmlGpmSampleGet", self._handle, self._before)
        self.since_ns = time.time_ns()

    def sample(self) -> tuple[int, int, list[float]]:
        """Start, end (ns) and a value of each metric since it was looked at; NaN if there is none.

        Raises:
            EtlError: NVML refuses, as it does of a GPU that is lost.
        """
        self._nvml("nvmlGpmSampleGet", self._handle, self._now)
        start, end = self.since_ns, time.time_ns()
        asked = _Get(1, len(_METRICS), self._before, self._now)
        for value, (_, number, _) in zip(asked.values, _METRICS, strict=True):
            value.metric = number
        self._nvml("nvmlGpmMetricsGet", ctypes.byref(asked))
        self._before, self._now = self._now, self._before
        self.since_ns = end
        self.rows += 1
        scale = {True: _MIB * (end - start) / 1e9, False: 1.0}
        return (
            start,
            end,
            [
                math.nan if value.result else value.value * scale[name.endswith("_bytes")]
                for value, (name, _, _) in zip(asked.values, _METRICS, strict=True)
            ],
        )


def _columns() -> list[dict[str, Any]]:
    return [
        asdict(
            Metric(
                name, f"NVML_GPM_METRIC_{metric}", ALIASES[name].unit, ALIASES[name].description,
                ALIASES[name].aggregation, GPM,
            )
        )
        for name, _, metric in _METRICS
    ]  # fmt: skip


def _chosen(nvml: _Nvml, devices: str) -> list[_Gpu]:
    count = ctypes.c_uint()
    nvml("nvmlDeviceGetCount_v2", ctypes.byref(count))
    found = [_Gpu(nvml, index) for index in range(count.value)]
    wanted = devices.split(",")
    missing = [w for w in wanted if w != "all" and w not in {str(g.index) for g in found}
               and w not in {g.uuid for g in found}]  # fmt: skip
    if missing:
        there = ", ".join(f"{gpu.index} ({gpu.uuid})" for gpu in found)
        raise EtlError(f"there is no GPU {missing[0]}; there is {there}", "see nvidia-smi -L")
    return [gpu for gpu in found if {"all", str(gpu.index), gpu.uuid} & {*wanted}]


def _open_all(gpus: list[_Gpu]) -> tuple[dict[int, _Gpu], list[dict[str, Any]]]:
    opened: dict[int, _Gpu] = {}
    failed = []
    for gpu in gpus:
        try:
            gpu.open()
        except EtlError as error:
            failed.append({"index": gpu.index, "failure": error.message, "hint": error.hint})
        else:
            opened[len(opened)] = gpu
    return opened, failed


def _sample(ours: socket.socket, gpus: dict[int, _Gpu], interval_ns: int) -> dict[int, EtlError]:
    """Samples until the other end has enough; the GPUs that were lost meanwhile."""
    lost: dict[int, EtlError] = {}
    due = time.monotonic_ns() + interval_ns
    is_first = True  # what NVML says of the first stretch after it began to count is 0
    while not select.select([ours], [], [], max(due - time.monotonic_ns(), 0) / 1e9)[0]:
        due = max(due + interval_ns, time.monotonic_ns())
        for number in gpus.keys() - lost.keys():
            try:
                if is_first:
                    gpus[number].look()
                    continue
                start, end, values = gpus[number].sample()
            except EtlError as error:
                lost[number] = error
                continue
            body = struct.pack(f"=2q{len(values)}d", start, end, *values)
            head = {"magic": _MAGIC, "type": SAMPLES, "device": number, "rows": 1}
            ours.sendall(packed("etl_frame", **head, bytes=len(body)) + body)
        is_first = False
    for number in lost:
        start, end = gpus[number].since_ns, time.time_ns()
        missed = {"start_ns": start, "end_ns": end, "samples": (end - start) // interval_ns}
        body = packed("etl_sample_loss", cause=_FAILED, **missed)
        head = {"magic": _MAGIC, "type": LOSS, "device": number, "bytes": len(body)}
        ours.sendall(packed("etl_frame", **head) + body)
    return lost


def main(arguments: list[str]) -> int:
    """Entry point of the process: ``FD REQUEST`` as of ``sampler``."""
    ours, request = socket.socket(fileno=int(arguments[0])), json.loads(arguments[1])

    def say(what: dict[str, Any]) -> None:
        ours.sendall(text_frame(json.dumps(what).encode()))

    try:
        gpus, failed = _open_all(_chosen(_Nvml(), request["devices"]))
    except EtlError as error:
        gpus, failed = {}, [{"failure": error.message, "hint": error.hint}]
    devices = [
        {"number": number, "index": gpu.index, "uuid": gpu.uuid, "name": gpu.name, "chip": None,
         "columns": _columns()}
        for number, gpu in gpus.items()
    ]  # fmt: skip
    say({"say": "ready", "devices": devices, "failed": failed})
    if not gpus:
        return 1
    lost = _sample(ours, gpus, request["interval_ns"])
    ends = [
        {"number": number, "samples": gpu.rows,
         "failure": lost[number].message if number in lost else "",
         "hint": lost[number].hint if number in lost else ""}
        for number, gpu in gpus.items()
    ]  # fmt: skip
    say({"say": "end", "devices": ends})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
