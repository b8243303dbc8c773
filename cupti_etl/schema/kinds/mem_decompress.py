"""Decompressions by the hardware engine."""

from cupti_etl.schema.enums import CHANNEL_TYPE
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, enum, i32, i64, timestamp

KIND = Kind(
    table="mem_decompress",
    activity=("MEM_DECOMPRESS",),
    struct="CUpti_ActivityMemDecompress",
    doc="One row per batch of hardware decompression.",
    sort=("start_ns",),
    preset="full",
    columns=(
        C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended; NULL if that is not known.", unit="ns", null=0),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("stream_id", i32, "streamId", "Stream it belongs to.", null=0xFFFFFFFF),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("operations", i32, "numberOfOperations", "Decompressions in the batch.", unit="operations"),
        C("source_bytes", i64, "sourceBytes", "Compressed bytes read.", unit="bytes"),
        C("channel_id", i32, "channelID", "Hardware channel.", null=0),
        C("channel_type", enum, "channelType", "Kind of hardware channel.", labels=CHANNEL_TYPE),
    ),
)
