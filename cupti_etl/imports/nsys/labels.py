"""Numbers of nsys (its tables ``ENUM_*``, the same in all schemas) and our words for them."""

from __future__ import annotations

import re


def _labels(*words: str) -> dict[int, str]:
    return dict(enumerate(words))


COPIES = _labels(
    *("unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA"),
    *("AtoD", "DtoA", "DtoD", "HtoH", "PtoP"),
)
# Copies of managed memory are counters of it.
UNIFIED = {11: "bytes_transfer_HtoD", 12: "bytes_transfer_DtoH", 13: "bytes_transfer_DtoD"}
# Not in the order of CUPTI's enumeration.
MEMORY = _labels(
    *("pageable", "pinned", "device", "array", "managed"),
    *("device_static", "managed_static", "unknown"),
)
LAUNCH = _labels("unknown", "regular", "cooperative", "cooperative_multi_device")
SYNC = _labels(
    *("unknown", "event_synchronize", "stream_wait_event"),
    *("stream_synchronize", "context_synchronize"),
)
OVERHEAD = _labels(
    *("unknown", "unknown", "driver_compiler", "cupti_buffer_flush", "cupti_instrumentation"),
    *("cupti_resource", "module_loading", "lazy_function_loading", "command_buffer_full"),
)
# PROFILER_OVERHEAD has names alone: those of CUPTI's kinds ("CUPTI: Buffer flush", and without the
# colon), of libraries that the program opens and closes ("dlopen(libcudnn_ops.so.9)"), for all the
# time that it takes, and of what nsys does itself ("TLS allocation").  "Unknown" are CUPTI's kinds
# that are newer than nsys, most of them the loading of code.
_OVERHEAD_NAMES = (
    (re.compile(r"CUPTI:? Buffer flush"), "cupti_buffer_flush"),
    (re.compile(r"CUPTI:? Instrumentation"), "cupti_instrumentation"),
    (re.compile(r"CUPTI:? Resource"), "cupti_resource"),
    (re.compile(r"dl(open|close)\b"), "library_loading"),
    (re.compile(r"Unknown$"), "unknown"),
)
STREAM = _labels("unknown", "default", "non_blocking", "null")
POOL = _labels("none", "local", "imported")
POOL_OPERATION = _labels("invalid", "created", "destroyed", "trimmed")
MIGRATION = _labels("unknown", "user", "coherence", "prefetch", "eviction", "access_counters")
ACCESS = _labels("unknown", "read", "write", "atomic", "prefetch")


def overhead_named(name: str) -> str | None:
    """Our word for an overhead of which the name is known; None for what nsys does itself."""
    return next((kind for pattern, kind in _OVERHEAD_NAMES if pattern.match(name)), None)
