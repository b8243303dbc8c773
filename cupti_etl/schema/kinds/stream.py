"""CUDA streams."""

from cupti_etl.schema.enums import STREAM_FLAG
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, enum, i32

KIND = Kind(
    table="stream",
    activity=("STREAM",),
    struct="CUpti_ActivityStream",
    doc="One row per stream.",
    preset="full",
    is_lasting=True,
    key=("context_id", "stream_id"),
    columns=(
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("stream_id", i32, "streamId", "CUPTI's number of the stream in its context."),
        C("priority", i32, "priority", "Clamped priority; lower is sooner."),
        C("flag", enum, "flag", "How it was created.", labels=STREAM_FLAG),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
    ),
)
