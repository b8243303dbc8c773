"""CUPTI enumerators and the short strings that stand for them in a trace.

The numbers behind the names come from NVIDIA's header through ``make generate``.
A value that has no label here is stored as its decimal number.
"""

from __future__ import annotations

from cupti_etl.schema.spec import Enum


def _enum(name: str, prefix: str, **labels: str) -> Enum:
    return Enum(name, tuple((prefix + key, label) for key, label in labels.items()))


MEMCPY_KIND = _enum(
    "memcpy_kind",
    "CUPTI_ACTIVITY_MEMCPY_KIND_",
    UNKNOWN="unknown",
    HTOD="HtoD",
    DTOH="DtoH",
    HTOA="HtoA",
    ATOH="AtoH",
    ATOA="AtoA",
    ATOD="AtoD",
    DTOA="DtoA",
    DTOD="DtoD",
    HTOH="HtoH",
    PTOP="PtoP",
)
MEMORY_KIND = _enum(
    "memory_kind",
    "CUPTI_ACTIVITY_MEMORY_KIND_",
    UNKNOWN="unknown",
    PAGEABLE="pageable",
    PINNED="pinned",
    DEVICE="device",
    ARRAY="array",
    MANAGED="managed",
    DEVICE_STATIC="device_static",
    MANAGED_STATIC="managed_static",
)
LAUNCH_TYPE = _enum(
    "launch_type",
    "CUPTI_ACTIVITY_LAUNCH_TYPE_",
    REGULAR="regular",
    COOPERATIVE_SINGLE_DEVICE="cooperative",
    COOPERATIVE_MULTI_DEVICE="cooperative_multi_device",
    CBL_COMMANDLIST="command_list",
)
CHANNEL_TYPE = _enum(
    "channel_type",
    "CUPTI_CHANNEL_TYPE_",
    INVALID="invalid",
    COMPUTE="compute",
    ASYNC_MEMCPY="async_memcpy",
)
OBJECT_KIND = _enum(
    "object_kind",
    "CUPTI_ACTIVITY_OBJECT_",
    UNKNOWN="unknown",
    PROCESS="process",
    THREAD="thread",
    DEVICE="device",
    CONTEXT="context",
    STREAM="stream",
)
COMPUTE_API = _enum(
    "compute_api",
    "CUPTI_ACTIVITY_COMPUTE_API_",
    UNKNOWN="unknown",
    CUDA="cuda",
    CUDA_MPS="cuda_mps",
)
CIG_MODE = _enum(
    "cig_mode",
    "CUPTI_CONTEXT_CIG_MODE_",
    NONE="none",
    CIG="cig",
    CIG_FALLBACK="cig_fallback",
)
# The flags of a marker that say which part of it the record is.
MARKER_EVENT = _enum(
    "marker_event",
    "CUPTI_ACTIVITY_FLAG_MARKER_",
    INSTANTANEOUS="instant",
    START="start",
    END="end",
)
# Which API an api_call row belongs to: the activity kind of its record.
API_DOMAIN = Enum(
    "api_domain",
    (("CUPTI_ACTIVITY_KIND_DRIVER", "driver"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "runtime")),
)
PAYLOAD_KIND = _enum(
    "payload_kind",
    "CUPTI_METRIC_VALUE_KIND_",
    DOUBLE="double",
    UINT64="uint64",
    PERCENT="percent",
    THROUGHPUT="throughput",
    INT64="int64",
    UTILIZATION_LEVEL="utilization_level",
    NVTX_EXTENDED_PAYLOAD="extended",
)
