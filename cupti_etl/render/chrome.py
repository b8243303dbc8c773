"""A trace as Chrome's JSON, for chrome://tracing, Perfetto, HolisticTraceAnalysis and others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cupti_etl.render.output import open_output
from cupti_etl.storage.place import refuse_existing

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.api import Trace

# Since the begin of the first thing, as a browser has 53 bits for a number.  A whole microsecond:
# HolisticTraceAnalysis rounds to these, and would otherwise round each time differently.
_BEGIN = """
    SELECT coalesce(min(ns) // 1000 * 1000, 0) AS ns FROM (
        SELECT min(start_ns) AS ns FROM gpu_activity
        UNION ALL SELECT min(start_ns) FROM api_call
        UNION ALL SELECT min(timestamp_ns) FROM marker
        UNION ALL SELECT min(timestamp_ns) FROM memory_operation
                  WHERE source = 'PyTorch allocator'
        UNION ALL SELECT min(start_ns) FROM synchronization
    )
"""
_DEVICES = """
    SELECT DISTINCT device_id AS id, name, global_memory_bytes AS totalGlobalMem,
           compute_capability_major AS computeMajor, compute_capability_minor AS computeMinor,
           multiprocessors AS numSms, threads_per_warp AS warpSize,
           max_registers_per_multiprocessor AS regsPerMultiprocessor,
           max_shared_per_multiprocessor_bytes AS sharedMemPerMultiprocessor,
           max_threads_per_block AS maxThreadsPerBlock,
           max_registers_per_block AS regsPerBlock,
           max_shared_per_block_bytes AS sharedMemPerBlock,
           max_warps_per_multiprocessor::BIGINT * threads_per_warp AS maxThreadsPerMultiprocessor
    FROM device
    WHERE device_id IS NOT NULL
    ORDER BY ALL
"""
# What all processes have in common.
_WORLD = """
    SELECT CASE WHEN min(rank) = max(rank) THEN min(rank) END AS rank,
           CASE WHEN min(world_size) = max(world_size) THEN min(world_size) END AS world_size,
           CASE WHEN min(host) = max(host) THEN min(host) END AS host
    FROM process
"""


def export_chrome(trace: Trace, out: Path | None, *, overwrite: bool = False) -> None:
    """Write the events of ``_chrome_event`` to a new file, or to standard output.

    Args:
        trace: what is written.
        out: the file; None for standard output.
        overwrite: whether a file of that name is replaced.

    Raises:
        UsageError: the file exists already.
        TraceError: a part of the trace cannot be read.
    """
    if out is not None:
        refuse_existing(out, overwrite=overwrite)
    ((begin,),) = (row.values() for row in trace.sql(_BEGIN))
    members: dict[str, object] = {
        "schemaVersion": 1,
        "exporter": "cupti-etl",
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": begin,
        "deviceProperties": _known(trace, _DEVICES),
    }
    (world,) = _known(trace, _WORLD)
    if host := world.pop("host", None):
        members["host_name"] = host
    if world:
        members["distributedInfo"] = world
    events = trace.sql(f"FROM _chrome_event(base_ns := {begin})").reader()
    with open_output(out) as file:
        file.write(json.dumps(members)[:-1].encode() + b', "traceEvents": [\n')
        _write(events, file)
        file.write(b"]}\n")


def _known(trace: Trace, statement: str) -> list[dict[str, object]]:
    """The rows, each without what is NULL in it."""
    rows = trace.sql(statement)
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _write(events: pa.RecordBatchReader, file: BinaryIO) -> None:
    """A line an event, with a comma before all but the first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_first = True
    for batch in events:
        if not batch.num_rows:
            continue
        lines = pc.binary_join_element_wise(",", batch.column(0).cast(pa.string()), "\n", "")
        # The texts of an array that was just made lie one behind the other.
        text = memoryview(lines.buffers()[-1])[: pc.sum(pc.binary_length(lines)).as_py()]
        file.write(text[1:] if is_first else text)
        is_first = False
