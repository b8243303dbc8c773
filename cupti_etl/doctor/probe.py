"""Loads a library and asks it a question, in a process of its own.

Run as a script, by path: it imports nothing of cupti-etl.  A library that crashes (CUPTI
13.2 does without a driver) then takes only this process with it.  Prints one JSON object.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from typing import Any


def main(arguments: list[str]) -> int:
    """``load PATH``, ``cupti PATH``, ``support PATH`` or ``cuda``; an exit status."""
    question, path = arguments[0], arguments[1] if len(arguments) > 1 else "libcuda.so.1"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        print(json.dumps({"error": str(error)}))
        return 0
    answers = {"load": _load, "cupti": _cupti, "cuda": _cuda, "support": _support}
    print(json.dumps(answers[question](library)))
    return 0


def _load(library: ctypes.CDLL) -> dict[str, Any]:
    return {}


def _cupti(library: ctypes.CDLL) -> dict[str, Any]:
    version = ctypes.c_uint32()
    try:
        code = library.cuptiGetVersion(ctypes.byref(version))
    except AttributeError:
        return {"error": "it has no function cuptiGetVersion"}
    return {"code": code, "version": version.value}


class _Support(ctypes.Structure):
    """CUpti_Profiler_DeviceSupported_Params of cupti_profiler_target.h."""

    levels = (
        "all", "architecture", "sli", "vgpu", "confidential_compute", "cmp", "wsl", "api", "sku",
    )  # fmt: skip
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("device", ctypes.c_int),
        *((name, ctypes.c_int) for name in levels),
    )


def _support(library: ctypes.CDLL) -> dict[str, Any]:
    """What CUPTI says of each device and kind of counting: 3 is supported, 2 disabled, 1 not."""
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return {"error": "the driver shows no device"}
    try:
        initialize, supported = (
            library.cuptiProfilerInitialize,
            library.cuptiProfilerDeviceSupported,
        )
    except AttributeError:
        return {"error": "it does not tell what a device supports"}
    nothing = (ctypes.c_size_t * 2)(ctypes.sizeof(ctypes.c_size_t) * 2, 0)
    code = initialize(nothing)
    found = []
    for ordinal in range(count.value):
        device = ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), ordinal)
        for api in range(4):
            asked = _Support(size=ctypes.sizeof(_Support), device=device.value, api=api)
            code = supported(ctypes.byref(asked))
            if code:  # one before the last member came
                asked.size = _Support.sku.offset
                code = supported(ctypes.byref(asked))
            if not code:
                levels = {name: getattr(asked, name) for name in _Support.levels}
                found.append(levels | {"device": ordinal})
    return {"devices": found} if found else {"error": f"it answers {code}"}


def _cuda(library: ctypes.CDLL) -> dict[str, Any]:
    version, count = ctypes.c_int(), ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    answer: dict[str, Any] = {"version": version.value, "devices": []}
    code = library.cuInit(0)
    if not code:
        code = library.cuDeviceGetCount(ctypes.byref(count))
    if code:
        return answer | {"code": code, "error": _error_name(library, code)}
    for ordinal in range(count.value):
        device = ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        uuid = (ctypes.c_ubyte * 16)()
        library.cuDeviceGet(ctypes.byref(device), ordinal)
        library.cuDeviceGetName(name, len(name), device)
        # _v2 gives a MIG device its own UUID.
        get_uuid = getattr(library, "cuDeviceGetUuid_v2", None) or library.cuDeviceGetUuid
        get_uuid(uuid, device)
        answer["devices"].append(
            {"name": name.value.decode(errors="replace"), "uuid": uuid_text(bytes(uuid))}
        )
    return answer


def uuid_text(uuid: bytes) -> str:
    """A GPU's UUID as nvidia-smi prints it."""
    digits = uuid.hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "GPU-" + "-".join(parts)


def _error_name(library: ctypes.CDLL, code: int) -> str:
    text = ctypes.c_char_p()
    with contextlib.suppress(AttributeError):
        library.cuGetErrorName(code, ctypes.byref(text))
    return f"{text.value.decode()} ({code})" if text.value else f"error {code}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
