"""Run-time compilation."""

from cupti_etl.schema.enums import JIT_ENTRY, JIT_OPERATION
from cupti_etl.schema.shared import SPAN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, enum, i32, i64, string

KIND = Kind(
    table="jit",
    activity=("JIT",),
    struct="CUpti_ActivityJit2",
    doc="One row per step of run-time compilation.",
    preset="full",
    is_of_host=True,
    columns=(
        *SPAN,
        C("entry", enum, "jitEntryType", "What was compiled to what.", labels=JIT_ENTRY, field="ENTRY_TYPE"),
        C("operation", enum, "jitOperationType", "Compiled, or from or into the cache.", labels=JIT_OPERATION, field="OPERATION_TYPE"),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("operation_correlation_id", i64, "jitOperationCorrelationId", "Joins the steps of one compilation.", null=0, field="OPERATION_CORRELATION_ID"),
        C("cache_bytes", i64, "cacheSize", "Size of the cache entry.", unit="bytes"),
        C("cache_path", string, "cachePath", "Where the cache lies."),
        C("thread_id", i32, "threadId", "The calling thread, as the operating system numbers it."),
    ),
)
