"""The process that samples: opens the GPUs, says what it samples, and lets C do the rest.

A process of its own, so that nothing of it can stand in the way of the traced program or of
the collector, and a libcupti that crashes ends nothing else.  It ends when the other end of
its socket does.  Run as ``python -m cupti_etl.pm.sampler FD REQUEST``.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

from cupti_etl.errors import EtlError
from cupti_etl.native.loader import error_buffer, load, text
from cupti_etl.pm.advice import advice
from cupti_etl.pm.families import DURATION
from cupti_etl.pm.frames import HUNG, text_frame
from cupti_etl.pm.presets import Metric, counters, resolve


@dataclass(frozen=True)
class Gpu:
    """A GPU as CUDA and CUPTI name it."""

    index: int
    uuid: str
    name: str
    chip: str


def _refused(result: int, detail: str) -> EtlError:
    """A GPU, or all of them, cannot be sampled."""
    return EtlError(*advice(result, detail))


class _Sampler:
    """The native sampler, with its devices by number."""

    def __init__(self, request: dict[str, Any], descriptor: int) -> None:
        self.ffi, self.lib = load()
        self._request = request
        self._fd = descriptor
        self._error = error_buffer(self.ffi)
        out = self.ffi.new("struct etl_sampler **")
        self._check(self.lib.etl_sampler_new(request["places"].encode(), out, self._error))
        self._handle = out[0]
        self.version = int(self.lib.etl_sampler_cupti(self._handle))

    def _check(self, result: int) -> None:
        if result:
            raise _refused(result, text(self.ffi, self._error.message))

    def gpus(self) -> list[Gpu]:
        """The GPUs that were asked for."""
        found = [self._gpu(index) for index in range(self.lib.etl_sampler_gpus(self._handle))]
        wanted = self._request["devices"]
        if wanted == "all":
            return found
        chosen = []
        for word in wanted.split(","):
            matching = [gpu for gpu in found if word in (str(gpu.index), gpu.uuid)]
            if not matching:
                there = ", ".join(f"{gpu.index} ({gpu.uuid})" for gpu in found)
                raise _refused(-errno.EINVAL, f"there is no GPU {word}; there is {there}")
            chosen += matching
        return list(dict.fromkeys(chosen))

    def _gpu(self, index: int) -> Gpu:
        gpu = self.ffi.new("struct etl_gpu *")
        self._check(self.lib.etl_sampler_gpu(self._handle, index, gpu, self._error))
        return Gpu(index, *(text(self.ffi, word) for word in (gpu.uuid, gpu.name, gpu.chip)))

    def add(self, gpu: Gpu) -> list[Metric]:
        """Open a GPU; the metrics that are sampled of it, in the order of the frames."""
        selection = resolve(self._request["metrics"], gpu.chip, self.version)
        metrics = selection.metrics
        new = self.ffi.new
        told = counters(metrics)
        needed = counters(metric for metric in metrics if not metric.is_optional)
        names = [new("char[]", name.encode()) for name in told]
        optional = new("uint8_t[]", [name not in needed for name in told])
        kept = new("uint8_t[]", len(told))
        columns = new("struct etl_sampled_column[]", [self._column(m, told) for m in metrics])
        single = selection.single_pass_set
        pointers = new("char *[]", names)
        ask = {
            "index": gpu.index,
            "single_pass_set": new("char[]", single.encode()) if single else self.ffi.NULL,
            "metrics": self.ffi.cast("const char **", pointers),
            "is_optional": optional,
            "is_kept": kept,
            "metric_count": len(told),
            "columns": columns,
            "column_count": len(metrics),
            "interval_ns": self._request["interval_ns"],
            "is_by_cycles": not selection.has_time_trigger,
            "is_draining_only": self._request["is_draining_only"],
        }
        request = new("struct etl_sampling_request *", ask)
        self._check(self.lib.etl_sampler_add(self._handle, request, self._error))
        is_kept = dict(zip(told, kept, strict=True))
        return [metric for metric in metrics if all(is_kept[name] for name in metric.counters)]

    def _column(self, metric: Metric, told: list[str]) -> tuple[int, int, float]:
        """A ``struct etl_sampled_column``."""
        if metric.ratio is None:
            return told.index(metric.hardware_name), self.lib.ETL_BY_NOTHING, 1.0
        by = metric.ratio.denominator
        denominator = self.lib.ETL_BY_TIME if by == DURATION else told.index(by)
        return told.index(metric.ratio.numerator), denominator, metric.ratio.factor

    def start(self, number: int) -> None:
        """Let a device begin."""
        self._check(self.lib.etl_sampler_start(self._handle, number, self._error))

    def say(self, what: dict[str, Any]) -> None:
        """Send a message."""
        self.lib.etl_sampler_say(self._handle, self._fd, json.dumps(what).encode())

    def run(self) -> bool:
        """Sample until told to end; False if a thread hangs, and nothing may be touched."""
        return int(self.lib.etl_sampler_run(self._handle, self._fd)) != -errno.ETIMEDOUT

    def result(self, number: int) -> dict[str, Any]:
        """How it went with a device."""
        out = self.ffi.new("struct etl_sampling *")
        self.lib.etl_sampler_get(self._handle, number, out)
        detail = text(self.ffi, out.detail)
        numbers = {
            name: int(getattr(out, name))
            for name, _ in self.ffi.typeof("struct etl_sampling").fields
            if name not in ("failure", "detail")
        }
        what, hint = advice(int(out.failure), detail) if out.failure else ("", "")
        return {"number": number, **numbers, "failure": what, "hint": hint}

    def close(self) -> None:
        """Give the GPUs back."""
        self.lib.etl_sampler_free(self._handle)


def _open_all(sampler: _Sampler) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The devices that are being sampled, and those that cannot be, with the reason."""
    opened: list[dict[str, Any]] = []
    failed = []
    for gpu in sampler.gpus():
        try:
            metrics = sampler.add(gpu)
        except EtlError as error:
            failed.append({**asdict(gpu), "failure": error.message, "hint": error.hint})
        else:
            columns = [asdict(metric) for metric in metrics]
            opened.append({**asdict(gpu), "number": len(opened), "columns": columns})
    # All of them together, and at once before they are read.
    running = []
    for device in opened:
        try:
            sampler.start(device["number"])
        except EtlError as error:
            failed.append({**device, "failure": error.message, "hint": error.hint})
        else:
            running.append(device)
    return running, failed


def main(arguments: list[str]) -> int:
    """Entry point of the process."""
    descriptor, request = int(arguments[0]), json.loads(arguments[1])
    try:
        sampler = _Sampler(request, descriptor)
        devices, failed = _open_all(sampler)
    except EtlError as error:
        _say_alone(descriptor, {"failure": error.message, "hint": error.hint})
        return 1
    path = text(sampler.ffi, sampler.lib.etl_sampler_cupti_path(sampler._handle))
    about = {"cupti_version": sampler.version, "cupti_path": path}
    sampler.say({"say": "ready", **about, "devices": devices, "failed": failed})
    if not devices:
        return 1
    if not sampler.run():
        # A thread stands in CUPTI and would stand in the way of any orderly end.
        os._exit(HUNG)
    sampler.say({"say": "end", "devices": [sampler.result(each["number"]) for each in devices]})
    sampler.close()
    return 0


def _say_alone(descriptor: int, failed: dict[str, str]) -> None:
    """A message without the native part, which may be what is missing."""
    body = json.dumps({"say": "ready", "devices": [], "failed": [failed]}).encode()
    os.write(descriptor, text_frame(body))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
