"""What the rows of each table of an nsys export become."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import (
    Value,
    labelled,
    mapped,
    not_before,
    null_if,
)
from cupti_etl.imports.nsys.frame import Frame
from cupti_etl.imports.nsys.handler import Handler, Rows, columns
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
)
from cupti_etl.imports.nsys.nvtx import NVTX, nvtx

_PEER = 10


_SPAN = "start end globalPid correlationId "
_PLACE = _SPAN + "deviceId contextId streamId graphNodeId graphId "


def _span(rows: pa.RecordBatch, frame: Frame) -> dict[str, Value]:
    owner = rows["globalTid"] if "globalTid" in rows.schema.names else rows["globalPid"]
    start = frame.time(rows["start"])
    return {
        "process_id": frame.processes.ids(owner),
        "start_ns": start,
        "end_ns": not_before(frame.time(null_if(rows["end"], 0)), start),
        "correlation_id": null_if(rows["correlationId"], 0),
    }


def _place(rows: pa.RecordBatch, frame: Frame) -> dict[str, Value]:
    return _span(rows, frame) | {
        "device_id": rows["deviceId"],
        "context_id": rows["contextId"],
        "stream_id": rows["streamId"],
        "graph_id": null_if(rows["graphId"], 0),
        "graph_node_id": null_if(rows["graphNodeId"], 0),
    }


def _kernels(rows: pa.RecordBatch, frame: Frame) -> Rows:
    name = frame.strings(pc.coalesce(rows["mangledName"], rows["demangledName"]))
    values = _place(rows, frame) | {
        ours: rows[theirs] for theirs, ours in _KERNEL.items() if theirs in rows.schema.names
    }
    values |= {
        "name": name,
        "launch_type": labelled(rows["launchType"], LAUNCH),
        "max_potential_cluster_size": null_if(rows["maxPotentialClusterSize"], 0),
        "max_active_clusters": null_if(rows["maxActiveClusters"], 0),
    }
    yield "kernel", frame.batch("kernel", rows.num_rows, values)


_KERNEL = {
    "gridX": "grid_x",
    "gridY": "grid_y",
    "gridZ": "grid_z",
    "blockX": "block_x",
    "blockY": "block_y",
    "blockZ": "block_z",
    "clusterX": "cluster_x",
    "clusterY": "cluster_y",
    "clusterZ": "cluster_z",
    "registersPerThread": "registers_per_thread",
    "staticSharedMemory": "static_shared_bytes",
    "dynamicSharedMemory": "dynamic_shared_bytes",
    "sharedMemoryExecuted": "shared_executed_bytes",
    "localMemoryPerThread": "local_per_thread_bytes",
    "localMemoryTotal": "local_total_bytes",
    "gridId": "grid_id",
}


def _copies(rows: pa.RecordBatch, frame: Frame) -> Rows:
    kind = rows["copyKind"]
    is_peer = pc.fill_null(pc.equal(kind, _PEER), False)
    is_unified = pc.fill_null(pc.greater(kind, _PEER), False)
    plain = rows.filter(pc.invert(pc.or_(is_peer, is_unified)))
    if plain.num_rows:
        yield "memcpy", frame.batch("memcpy", plain.num_rows, _copy(plain, frame))
    peers = rows.filter(is_peer)
    if peers.num_rows:
        values = _copy(peers, frame)
        del values["copy_count"]
        values |= {
            "src_device_id": peers["srcDeviceId"],
            "src_context_id": peers["srcContextId"],
            "dst_device_id": peers["dstDeviceId"],
            "dst_context_id": peers["dstContextId"],
        }
        yield "memcpy_p2p", frame.batch("memcpy_p2p", peers.num_rows, values)
    unified = rows.filter(is_unified)
    if unified.num_rows:
        values = _span(unified, frame)
        del values["correlation_id"]
        values |= {
            "counter": labelled(unified["copyKind"], UNIFIED),
            "address": unified["virtualAddress"],
            "bytes": unified["bytes"],
            "migration_cause": labelled(unified["migrationCause"], MIGRATION),
        }
        yield "unified_memory", frame.batch("unified_memory", unified.num_rows, values)


def _copy(rows: pa.RecordBatch, frame: Frame) -> dict[str, Value]:
    return _place(rows, frame) | {
        "copy_kind": labelled(rows["copyKind"], COPIES),
        "bytes": rows["bytes"],
        "src_kind": labelled(rows["srcKind"], MEMORY),
        "dst_kind": labelled(rows["dstKind"], MEMORY),
        "copy_count": rows["copyCount"],
    }


def _sets(rows: pa.RecordBatch, frame: Frame) -> Rows:
    values = _place(rows, frame) | {
        "bytes": rows["bytes"],
        "value": rows["value"],
        "memory_kind": labelled(rows["memKind"], MEMORY),
    }
    yield "memset", frame.batch("memset", rows.num_rows, values)


# "cudaMemcpy_v3020": the CUDA version of the signature is no part of the name, as in captures;
# "cuMemcpyHtoD_v2" keeps its own.
_SIGNATURE = re.compile(r"_v\d{4,}\Z")


def _bare(name: str) -> str:
    return _SIGNATURE.sub("", name)


def _domain(name: str) -> str:
    return "runtime" if name.startswith("cuda") else "driver"


def _calls(rows: pa.RecordBatch, frame: Frame) -> Rows:
    name = mapped(frame.strings(rows["nameId"]), _bare, pa.string())
    values = _span(rows, frame) | {
        "domain": mapped(name, _domain, pa.string()),
        "name": name,
        "thread_id": frame.thread(rows["globalTid"]),
        "return_value": rows["returnValue"],
    }
    yield "api_call", frame.batch("api_call", rows.num_rows, values)


def _waits(rows: pa.RecordBatch, frame: Frame) -> Rows:
    values = _span(rows, frame) | {
        "type": labelled(rows["syncType"], SYNC),
        "context_id": rows["contextId"],
        "stream_id": _unless_none(rows["streamId"]),
        "event_id": _unless_none(rows["eventId"]),
        "event_sync_id": _unless_none(rows["eventSyncId"]),
    }
    yield "synchronization", frame.batch("synchronization", rows.num_rows, values)


def _unless_none(ids: pa.Array) -> pa.Array:
    return null_if(null_if(ids, -1), 0xFFFFFFFF)


def _events(rows: pa.RecordBatch, frame: Frame) -> Rows:
    values: dict[str, Value] = {
        "process_id": frame.processes.ids(rows["globalPid"]),
        "event_id": rows["eventId"],
        "correlation_id": null_if(rows["correlationId"], 0),
        "device_id": rows["deviceId"],
        "context_id": rows["contextId"],
        "stream_id": rows["streamId"],
        "device_timestamp_ns": frame.time(null_if(rows["timestamp"], 0)),
        "event_sync_id": null_if(rows["eventSyncId"], 0),
    }
    yield "cuda_event", frame.batch("cuda_event", rows.num_rows, values)


def _overheads(rows: pa.RecordBatch, frame: Frame) -> Rows:
    values = _span(rows, frame) | {
        "overhead_kind": labelled(rows["overheadType"], OVERHEAD),
        "object_kind": "thread",
        "thread_id": frame.thread(rows["globalTid"]),
    }
    yield "overhead", frame.batch("overhead", rows.num_rows, values)


def _graphs(rows: pa.RecordBatch, frame: Frame) -> Rows:
    values = _place(rows, frame)
    del values["graph_node_id"]
    yield "graph_trace", frame.batch("graph_trace", rows.num_rows, values)


def _allocations(rows: pa.RecordBatch, frame: Frame) -> Rows:
    values: dict[str, Value] = {
        "process_id": frame.processes.ids(rows["globalPid"]),
        "timestamp_ns": frame.time(rows["start"]),
        "operation": labelled(rows["memoryOperationType"], {0: "allocation", 1: "release"}),
        "memory_kind": labelled(rows["memKind"], MEMORY),
        "address": rows["address"],
        "bytes": rows["bytes"],
        "correlation_id": null_if(rows["correlationId"], 0),
        "device_id": rows["deviceId"],
        "context_id": rows["contextId"],
        "name": frame.strings(rows["name"]),
        "pc": rows["pc"],
    }
    yield "memory", frame.batch("memory", rows.num_rows, values)


def _pools(rows: pa.RecordBatch, frame: Frame) -> Rows:
    values: dict[str, Value] = {
        "process_id": frame.processes.ids(rows["globalPid"]),
        "timestamp_ns": frame.time(rows["start"]),
        "operation": labelled(rows["operationType"], POOL_OPERATION),
        "pool_type": labelled(rows["poolType"], POOL),
        "correlation_id": null_if(rows["correlationId"], 0),
        "device_id": rows["deviceId"],
        "address": rows["address"],
        "bytes": rows["size"],
        "utilized_bytes": rows["utilizedSize"],
        "release_threshold_bytes": rows["releaseThreshold"],
        "min_bytes_to_keep": rows["minBytesToKeep"],
    }
    yield "memory_pool", frame.batch("memory_pool", rows.num_rows, values)


def _faults(counter: str) -> Callable[[pa.RecordBatch, Frame], Rows]:
    def faults(rows: pa.RecordBatch, frame: Frame) -> Rows:
        values: dict[str, Value] = {
            "process_id": frame.processes.ids(rows["globalPid"]),
            "start_ns": frame.time(rows["start"]),
            "end_ns": frame.time(null_if(rows["end"], 0)),
            "counter": counter,
            "address": rows["address"],
        }
        if counter == "gpu_page_fault":
            values |= {
                "src_device_id": rows["deviceId"],
                "page_faults": rows["numberOfPageFaults"],
                "access_type": labelled(rows["faultAccessType"], ACCESS),
            }
        else:
            values["pc"] = rows["originalFaultPc"]
        yield "unified_memory", frame.batch("unified_memory", rows.num_rows, values)

    return faults


_KERNELS = columns(
    _PLACE + "mangledName demangledName launchType maxPotentialClusterSize maxActiveClusters",
    **dict.fromkeys(_KERNEL, "i"),
)
_CALL = "start end globalTid correlationId "
HANDLERS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": Handler(_KERNELS, _kernels),
    "CUPTI_ACTIVITY_KIND_MEMCPY": Handler(
        columns(
            _PLACE + "copyKind bytes srcKind dstKind copyCount srcDeviceId srcContextId"
            " dstDeviceId dstContextId virtualAddress migrationCause"
        ),
        _copies,
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": Handler(columns(_PLACE + "bytes value memKind"), _sets),
    "CUPTI_ACTIVITY_KIND_RUNTIME": Handler(columns(_CALL + "nameId returnValue"), _calls),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": Handler(
        columns(_SPAN + "contextId streamId syncType eventId eventSyncId"), _waits
    ),
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": Handler(
        columns(
            "timestamp globalPid correlationId deviceId contextId streamId eventId eventSyncId"
        ),
        _events,
    ),
    "CUPTI_ACTIVITY_KIND_OVERHEAD": Handler(columns(_CALL + "overheadType"), _overheads),
    "PROFILER_OVERHEAD": Handler(columns(_CALL + "overheadType"), _overheads),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": Handler(columns(_PLACE), _graphs),
    "CUDA_GPU_MEMORY_USAGE_EVENTS": Handler(
        columns(
            "start globalPid deviceId contextId address pc bytes memKind memoryOperationType"
            " name correlationId"
        ),
        _allocations,
    ),
    "CUDA_GPU_MEMORY_POOL_EVENTS": Handler(
        columns(
            "start globalPid deviceId address operationType poolType correlationId"
            " minBytesToKeep releaseThreshold size utilizedSize"
        ),
        _pools,
    ),
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": Handler(
        columns("start end globalPid address originalFaultPc"), _faults("cpu_page_fault")
    ),
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": Handler(
        columns("start end globalPid deviceId address numberOfPageFaults faultAccessType"),
        _faults("gpu_page_fault"),
    ),
    "NVTX_EVENTS": Handler(NVTX, nvtx),
}
