"""Allocations and releases."""

from cupti_etl.schema.enums import MEMORY_KIND, MEMORY_OPERATION, MEMORY_POOL_TYPE
from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import boolean, correlation, enum, i32, i64, string, timestamp

KIND = Kind(
    table="memory",
    activity=("MEMORY2",),
    struct="CUpti_ActivityMemory4",
    doc="One row per allocation or release of memory.",
    preset="full",
    is_state=True,
    columns=(
        C("timestamp_ns", timestamp, "timestamp", "When it happened.", unit="ns", null=0),
        C("operation", enum, "memoryOperationType", "allocation or release.", labels=MEMORY_OPERATION, field="OPERATION_TYPE"),
        C("memory_kind", enum, "memoryKind", "Kind of memory.", labels=MEMORY_KIND),
        C("address", i64, "address", "Address, as the bits of an unsigned number."),
        C("bytes", i64, "bytes", "Size.", unit="bytes"),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("context_id", i32, "contextId", "Context it belongs to; NULL if there is none.", null=0, joins="context.context_id"),
        C("stream_id", i32, "streamId", "Stream it is ordered in; NULL if it is not asynchronous.", only=("isAsync", 1)),
        C("is_async", boolean, "isAsync", "By a stream-ordered call."),
        C("name", string, "name", "Variable, for static memory.", field=NO_FIELD),
        C("source", string, "source", "Shared object that asked for it; from CUPTI 12.6."),
        C("pool_type", enum, "memoryPoolConfig", "Whose memory pool it came from; none without one.", at=0, width=4, labels=MEMORY_POOL_TYPE, field="POOL_TYPE"),
        C("pool_address", i64, "memoryPoolConfig", "Address of that pool, as the bits of an unsigned number.", at=8, width=8, only=("memoryPoolConfig", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED"), field="POOL_ADDRESS"),
        C("pool_release_threshold_bytes", i64, "memoryPoolConfig", "Bytes that the pool keeps.", unit="bytes", at=16, width=8, only=("memoryPoolConfig", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL"), field="POOL_RELEASE_THRESHOLD"),
        C("pool_bytes", i64, "memoryPoolConfig", "Size of the pool.", unit="bytes", at=24, width=8, only=("memoryPoolConfig", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL"), field="POOL_SIZE"),
        C("pool_pid", i64, "memoryPoolConfig", "Process that the pool was imported from.", at=24, width=8, only=("memoryPoolConfig", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED"), field="POOL_PROCESS_ID"),
        C("pool_utilized_bytes", i64, "memoryPoolConfig", "Bytes of the pool in use.", unit="bytes", at=32, width=8, only=("memoryPoolConfig", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL"), field="POOL_UTILIZED_SIZE"),
        C("pc", i64, "PC", "Program counter of the call, as the bits of an unsigned number.", field=NO_FIELD),
        # Of imported traces, whose allocators are no API calls.
        C("thread_id", i32, "", "Thread that asked for it, where no API call did; NULL in captures."),
    ),
)
