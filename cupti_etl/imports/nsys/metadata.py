"""The small tables of an nsys export: texts, the clock, processes, devices, streams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports import source
from cupti_etl.imports.columns import mapped
from cupti_etl.imports.nsys.frame import Frame, Processes, as_int, as_text
from cupti_etl.imports.nsys.labels import STREAM
from cupti_etl.imports.skipped import Skipped
from cupti_etl.schema.arrow import batch_schema
from cupti_etl.schema.kinds.device import KIND
from cupti_etl.schema.loss import Loss
from cupti_etl.schema.types import i32, i64, string

if TYPE_CHECKING:
    from cupti_etl.imports.nsys.reader import Tables

# Times above this (2001) are since the epoch already (nsys export --ts-normalize).
_ABSOLUTE_NS = 10**18
_LOSS = re.compile(
    r"\bdropped\b|\blost\b|overflow|\bnot all\b.*\b(collected|recorded)\b|\bmight be missing\b",
    re.I,
)
# What it says of interfaces that are not imported.
_OF_OTHERS = re.compile(
    r"OpenGL|OpenXR|Vulkan|Direct3D|\bDX1\d\b|OS runtime|\bWDDM\b|\bETW\b", re.I
)
# What it says of each process that did not call CUDA, and of those whose calls it did not see.
_NOT_STARTED = re.compile(r"\bCUDA profiling\b.*\bnot been started\b", re.I)
_DOMAIN_CREATE = 75
_DEVICES = "TARGET_INFO_CUDA_DEVICE"
# Early exports have this in its place.
_OLD_DEVICES = "TARGET_INFO_CUDA_GPU"
_RANK = re.compile(r"MPI Rank (\d{1,9})")
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_GPU_WORK = tuple(
    f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
)
_ASKS = re.compile(source.ASKS)
_BOOL = pa.bool_()
# The tables TARGET_INFO_... that are read here.
READ = (
    "TARGET_INFO_SYSTEM_ENV",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_GPU",
    _DEVICES,
    _OLD_DEVICES,
    "TARGET_INFO_CUDA_STREAM",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
    "TARGET_INFO_CUDA_NULL_STREAM",
)


def read_frame(tables: Tables, skipped: Skipped) -> Frame:
    """What is needed before the first row."""
    frame = Frame(_texts(tables), _epoch(tables), skipped)
    frame.processes.lone = _lone_process(tables)
    _read_domains(tables, frame)
    names = {
        as_int(row.get("globalPid")): as_text(row.get("name")) for row in tables.rows("PROCESSES")
    }
    environment = {
        as_text(row.get("name")): row.get("value") for row in tables.rows("TARGET_INFO_SYSTEM_ENV")
    }
    ranks = _ranks(tables, frame)
    frame.processes.facts_of = lambda key: {
        "rank": ranks.get(key),
        "argv": names.get(key),
        "host": _host(as_text(environment.get("Hostname"))),
        "driver_version": as_int(environment.get("CudaDriverVersion"), 32),
    }
    return frame


def _ranks(tables: Tables, frame: Frame) -> dict[int | None, int]:
    """Ranks by process, as nsys profile --trace mpi calls the threads that begin MPI."""
    named = _named_threads(tables, frame)
    found = ((key, _RANK.fullmatch(name or "")) for key, _, name in named)
    return {key: int(match[1]) for key, match in found if match}


def _named_threads(
    tables: Tables, frame: Frame
) -> Iterator[tuple[int | None, int | None, str | None]]:
    """Of each thread with a name, the key of its process, its number and the name."""
    rows = [row for row in tables.rows("ThreadNames") if as_int(row.get("globalTid")) is not None]
    threads = pa.array([as_int(row["globalTid"]) for row in rows], pa.int64())
    ids = pa.array([as_int(row.get("nameId")) for row in rows], pa.int64())
    columns = (frame.processes.keys(threads), frame.thread(threads), frame.strings(ids))
    return zip(*(column.to_pylist() for column in columns), strict=True)


def _host(name: str | None) -> str | None:
    # What nsys writes where it does not know; two of that name would be taken for one machine.
    return None if name == "UNKNOWN" else name or None


def _texts(tables: Tables) -> tuple[pa.Array, pa.Array]:
    batches = list(tables.batches("StringIds", {"id": "i", "value": "s"}))
    ids = [batch["id"] for batch in batches]
    values = [batch["value"].cast(pa.string()) for batch in batches]
    if not batches:
        return pa.array([], pa.int64()), pa.array([], pa.string())
    return pa.concat_arrays(ids), pa.concat_arrays(values)


def _epoch(tables: Tables) -> int:
    """What to add to times; 0 if they are absolute already, or the epoch is not known."""
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"):
        first = next(iter(tables.batches(table, {"start": "i"})), None)
        if first is not None and first.num_rows:
            # Not the latest, which one broken row would make.
            (middle,) = pc.quantile(first["start"], interpolation="lower").to_pylist()
            if (middle or 0) >= _ABSOLUTE_NS:
                return 0
            break
    started = tables.rows("TARGET_INFO_SESSION_START_TIME")
    # One that is no time is not known.
    return max(as_int(started[0].get("utcEpochNs"), 63) or 0, 0) if started else 0


def _lone_process(tables: Tables) -> int | None:
    """The only process that called CUDA: rows that name none can only be its own."""
    seen: set[int] = set()
    for batch in tables.batches("CUPTI_ACTIVITY_KIND_KERNEL", {"globalPid": "i"}):
        if batch["globalPid"].null_count < batch.num_rows:
            return None
        break
    for batch in tables.batches("CUPTI_ACTIVITY_KIND_RUNTIME", {"globalTid": "i"}):
        seen.update(pc.unique(Processes.keys(batch["globalTid"])).to_pylist())
    seen.discard(None)
    return seen.pop() if len(seen) == 1 else None


def _read_domains(tables: Tables, frame: Frame) -> None:
    wanted = {"eventType": "i", "domainId": "i", "globalTid": "i", "textId": "i", "text": "s"}
    if "domainid" not in (name.lower() for name in tables.columns("NVTX_EVENTS")):
        return
    for batch in tables.batches("NVTX_EVENTS", wanted):
        made = batch.filter(pc.equal(batch["eventType"], _DOMAIN_CREATE))
        keys = frame.processes.keys(made["globalTid"]).to_pylist()
        registered = frame.strings(made["textId"]).to_pylist()
        for key, row, name in zip(keys, made.to_pylist(), registered, strict=True):
            if row["text"] or name:
                frame.domains[key, row["domainId"]] = row["text"] or name


def lasting(tables: Tables, frame: Frame) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Devices, contexts, streams and names of threads, of the processes that have rows."""
    rows: dict[str, list[dict[str, Any]]] = {
        "device": list(_devices(tables, frame)),
        "context": list(_contexts(tables, frame)),
        "stream": list(_streams(tables, frame)),
        "name": list(_thread_names(tables, frame)),
    }
    for table, content in rows.items():
        schema = batch_schema(table)
        columns = [
            pa.array([_fitted(row.get(field.name), field.type) for row in content], field.type)
            for field in schema
        ]
        yield table, pa.RecordBatch.from_arrays(columns, schema=schema)


