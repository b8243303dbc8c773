"""Numbers of nsys (its tables ``ENUM_*``, the same in all schemas) and our words for them."""

from __future__ import annotations


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
STREAM = _labels("unknown", "default", "non_blocking", "null")
POOL = _labels("none", "local", "imported")
POOL_OPERATION = _labels("invalid", "created", "destroyed", "trimmed")
MIGRATION = _labels("unknown", "user", "coherence", "prefetch", "eviction", "access_counters")
ACCESS = _labels("unknown", "read", "write", "atomic", "prefetch")
