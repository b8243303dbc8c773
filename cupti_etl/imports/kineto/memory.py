"""What PyTorch's allocators gave and took back: the events ``[memory]``.

An allocator is a pool of its device.  After each event it says how much it has given out
(``Total Allocated``) and how much it holds for that (``Total Reserved``), whatever of it was
allocated before the recording began.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import Value, make_batch, null_if

# c10::DeviceType: 0 is the host; the others are devices of all makes, such as 1 CUDA and 6 HIP.
_HOST = 0


def allocations(events: pa.RecordBatch, owner: pa.Array, thread: pa.Array) -> pa.RecordBatch:
    """Rows of ``memory``; of the thread, as nothing else joins them and their ranges."""
    is_host = pc.equal(events["device_kind"], _HOST)
    is_device = pc.fill_null(pc.invert(is_host), False)
    values: dict[str, Value] = {
        "process_id": owner,
        "timestamp_ns": events["start_ns"],
        "operation": pc.if_else(pc.less(events["allocated"], 0), "release", "allocation"),
        "memory_kind": pc.if_else(is_host, "pageable", "device"),
        "address": events["address"],
        "bytes": pc.abs(events["allocated"]),
        "device_id": pc.if_else(is_device, events["device_number"], None),
        "source": "PyTorch allocator",
        "pool_type": "local",
        # The host's reserves nothing, and says 0.
        "pool_bytes": pc.if_else(
            is_host, null_if(events["total_reserved"], 0), events["total_reserved"]
        ),
        "pool_utilized_bytes": events["total_allocated"],
        "thread_id": thread,
    }
    return make_batch("memory", events.num_rows, values)