def _fitted(value: Any, kind: pa.DataType) -> Any:
    """A value for a column; None if it is of another type or does not fit."""
    if pa.types.is_boolean(kind):
        return value
    return as_int(value, kind.bit_width) if pa.types.is_integer(kind) else as_text(value)


def _of_pid(
    rows: list[dict[str, Any]], column: str, frame: Frame
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row once for each process that it can be about, which is one but for pid clashes."""
    for row in rows:
        pid = as_int(row.get(column))
        for process in frame.processes.of_pid(pid) if pid is not None else ():
            yield process.process_id, row


def _devices(tables: Tables, frame: Frame) -> Iterator[dict[str, Any]]:
    gpus = {as_int(row.get("id")): row for row in tables.rows("TARGET_INFO_GPU")}
    table, column, seen = _DEVICES, "cudaId", tables.rows(_DEVICES)
    if not seen:
        table, column, seen = _OLD_DEVICES, "deviceId", tables.rows(_OLD_DEVICES)
    if not seen:
        # Without it, the numbers of the GPUs are those that CUDA gives them, where nsys says so.
        numbered = [row for row in gpus.values() if row.get("cuDevice") is not None]
        table, column = "TARGET_INFO_GPU", "cuDevice"
        seen = [
            {column: row[column], "gpuId": row["id"], "pid": process.pid}
            for row in numbered
            for _, process in frame.processes.items()
        ]
    done = set()
    for process_id, row in _of_pid(seen, "pid", frame):
        device = as_int(row.get(column))
        if device is None:
            frame.skipped.invalid(f"{table}.{column}", 1, "it is no number")
            continue
        if (process_id, device) in done:
            frame.skipped.redundant(table, 1, "the device of the process is there already")
            continue
        done.add((process_id, device))
        gpu = gpus.get(as_int(row.get("gpuId")), {})
        said = _as_cupti_says(row) if table == _OLD_DEVICES else _as_nsys_says(row, gpu)
        yield {"process_id": process_id, **said, "device_id": device}
    # Of the others the export says nothing but that they worked.
    for process_id, device in sorted(frame.devices - done, key=str):
        if device is not None:
            yield {"process_id": process_id, "device_id": device}


def _as_nsys_says(row: dict[str, Any], gpu: dict[str, Any]) -> dict[str, Any]:
    uuid = as_text(row.get("uuid")) or as_text(gpu.get("uuid"))
    return {
        "device_uuid": None if not uuid else uuid if "-" in uuid[:4] else f"GPU-{uuid}",
        "multiprocessors": row.get("numMultiprocessors") or gpu.get("smCount"),
        # From bytes and hertz.
        "global_memory_bandwidth_kbps": _divided(gpu.get("memoryBandwidth")),
        "core_clock_khz": _divided(gpu.get("clockRate")),
        **{ours: gpu.get(theirs) for ours, theirs in _GPU.items()},
    }


_GPU = {
    "name": "name",
    "global_memory_bytes": "totalMemory",
    "l2_cache_bytes": "l2CacheSize",
    "constant_memory_bytes": "constantMemory",
    "memcpy_engines": "asyncEngines",
    "threads_per_warp": "threadsPerWarp",
    "max_warps_per_multiprocessor": "maxWarpsPerSm",
    "max_blocks_per_multiprocessor": "maxBlocksPerSm",
    "max_registers_per_multiprocessor": "maxRegistersPerSm",
    "max_registers_per_block": "maxRegistersPerBlock",
    "max_shared_per_multiprocessor_bytes": "maxShmemPerSm",
    "max_shared_per_block_bytes": "maxShmemPerBlock",
    "max_threads_per_block": "maxThreadsPerBlock",
    "compute_capability_major": "computeMajor",
    "compute_capability_minor": "computeMinor",
}


_SAID = [column for column in KIND.columns if column.type in (i32, i64, string)]
# No GPU has so few bytes: then these are MiB.
_FEW_BYTES = 1 << 24


def _as_cupti_says(row: dict[str, Any]) -> dict[str, Any]:
    """A device of an old export, whose columns are the members of CUPTI's record."""
    said = {column.name: row.get(column.source) for column in _SAID}
    memory = as_int(said["global_memory_bytes"])
    if memory is not None and 0 <= memory < _FEW_BYTES:
        said["global_memory_bytes"] = memory << 20 or None
    # CUPTI says 0 where it does not know.
    said["global_memory_bandwidth_kbps"] = said["global_memory_bandwidth_kbps"] or None
    return said


def _divided(value: Any) -> int | None:
    return value // 1000 if isinstance(value, int) else None


def _contexts(tables: Tables, frame: Frame) -> Iterator[dict[str, Any]]:
    rows = tables.rows("TARGET_INFO_CUDA_CONTEXT_INFO")
    if not rows:
        # Early exports say of contexts no more than their null streams.
        rows = tables.rows("TARGET_INFO_CUDA_NULL_STREAM")
        rows = [{**row, "nullStreamId": row.get("streamId")} for row in rows]
    for process_id, row in _of_pid(rows, "processId", frame):
        yield {
            "process_id": process_id,
            "context_id": row.get("contextId"),
            "device_id": row.get("deviceId"),
            "null_stream_id": row.get("nullStreamId"),
            "parent_context_id": row.get("parentContextId") or None,
            "is_green_context": None
            if (green := row.get("isGreenContext")) is None
            else bool(green),
            "multiprocessors": row.get("numMultiprocessors") or None,
        }


def _streams(tables: Tables, frame: Frame) -> Iterator[dict[str, Any]]:
    rows = tables.rows("TARGET_INFO_CUDA_STREAM")
    for process_id, row in _of_pid(rows, "processId", frame):
        priority = as_int(row.get("priority"))
        yield {
            "process_id": process_id,
            "context_id": row.get("contextId"),
            "stream_id": row.get("streamId"),
            # A negative number, which nsys stores as an unsigned one.
            "priority": priority - (1 << 32) if priority and priority >> 31 else priority,
            "flag": STREAM.get(as_int(row.get("flag")) or 0),
        }


def _thread_names(tables: Tables, frame: Frame) -> Iterator[dict[str, Any]]:
    of_key = {key: process for key, process in frame.processes.items() if process.stored}
    for key, tid, name in _named_threads(tables, frame):
        if key in of_key:
            yield {
                "process_id": of_key[key].process_id,
                "object_kind": "thread",
                "name": name,
                "pid": of_key[key].pid,
                "thread_id": tid,
            }


def diagnosed(tables: Tables) -> list[Loss]:
    """What nsys itself says that it lost; it does not say how much of what."""
    texts = {str(row.get("text") or "").strip() for row in tables.rows("DIAGNOSTIC_EVENT")}
    said = {text for text in texts if _LOSS.search(text) and not _OF_OTHERS.search(text)}
    if not _filled(tables, _CALLS, *_GPU_WORK):
        said |= {text for text in texts if _NOT_STARTED.search(text)}
    return [Loss(None, "cupti_dropped", detail=f"nsys: {text}") for text in sorted(said)]


def _filled(tables: Tables, *wanted: str) -> bool:
    """Whether one of these tables has rows."""
    names = set(tables.names())
    return any(name in names and tables.count(name) for name in wanted)


def unrecorded(tables: Tables, frame: Frame) -> list[Loss]:
    """As ``source.unrecorded``."""
    if _CALLS not in tables.names() or _filled(tables, *_GPU_WORK):
        return []
    asked = 0
    for batch in tables.batches(_CALLS, {"nameId": "i", "returnValue": "i"}):
        known = mapped(frame.strings(batch["nameId"]), lambda name: bool(_ASKS.match(name)), _BOOL)
        is_done = pc.equal(pc.fill_null(batch["returnValue"], 0), 0)
        asked += pc.sum(pc.and_(pc.fill_null(known, False), is_done)).as_py() or 0
    return source.unrecorded("nsys", asked)
