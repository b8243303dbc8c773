"""What a trace must hold, worked out from the records that the fake CUPTI emitted.

A second, independent statement of which member becomes which column: it shares nothing
with the table specifications, so that a slip there shows.  Numbers of enumerations are
those of CUPTI's public interface.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable, Iterable
from typing import Any

from support.fake_build import callback_name
from support.fakes import DRIVER, Log, ProcessLog, Row

Read = Callable[[Row], Any]
Value = dict[str, Any]


def _integer(row: Row, member: str) -> int | None:
    value = row.get(member)
    return value if isinstance(value, int) else None


def i32(member: str, null: int | None = None) -> Read:
    """32 bits, read as signed."""

    def read(row: Row) -> int | None:
        value = _integer(row, member)
        if value is None or value == null:
            return None
        return value - (1 << 32) if value >= 1 << 31 else value

    return read


def i64(member: str, null: int | None = None) -> Read:
    """64 bits, read as signed."""

    def read(row: Row) -> int | None:
        value = _integer(row, member)
        if value is None or value == null:
            return None
        return value - (1 << 64) if value >= 1 << 63 else value

    return read


def flag(member: str, mask: int = 0xFFFF) -> Read:
    """Whether any of the bits is set."""

    def read(row: Row) -> bool | None:
        value = _integer(row, member)
        return None if value is None else bool(value & mask)

    return read


def label(member: str, names: str, first: int = 0, mask: int = 0xFFFFFFFF) -> Read:
    """The name of a number; names in order from ``first``, ``-`` for one without."""
    known = {number: name for number, name in enumerate(names.split(), first) if name != "-"}

    def read(row: Row) -> str | None:
        value = _integer(row, member)
        return None if value is None else known.get(value & mask, str(value & mask))

    return read


def text(member: str) -> Read:
    """A string of the traced process."""
    return lambda row: row[member]


def uuid(member: str, prefix: str) -> Read:
    """16 bytes as nvidia-smi prints them."""

    def read(row: Row) -> str | None:
        value = row[member]
        assert isinstance(value, bytes)
        digits = value.hex()
        cuts = (0, 8, 12, 16, 20, 32)
        return f"{prefix}-" + "-".join(digits[a:b] for a, b in itertools.pairwise(cuts))

    return read


def _thread(row: Row) -> int:
    value = row["objectId"]
    assert isinstance(value, bytes)
    return int(struct.unpack_from("<i", value, 4)[0])


def _as_double(row: Row) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", row["payload"]))[0])


def api_name(row: Row) -> str:
    """A function's name without the CUDA version of its signature."""
    api = "driver" if row["kind"] == DRIVER else "runtime"
    cbid = row["cbid"]
    assert isinstance(cbid, int)
    return re.sub(r"_v\d{4,}$", "", callback_name(api, cbid))


