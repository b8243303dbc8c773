"""Memory pools."""

from cupti_etl.schema.enums import MEMORY_POOL_OPERATION, MEMORY_POOL_TYPE
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, correlation, enum, i32, i64, timestamp

KIND = Kind(
    table="memory_pool",
    activity=("MEMORY_POOL",),
    struct="CUpti_ActivityMemoryPool3",
    doc="One row per creation, trimming or destruction of a memory pool.",
    preset="full",
    is_state=True,
    columns=(
        C("timestamp_ns", timestamp, "timestamp", "When it happened.", unit="ns", null=0),
        C("operation", enum, "memoryPoolOperationType", "created, destroyed or trimmed.", labels=MEMORY_POOL_OPERATION, field="OPERATION_TYPE"),
        C("pool_type", enum, "memoryPoolType", "Of this process, or imported.", labels=MEMORY_POOL_TYPE, field="POOL_TYPE"),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("address", i64, "address", "Address of the pool, as the bits of an unsigned number."),
        C("bytes", i64, "size", "Size of the pool.", unit="bytes", only=("memoryPoolType", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL")),
        C("utilized_bytes", i64, "utilizedSize", "Bytes in use.", unit="bytes", only=("memoryPoolType", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL")),
        C("release_threshold_bytes", i64, "releaseThreshold", "Bytes the pool keeps.", unit="bytes", only=("memoryPoolType", "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL")),
        C("min_bytes_to_keep", i64, "minBytesToKeep", "Bytes asked to be kept by a trim.", unit="bytes", only=("memoryPoolOperationType", "CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED")),
        C("is_managed", boolean, "isManagedPool", "Whether it holds managed memory, not pinned; from CUPTI 13.0."),
    ),
)
