"""Decompressions by the hardware engine."""

from cupti_etl.schema.enums import CHANNEL_TYPE
from cupti_etl.schema.shared import PLACE, SPAN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, enum, i32, i64

KIND = Kind(
    table="mem_decompress",
    activity=("MEM_DECOMPRESS",),
    struct="CUpti_ActivityMemDecompress",
    doc="One row per batch of hardware decompression.",
    preset="full",
    columns=(
        *SPAN,
        *PLACE,
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("operations", i32, "numberOfOperations", "Decompressions in the batch.", unit="operations"),
        C("source_bytes", i64, "sourceBytes", "Compressed bytes read.", unit="bytes"),
        C("channel_id", i32, "channelID", "Hardware channel.", null=0),
        C("channel_type", enum, "channelType", "Kind of hardware channel.", labels=CHANNEL_TYPE),
    ),
)
