"""Numbers of nsys (its tables ``ENUM_*``, the same in all schemas) and our words for them."""

from __future__ import annotations

_DIRECTIONS = "unknown HtoD DtoH HtoA AtoH AtoA AtoD DtoA DtoD HtoH PtoP"
COPIES = dict(enumerate(_DIRECTIONS.split()))
# Copies of managed memory are counters of it.
UNIFIED = {11: "bytes_transfer_HtoD", 12: "bytes_transfer_DtoH", 13: "bytes_transfer_DtoD"}
# Not in the order of CUPTI's enumeration.
MEMORY = dict(
    enumerate("pageable pinned device array managed device_static managed_static unknown".split())
)
LAUNCH = dict(enumerate("unknown regular cooperative cooperative_multi_device".split()))
SYNC = dict(
    enumerate(
        "unknown event_synchronize stream_wait_event stream_synchronize context_synchronize".split()
    )
)
OVERHEAD = dict(
    enumerate(
        "unknown unknown driver_compiler cupti_buffer_flush cupti_instrumentation cupti_resource"
        " module_loading lazy_function_loading command_buffer_full".split()
    )
)
STREAM = dict(enumerate("unknown default non_blocking null".split()))
POOL = dict(enumerate("none local imported".split()))
POOL_OPERATION = dict(enumerate("invalid created destroyed trimmed".split()))
MIGRATION = dict(
    enumerate("unknown user coherence prefetch eviction access_counters".split())
)
ACCESS = dict(enumerate("unknown read write atomic prefetch".split()))