MEMORY = "unknown pageable pinned device array managed device_static managed_static"
CHANNEL = "invalid compute async_memcpy"
TIMES = {"start_ns": i64("start", 0), "end_ns": i64("end", 0)}
WORK = {
    **TIMES,
    "correlation_id": i64("correlationId", 0),
    "device_id": i32("deviceId"),
    "context_id": i32("contextId"),
    "stream_id": i32("streamId"),
    "graph_id": i32("graphId", 0),
    "graph_node_id": i64("graphNodeId", 0),
    "source_graph_id": i32("sourceGraphId", 0),
    "source_graph_node_id": i64("sourceGraphNodeId", 0),
    "channel_id": i32("channelID", 0),
    "channel_type": label("channelType", CHANNEL),
    "is_device_launched": flag("isDeviceLaunched"),
}
TABLES: dict[str, tuple[tuple[int, ...], dict[str, Read]]] = {
    "kernel": (
        (10,),
        WORK
        | {
            "name": text("name"),
            "grid_x": i32("gridX"),
            "grid_y": i32("gridY"),
            "grid_z": i32("gridZ"),
            "block_x": i32("blockX"),
            "block_y": i32("blockY"),
            "block_z": i32("blockZ"),
            "cluster_x": i32("clusterX"),
            "cluster_y": i32("clusterY"),
            "cluster_z": i32("clusterZ"),
            "registers_per_thread": i32("registersPerThread"),
            "static_shared_bytes": i32("staticSharedMemory"),
            "dynamic_shared_bytes": i32("dynamicSharedMemory"),
            "shared_executed_bytes": i32("sharedMemoryExecuted"),
            "local_per_thread_bytes": i32("localMemoryPerThread"),
            "local_total_bytes": i64("localMemoryTotal_v2"),
            "launch_type": label(
                "launchType", "regular cooperative cooperative_multi_device command_list"
            ),
            "queued_ns": i64("queued", 0),
            "submitted_ns": i64("submitted", 0),
            "max_potential_cluster_size": i32("maxPotentialClusterSize", 0),
            "max_active_clusters": i32("maxActiveClusters", 0),
            "priority": i32("priority"),
            "grid_id": i64("gridId"),
        },
    ),
    "memcpy": (
        (1,),
        WORK
        | {
            "copy_kind": label(
                "copyKind", "unknown HtoD DtoH HtoA AtoH AtoA AtoD DtoA DtoD HtoH PtoP"
            ),
            "bytes": i64("bytes"),
            "src_kind": label("srcKind", MEMORY),
            "dst_kind": label("dstKind", MEMORY),
            "is_async": flag("flags", 1),
            "copy_count": i64("copyCount"),
        },
    ),
    "memset": (
        (2,),
        WORK
        | {
            "bytes": i64("bytes"),
            "value": i32("value"),
            "memory_kind": label("memoryKind", MEMORY),
            "is_async": flag("flags", 1),
        },
    ),
    "api_call": (
        (5, 4),
        TIMES
        | {
            "domain": label("kind", "driver runtime", 4),
            "name": api_name,
            "cbid": i32("cbid"),
            "correlation_id": i64("correlationId", 0),
            "thread_id": i32("threadId"),
            "return_value": i32("returnValue"),
        },
    ),
    "marker": (
        (12,),
        {
            "timestamp_ns": i64("timestamp", 0),
            "marker_id": i32("id"),
            "event": label("flags", "instant start - end", 1, mask=7),
            "name": text("name"),
            "domain": text("domain"),
            "object_kind": label("objectKind", "unknown process thread device context stream"),
            "thread_id": _thread,
        },
    ),
    "marker_data": (
        (13,),
        {
            "marker_id": i32("id"),
            "payload_kind": label(
                "payloadKind",
                "double uint64 percent throughput int64 utilization_level extended",
            ),
            "payload": i64("payload"),
            "payload_double": _as_double,
            "has_color": flag("flags", 2),
            "color": i32("color"),
            "category": i32("category"),
            "domain_id": i32("cuptiDomainId"),
        },
    ),
    "context": (
        (9,),
        {
            "context_id": i32("contextId"),
            "device_id": i32("deviceId"),
            "compute_api": label("computeApiKind", "unknown cuda cuda_mps"),
            "null_stream_id": i32("nullStreamId"),
            "parent_context_id": i32("parentContextId", 0),
            "is_green_context": flag("isGreenContext"),
            "multiprocessors": i32("numMultiprocessors"),
            "cig_mode": label("cigMode", "none cig cig_fallback"),
        },
    ),
    "device": (
        (8,),
        {
            "device_id": i32("id"),
            "device_uuid": uuid("uuid", "GPU"),
            "name": text("name"),
            "compute_capability_major": i32("computeCapabilityMajor"),
            "compute_capability_minor": i32("computeCapabilityMinor"),
            "multiprocessors": i32("numMultiprocessors"),
            "global_memory_bytes": i64("globalMemorySize"),
            "global_memory_bandwidth_kbps": i64("globalMemoryBandwidth"),
            "l2_cache_bytes": i32("l2CacheSize"),
            "constant_memory_bytes": i32("constantMemorySize"),
            "core_clock_khz": i32("coreClockRate"),
            "memcpy_engines": i32("numMemcpyEngines"),
            "threads_per_warp": i32("numThreadsPerWarp"),
            "max_warps_per_multiprocessor": i32("maxWarpsPerMultiprocessor"),
            "max_blocks_per_multiprocessor": i32("maxBlocksPerMultiprocessor"),
            "max_registers_per_multiprocessor": i32("maxRegistersPerMultiprocessor"),
            "max_registers_per_block": i32("maxRegistersPerBlock"),
            "max_shared_per_multiprocessor_bytes": i32("maxSharedMemoryPerMultiprocessor"),
            "max_shared_per_block_bytes": i32("maxSharedMemoryPerBlock"),
            "max_threads_per_block": i32("maxThreadsPerBlock"),
            "ecc_enabled": flag("eccEnabled"),
            "is_cuda_visible": flag("isCudaVisible"),
            "is_mig_enabled": flag("isMigEnabled"),
            "gpu_instance_id": i32("gpuInstanceId", 0xFFFFFFFF),
            "compute_instance_id": i32("computeInstanceId", 0xFFFFFFFF),
            "mig_uuid": uuid("migUuid", "MIG"),
            "numa_id": i32("numaId", 0xFFFFFFFF),
            "tpcs": i32("numTpcs"),
        },
    ),
}


def process_rows(log: ProcessLog, table: str, calls: Iterable[str] | None = None) -> list[Value]:
    """Rows of one table from one process; of calls, only those named."""
    kinds, columns = TABLES[table]
    rows = [row for row in log.rows() if row["kind"] in kinds]
    if calls is not None and table == "api_call":
        wanted = set(calls)
        rows = [row for row in rows if api_name(row) in wanted]
    return [{name: read(row) for name, read in columns.items()} for row in rows]


def all_rows(log: Log, table: str, calls: Iterable[str] | None = None) -> list[Value]:
    """Rows of one table from all processes, each with its ``pid``."""
    wanted = None if calls is None else list(calls)
    return [
        {"pid": process.pid, **row}
        for process in log
        for row in process_rows(process, table, wanted)
    ]
