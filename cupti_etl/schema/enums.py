"""CUPTI enumerators and the short strings that stand for them in a trace.

The numbers behind the names come from NVIDIA's header through ``make generate``.
A value that has no label here is stored as its decimal number.
"""

from __future__ import annotations

from cupti_etl.schema.spec import Enum


def _enum(name: str, prefix: str, labels: str) -> Enum:
    """The words in the order of the pages; ENUMERATOR=word where the two are named apart."""
    pairs = (word.split("=") for word in labels.split())
    return Enum(name, tuple((prefix + pair[0].upper(), pair[-1]) for pair in pairs))


MEMCPY_KIND = _enum(
    "memcpy_kind",
    "CUPTI_ACTIVITY_MEMCPY_KIND_",
    "unknown HtoD DtoH HtoA AtoH AtoA AtoD DtoA DtoD HtoH PtoP",
)
MEMORY_KIND = _enum(
    "memory_kind",
    "CUPTI_ACTIVITY_MEMORY_KIND_",
    "unknown pageable pinned device array managed device_static managed_static",
)
LAUNCH_TYPE = _enum(
    "launch_type",
    "CUPTI_ACTIVITY_LAUNCH_TYPE_",
    "regular COOPERATIVE_SINGLE_DEVICE=cooperative cooperative_multi_device"
    " CBL_COMMANDLIST=command_list",
)
CHANNEL_TYPE = _enum(
    "channel_type", "CUPTI_CHANNEL_TYPE_", "invalid compute async_memcpy DECOMP=decompress"
)
OBJECT_KIND = _enum(
    "object_kind", "CUPTI_ACTIVITY_OBJECT_", "unknown process thread device context stream"
)
COMPUTE_API = _enum("compute_api", "CUPTI_ACTIVITY_COMPUTE_API_", "unknown cuda cuda_mps")
CIG_MODE = _enum("cig_mode", "CUPTI_CONTEXT_CIG_MODE_", "none cig cig_fallback")
# The flags of a marker that say which part of it the record is.
MARKER_EVENT = _enum(
    "marker_event", "CUPTI_ACTIVITY_FLAG_MARKER_", "INSTANTANEOUS=instant start end"
)
# Which API an api_call row belongs to: the activity kind of its record.
API_DOMAIN = Enum(
    "api_domain",
    (("CUPTI_ACTIVITY_KIND_DRIVER", "driver"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "runtime")),
)
PAYLOAD_KIND = _enum(
    "payload_kind",
    "CUPTI_METRIC_VALUE_KIND_",
    "double uint64 percent throughput int64 utilization_level NVTX_EXTENDED_PAYLOAD=extended",
)
SYNCHRONIZATION_TYPE = _enum(
    "synchronization_type",
    "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
    "unknown event_synchronize stream_wait_event stream_synchronize context_synchronize",
)
MEMORY_OPERATION = _enum(
    "memory_operation", "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_", "invalid allocation release"
)
MEMORY_POOL_TYPE = _enum(
    "memory_pool_type", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_", "INVALID=none local imported"
)
MEMORY_POOL_OPERATION = _enum(
    "memory_pool_operation",
    "CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_",
    "invalid created destroyed trimmed",
)
EXTERNAL_KIND = _enum(
    "external_kind",
    "CUPTI_EXTERNAL_CORRELATION_KIND_",
    "invalid unknown openacc custom0 custom1 custom2",
)
OVERHEAD_KIND = _enum(
    "overhead_kind",
    "CUPTI_ACTIVITY_OVERHEAD_",
    "unknown driver_compiler cupti_buffer_flush cupti_instrumentation cupti_resource"
    " RUNTIME_TRIGGERED_MODULE_LOADING=module_loading lazy_function_loading"
    " command_buffer_full activity_buffer_request uvm_activity_init",
)
JIT_ENTRY = _enum("jit_entry", "CUPTI_ACTIVITY_JIT_ENTRY_", "invalid ptx_to_cubin nvvm_ir_to_ptx")
JIT_OPERATION = _enum(
    "jit_operation", "CUPTI_ACTIVITY_JIT_OPERATION_", "invalid cache_load cache_store compile"
)
UNIFIED_MEMORY_COUNTER = _enum(
    "unified_memory_counter",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_",
    "unknown bytes_transfer_HtoD bytes_transfer_DtoH bytes_transfer_DtoD"
    " CPU_PAGE_FAULT_COUNT=cpu_page_fault gpu_page_fault thrashing throttling remote_map",
)
ENVIRONMENT_KIND = _enum(
    "environment_kind", "CUPTI_ACTIVITY_ENVIRONMENT_", "unknown speed temperature power cooling"
)
STREAM_FLAG = _enum(
    "stream_flag", "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_", "unknown default non_blocking null"
)
GRAPH_LAUNCH_MODE = _enum(
    "graph_launch_mode",
    "CUPTI_DEVICE_GRAPH_LAUNCH_MODE_",
    "invalid fire_and_forget tail fire_and_forget_as_sibling",
)
CTX_SWITCH_OPERATION = _enum(
    "ctx_switch_operation", "CUPTI_COMPUTE_ENGINE_CTX_SWITCH_OPERATION_", "invalid start end"
)
KEY_ROTATION_EVENT = _enum(
    "key_rotation_event",
    "CUPTI_CONFIDENTIAL_COMPUTE_",
    "INVALID_ROTATION_EVENT=invalid KEY_ROTATION_CHANNEL_BLOCKED=channel_blocked"
    " KEY_ROTATION_CHANNEL_DRAINED=channel_drained"
    " KEY_ROTATION_CHANNEL_UNBLOCKED=channel_unblocked",
)
PCIE_TYPE = _enum("pcie_type", "CUPTI_PCIE_DEVICE_TYPE_", "gpu bridge")
MIGRATION_CAUSE = _enum(
    "migration_cause",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_",
    "unknown user coherence prefetch eviction access_counters",
)
ACCESS_TYPE = _enum(
    "access_type",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_",
    "unknown read write atomic prefetch",
)
REMOTE_MAP_CAUSE = _enum(
    "remote_map_cause",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_",
    "unknown coherence thrashing policy out_of_memory eviction",
)
OPENACC_EVENT = _enum(
    "openacc_event",
    "CUPTI_OPENACC_EVENT_KIND_",
    "invalid device_init device_shutdown runtime_shutdown enqueue_launch enqueue_upload"
    " enqueue_download wait implicit_wait compute_construct update enter_data exit_data create"
    " delete alloc free",
)
OPENACC_CONSTRUCT = _enum(
    "openacc_construct",
    "CUPTI_OPENACC_CONSTRUCT_KIND_",
    "unknown parallel kernels loop data enter_data exit_data host_data atomic declare init"
    " shutdown set update routine wait runtime_api",
)
OPENMP_EVENT = _enum(
    "openmp_event",
    "CUPTI_OPENMP_EVENT_KIND_",
    "invalid parallel task thread idle wait_barrier wait_taskwait",
)
