"""The tables of an nsys export that mutations start from: a row or a few of each."""

from __future__ import annotations

from typing import Any

_PID = (1 << 48) | 11 << 24
_TID = _PID + 70
_PLACE = "start end deviceId contextId streamId correlationId globalPid "

# By table: its columns, and rows.
TABLES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "META_DATA_EXPORT": ("name value", [("EXPORT_SCHEMA_VERSION", "3.25.0")]),
    "StringIds": ("id value", [(1, "gemm"), (2, "_ZN2at4fillIfEEvT_"), (3, "cudaLaunch_v7000")]),
    "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs", [(1_700_000_000_000_000_000,)]),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        _PLACE + "demangledName mangledName gridX blockX launchType graphNodeId",
        [(100 + i, 140 + i, 0, 1, 7, 5 + i, _PID, 1, 2, 64, 128, 1, 0) for i in range(4)],
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        _PLACE + "bytes copyKind srcKind dstKind srcDeviceId dstDeviceId migrationCause",
        [(1, 2, 0, 1, 7, 5, _PID, 64, kind, 0, 2, 0, 1, 3) for kind in (1, 2, 8, 10, 11)],
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        _PLACE + "value bytes memKind",
        [(1, 2, 0, 1, 7, 8, _PID, 255, 128, 2)],
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start end globalTid correlationId nameId returnValue",
        [(50, 90, _TID, 5, 3, 0)],
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
        _PLACE + "syncType eventId",
        [(3, 4, 0, 1, 4294967295, 9, _PID, 4, -1)],
    ),
    "CUDA_GPU_MEMORY_USAGE_EVENTS": (
        "start globalPid deviceId address bytes memKind memoryOperationType name correlationId",
        [(5, _PID, 0, 4096, 256, 2, 1, None, 3)],
    ),
    "PROFILER_OVERHEAD": ("start end globalTid nameId overheadType", [(1, 2, _TID, 1, 4)]),
    "NVTX_EVENTS": (
        "start end eventType text textId globalTid domainId color int64Value doubleValue jsonText",
        [
            (0, None, 75, "NCCL", None, _TID, 3, None, None, None, None),
            (10, 90, 59, "step", None, _TID, 0, 255, None, 0.5, '{"a":1}'),
            (20, 30, 60, None, 1, _TID, 3, None, 7, None, None),
            (70, None, 34, "mark", None, _TID, 0, None, None, None, None),
        ],
    ),
    "TARGET_INFO_GPU": (
        "id name totalMemory memoryBandwidth clockRate uuid smCount",
        [(4, "H100", 80000, 3000000, 1980000000, "554a", 132)],
    ),
    "TARGET_INFO_CUDA_DEVICE": ("gpuId cudaId pid uuid numMultiprocessors", [(4, 0, 11, None, 1)]),
    "TARGET_INFO_CUDA_STREAM": (
        "streamId processId contextId priority flag",
        [(7, 11, 1, 4294967291, 2)],
    ),
    "TARGET_INFO_CUDA_CONTEXT_INFO": (
        "nullStreamId processId deviceId contextId isGreenContext parentContextId",
        [(7, 11, 0, 1, 0, 0)],
    ),
    "TARGET_INFO_SYSTEM_ENV": ("name value", [("Hostname", "n"), ("CudaDriverVersion", "13000")]),
    "ThreadNames": ("nameId globalTid", [(1, _TID)]),
    "PROCESSES": ("globalPid pid name", [(_PID, 11, "train")]),
    "DIAGNOSTIC_EVENT": ("text", [("Not all CUDA events might have been collected.",)]),
    "OSRT_API": ("start end", [(1, 2)]),
}
# Declarations of a column.
ODD_COLUMNS = (
    "INTEGER",
    "TEXT",
    "REAL",
    "BLOB",
    "INTEGER NOT NULL",
    "INTEGER PRIMARY KEY",
    "INT DEFAULT 7",
    "TEXT COLLATE NOCASE",
)
