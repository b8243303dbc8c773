"""What the rows of each table of an nsys export become."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import Value, labelled, mapped, null_if
from cupti_etl.imports.nsys.frame import Frame
from cupti_etl.imports.nsys.handler import Handler, Rows
from cupti_etl.imports.nsys.labels import (
    ACCESS,
    COPIES,
    LAUNCH,
    MEMORY,
    MIGRATION,
    OVERHEAD,
    POOL,
    POOL_OPERATION,
    SYNC,
    UNIFIED,
    overhead_named,
)
from cupti_etl.imports.nsys.nvtx import NVTX, nvtx

_PEER, _FROM_HOST, _TO_HOST = 10, 11, 12


class _From(NamedTuple):
    """What a column of ours is made of: some of theirs, and how."""

    theirs: tuple[str, ...]
    make: Callable[..., Value]


# By our column, theirs: as it is, or made of some.
_Columns: TypeAlias = Mapping[str, str | _From]


def _table(table: str, columns: _Columns, texts: tuple[str, ...] = ()) -> Handler:
    """Each row of theirs becomes one of ours.

    Args:
        table: ours.
        columns: of ours.
        texts: columns of theirs that hold texts, where others hold numbers.
    """
    made = {
        ours: theirs if isinstance(theirs, _From) else _From((theirs,), lambda _, column: column)
        for ours, theirs in columns.items()
    }

    def read(rows: pa.RecordBatch, frame: Frame) -> Rows:
        values = {
            ours: one.make(frame, *(rows[name] for name in one.theirs))
            for ours, one in made.items()
        }
        yield table, frame.batch(table, rows.num_rows, values)

    letters = {name: "i" for one in made.values() for name in one.theirs}
    return Handler(letters | dict.fromkeys(texts, "s"), read)


def _by(make: Callable[..., Value]) -> Callable[..., _From]:
    return lambda *theirs: _From(theirs, make)


_owner = _by(lambda frame, owners: frame.processes.ids(owners))
_thread = _by(lambda frame, threads: frame.thread(threads))
_time = _by(lambda frame, times: frame.time(times))
_time_or_0 = _by(lambda frame, times: frame.time(null_if(times, 0)))
_or_0 = _by(lambda _, numbers: null_if(numbers, 0))
# An id, of which -1 says that there is none, in either width.
_or_none = _by(lambda _, ids: null_if(null_if(ids, -1), 0xFFFFFFFF))
# The first of some that has one.
_text = _by(lambda frame, *ids: frame.strings(pc.coalesce(*ids)))
# "cudaMemcpy_v3020": the CUDA version of the signature is no part of the name, as in captures;
# "cuMemcpyHtoD_v2" keeps its own.
_SIGNATURE = re.compile(r"_v\d{4,}\Z")
_function = _by(
    lambda frame, ids: mapped(
        frame.strings(ids), lambda name: _SIGNATURE.sub("", name), pa.string()
    )
)
_domain = _by(
    lambda frame, ids: mapped(
        frame.strings(ids),
        lambda name: "runtime" if name.startswith("cuda") else "driver",
        pa.string(),
    )
)


def _label(theirs: str, labels: Mapping[int, str]) -> _From:
    return _From((theirs,), lambda _, numbers: labelled(numbers, labels))


def _device_of(side: str, host: int) -> _From:
    """The device at one end of a move of managed memory; none at the end that is the host."""
    return _From(
        ("copyKind", side, "deviceId"),
        lambda _, kinds, known, device: pc.if_else(
            pc.equal(kinds, host), None, pc.coalesce(known, device)
        ),
    )


def _always(value: str) -> _From:
    return _From((), lambda _: value)


_TIMES: dict[str, Any] = {"start_ns": _time("start"), "end_ns": _time_or_0("end")}
_CORRELATION = {"correlation_id": _or_0("correlationId")}
_WORK = {"process_id": _owner("globalPid"), **_TIMES}
_CALL = {
    "process_id": _owner("globalTid"),
    **_TIMES,
    **_CORRELATION,
    "thread_id": _thread("globalTid"),
}
_STREAM = {"device_id": "deviceId", "context_id": "contextId", "stream_id": "streamId"}
_GRAPH = {**_WORK, **_CORRELATION, **_STREAM, "graph_id": _or_0("graphId")}
_PLACE = {**_GRAPH, "graph_node_id": _or_0("graphNodeId")}
_COPY = {
    **_PLACE,
    "copy_kind": _label("copyKind", COPIES),
    "bytes": "bytes",
    "src_kind": _label("srcKind", MEMORY),
    "dst_kind": _label("dstKind", MEMORY),
}
_PLAIN = _table("memcpy", {**_COPY, "copy_count": "copyCount"})
_PEERS = _table(
    "memcpy_p2p",
    {
        **_COPY,
        "src_device_id": "srcDeviceId",
        "src_context_id": "srcContextId",
        "dst_device_id": "dstDeviceId",
        "dst_context_id": "dstContextId",
    },
)
_MANAGED = _table(
    "unified_memory",
    {
        **_WORK,
        "counter": _label("copyKind", UNIFIED),
        "address": "virtualAddress",
        "bytes": "bytes",
        "migration_cause": _label("migrationCause", MIGRATION),
        "src_device_id": _device_of("srcDeviceId", _FROM_HOST),
        "dst_device_id": _device_of("dstDeviceId", _TO_HOST),
    },
)


def _copies(rows: pa.RecordBatch, frame: Frame) -> Rows:
    is_peer = pc.fill_null(pc.equal(rows["copyKind"], _PEER), False)
    is_managed = pc.fill_null(pc.greater(rows["copyKind"], _PEER), False)
    is_plain = pc.invert(pc.or_(is_peer, is_managed))
    for handler, is_its in ((_PLAIN, is_plain), (_PEERS, is_peer), (_MANAGED, is_managed)):
        some = rows.filter(is_its)
        if some.num_rows:
            yield from handler.read(some, frame)


_CALLS = _table(
    "api_call",
    {
        **_CALL,
        "domain": _domain("nameId"),
        "name": _function("nameId"),
        "return_value": "returnValue",
    },
)
# TRACE_PROCESS_EVENT_CUDABACKTRACE of ENUM_NSYS_EVENT_CLASS
_BACKTRACE = 67


def _calls(rows: pa.RecordBatch, frame: Frame) -> Rows:
    """Calls: nsys --cudabacktrace records those with a call stack twice, under one id.

    One that stands alone is kept.
    """
    is_traced = pc.fill_null(pc.equal(rows["eventClass"], _BACKTRACE), False)
    others = rows["correlationId"].filter(pc.invert(is_traced))
    is_again = pc.and_(is_traced, pc.is_in(rows["correlationId"], value_set=others))
    frame.skipped.redundant(
        "calls with backtraces", pc.sum(is_again).as_py() or 0, "the same calls are there without"
    )
    yield from _CALLS.read(rows.filter(pc.invert(is_again)), frame)


_overhead = _by(
    lambda frame, types, names: pc.coalesce(
        labelled(types, OVERHEAD).cast(pa.string()),
        mapped(frame.strings(names), overhead_named, pa.string()),
    )
)
_OVERHEADS = _table(
    "overhead",
    {
        **_CALL,
        "overhead_kind": _overhead("overheadType", "nameId"),
        "object_kind": _always("thread"),
    },
)
_FAULT: dict[str, Any] = {**_WORK, "address": "address"}
HANDLERS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": _table(
        "kernel",
        {
            **_PLACE,
            "name": _text("mangledName", "demangledName"),
            "launch_type": _label("launchType", LAUNCH),
            "max_potential_cluster_size": _or_0("maxPotentialClusterSize"),
            "max_active_clusters": _or_0("maxActiveClusters"),
            **{
                f"{what}_{axis}": f"{what}{axis.upper()}"
                for what in ("grid", "block", "cluster")
                for axis in "xyz"
            },
            "registers_per_thread": "registersPerThread",
            "static_shared_bytes": "staticSharedMemory",
            "dynamic_shared_bytes": "dynamicSharedMemory",
            "shared_executed_bytes": "sharedMemoryExecuted",
            "local_per_thread_bytes": "localMemoryPerThread",
            "local_total_bytes": "localMemoryTotal",
            "grid_id": "gridId",
        },
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": Handler(
        {**_PLAIN.columns, **_PEERS.columns, **_MANAGED.columns}, _copies
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": _table(
        "memset",
        {
            **_PLACE,
            "bytes": "bytes",
            "value": "value",
            "memory_kind": _label("memKind", MEMORY),
        },
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": Handler({**_CALLS.columns, "eventClass": "i"}, _calls),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": _table(
        "synchronization",
        {
            **_WORK,
            **_CORRELATION,
            "type": _label("syncType", SYNC),
            "context_id": "contextId",
            "stream_id": _or_none("streamId"),
            "event_id": _or_none("eventId"),
            "event_sync_id": _or_none("eventSyncId"),
        },
    ),
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": _table(
        "cuda_event",
        {
            "process_id": _owner("globalPid"),
            **_CORRELATION,
            **_STREAM,
            "event_id": "eventId",
            "device_timestamp_ns": _time_or_0("timestamp"),
            "event_sync_id": _or_0("eventSyncId"),
        },
    ),
    "CUPTI_ACTIVITY_KIND_OVERHEAD": _OVERHEADS,
    "PROFILER_OVERHEAD": _OVERHEADS,
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": _table("graph_trace", _GRAPH),
    "CUDA_GPU_MEMORY_USAGE_EVENTS": _table(
        "memory",
        {
            "process_id": _owner("globalPid"),
            "timestamp_ns": _time("start"),
            "operation": _label("memoryOperationType", {0: "allocation", 1: "release"}),
            "memory_kind": _label("memKind", MEMORY),
            "address": "address",
            "bytes": "bytes",
            **_CORRELATION,
            "device_id": "deviceId",
            "context_id": "contextId",
            "name": "name",
            "pc": "pc",
        },
        texts=("name",),
    ),
    "CUDA_GPU_MEMORY_POOL_EVENTS": _table(
        "memory_pool",
        {
            "process_id": _owner("globalPid"),
            "timestamp_ns": _time("start"),
            "operation": _label("operationType", POOL_OPERATION),
            "pool_type": _label("poolType", POOL),
            **_CORRELATION,
            "device_id": "deviceId",
            "address": "address",
            "bytes": "size",
            "utilized_bytes": "utilizedSize",
            "release_threshold_bytes": "releaseThreshold",
            "min_bytes_to_keep": "minBytesToKeep",
        },
    ),
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": _table(
        "unified_memory",
        {**_FAULT, "counter": _always("cpu_page_fault"), "pc": "originalFaultPc"},
    ),
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": _table(
        "unified_memory",
        {
            **_FAULT,
            "counter": _always("gpu_page_fault"),
            "src_device_id": "deviceId",
            "page_faults": "numberOfPageFaults",
            "access_type": _label("faultAccessType", ACCESS),
        },
    ),
    "NVTX_EVENTS": Handler(NVTX, nvtx),
}
