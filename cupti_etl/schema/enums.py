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
    DECOMP="decompress",
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
SYNCHRONIZATION_TYPE = _enum(
    "synchronization_type",
    "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
    UNKNOWN="unknown",
    EVENT_SYNCHRONIZE="event_synchronize",
    STREAM_WAIT_EVENT="stream_wait_event",
    STREAM_SYNCHRONIZE="stream_synchronize",
    CONTEXT_SYNCHRONIZE="context_synchronize",
)
MEMORY_OPERATION = _enum(
    "memory_operation",
    "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_",
    INVALID="invalid",
    ALLOCATION="allocation",
    RELEASE="release",
)
MEMORY_POOL_TYPE = _enum(
    "memory_pool_type",
    "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_",
    INVALID="none",
    LOCAL="local",
    IMPORTED="imported",
)
MEMORY_POOL_OPERATION = _enum(
    "memory_pool_operation",
    "CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_",
    INVALID="invalid",
    CREATED="created",
    DESTROYED="destroyed",
    TRIMMED="trimmed",
)
EXTERNAL_KIND = _enum(
    "external_kind",
    "CUPTI_EXTERNAL_CORRELATION_KIND_",
    INVALID="invalid",
    UNKNOWN="unknown",
    OPENACC="openacc",
    CUSTOM0="custom0",
    CUSTOM1="custom1",
    CUSTOM2="custom2",
)
OVERHEAD_KIND = _enum(
    "overhead_kind",
    "CUPTI_ACTIVITY_OVERHEAD_",
    UNKNOWN="unknown",
    DRIVER_COMPILER="driver_compiler",
    CUPTI_BUFFER_FLUSH="cupti_buffer_flush",
    CUPTI_INSTRUMENTATION="cupti_instrumentation",
    CUPTI_RESOURCE="cupti_resource",
    RUNTIME_TRIGGERED_MODULE_LOADING="module_loading",
    LAZY_FUNCTION_LOADING="lazy_function_loading",
    COMMAND_BUFFER_FULL="command_buffer_full",
    ACTIVITY_BUFFER_REQUEST="activity_buffer_request",
    UVM_ACTIVITY_INIT="uvm_activity_init",
)
JIT_ENTRY = _enum(
    "jit_entry",
    "CUPTI_ACTIVITY_JIT_ENTRY_",
    INVALID="invalid",
    PTX_TO_CUBIN="ptx_to_cubin",
    NVVM_IR_TO_PTX="nvvm_ir_to_ptx",
)
JIT_OPERATION = _enum(
    "jit_operation",
    "CUPTI_ACTIVITY_JIT_OPERATION_",
    INVALID="invalid",
    CACHE_LOAD="cache_load",
    CACHE_STORE="cache_store",
    COMPILE="compile",
)
UNIFIED_MEMORY_COUNTER = _enum(
    "unified_memory_counter",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_",
    UNKNOWN="unknown",
    BYTES_TRANSFER_HTOD="bytes_transfer_HtoD",
    BYTES_TRANSFER_DTOH="bytes_transfer_DtoH",
    BYTES_TRANSFER_DTOD="bytes_transfer_DtoD",
    CPU_PAGE_FAULT_COUNT="cpu_page_fault",
    GPU_PAGE_FAULT="gpu_page_fault",
    THRASHING="thrashing",
    THROTTLING="throttling",
    REMOTE_MAP="remote_map",
)
ENVIRONMENT_KIND = _enum(
    "environment_kind",
    "CUPTI_ACTIVITY_ENVIRONMENT_",
    UNKNOWN="unknown",
    SPEED="speed",
    TEMPERATURE="temperature",
    POWER="power",
    COOLING="cooling",
)
STREAM_FLAG = _enum(
    "stream_flag",
    "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_",
    UNKNOWN="unknown",
    DEFAULT="default",
    NON_BLOCKING="non_blocking",
    NULL="null",
)
GRAPH_LAUNCH_MODE = _enum(
    "graph_launch_mode",
    "CUPTI_DEVICE_GRAPH_LAUNCH_MODE_",
    INVALID="invalid",
    FIRE_AND_FORGET="fire_and_forget",
    TAIL="tail",
    FIRE_AND_FORGET_AS_SIBLING="fire_and_forget_as_sibling",
)
CTX_SWITCH_OPERATION = _enum(
    "ctx_switch_operation",
    "CUPTI_COMPUTE_ENGINE_CTX_SWITCH_OPERATION_",
    INVALID="invalid",
    START="start",
    END="end",
)
KEY_ROTATION_EVENT = _enum(
    "key_rotation_event",
    "CUPTI_CONFIDENTIAL_COMPUTE_",
    INVALID_ROTATION_EVENT="invalid",
    KEY_ROTATION_CHANNEL_BLOCKED="channel_blocked",
    KEY_ROTATION_CHANNEL_DRAINED="channel_drained",
    KEY_ROTATION_CHANNEL_UNBLOCKED="channel_unblocked",
)
PCIE_TYPE = _enum("pcie_type", "CUPTI_PCIE_DEVICE_TYPE_", GPU="gpu", BRIDGE="bridge")
MIGRATION_CAUSE = _enum(
    "migration_cause",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_",
    UNKNOWN="unknown",
    USER="user",
    COHERENCE="coherence",
    PREFETCH="prefetch",
    EVICTION="eviction",
    ACCESS_COUNTERS="access_counters",
)
ACCESS_TYPE = _enum(
    "access_type",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_",
    UNKNOWN="unknown",
    READ="read",
    WRITE="write",
    ATOMIC="atomic",
    PREFETCH="prefetch",
)
REMOTE_MAP_CAUSE = _enum(
    "remote_map_cause",
    "CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_",
    UNKNOWN="unknown",
    COHERENCE="coherence",
    THRASHING="thrashing",
    POLICY="policy",
    OUT_OF_MEMORY="out_of_memory",
    EVICTION="eviction",
)
OPENACC_EVENT = _enum(
    "openacc_event",
    "CUPTI_OPENACC_EVENT_KIND_",
    INVALID="invalid",
    DEVICE_INIT="device_init",
    DEVICE_SHUTDOWN="device_shutdown",
    RUNTIME_SHUTDOWN="runtime_shutdown",
    ENQUEUE_LAUNCH="enqueue_launch",
    ENQUEUE_UPLOAD="enqueue_upload",
    ENQUEUE_DOWNLOAD="enqueue_download",
    WAIT="wait",
    IMPLICIT_WAIT="implicit_wait",
    COMPUTE_CONSTRUCT="compute_construct",
    UPDATE="update",
    ENTER_DATA="enter_data",
    EXIT_DATA="exit_data",
    CREATE="create",
    DELETE="delete",
    ALLOC="alloc",
    FREE="free",
)
OPENACC_CONSTRUCT = _enum(
    "openacc_construct",
    "CUPTI_OPENACC_CONSTRUCT_KIND_",
    UNKNOWN="unknown",
    PARALLEL="parallel",
    KERNELS="kernels",
    LOOP="loop",
    DATA="data",
    ENTER_DATA="enter_data",
    EXIT_DATA="exit_data",
    HOST_DATA="host_data",
    ATOMIC="atomic",
    DECLARE="declare",
    INIT="init",
    SHUTDOWN="shutdown",
    SET="set",
    UPDATE="update",
    ROUTINE="routine",
    WAIT="wait",
    RUNTIME_API="runtime_api",
)
OPENMP_EVENT = _enum(
    "openmp_event",
    "CUPTI_OPENMP_EVENT_KIND_",
    INVALID="invalid",
    PARALLEL="parallel",
    TASK="task",
    THREAD="thread",
    IDLE="idle",
    WAIT_BARRIER="wait_barrier",
    WAIT_TASKWAIT="wait_taskwait",
)
