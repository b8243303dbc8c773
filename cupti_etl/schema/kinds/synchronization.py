"""Waits for the GPU."""

from cupti_etl.schema.enums import SYNCHRONIZATION_TYPE
from cupti_etl.schema.shared import SPAN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, enum, i32, i64

KIND = Kind(
    table="synchronization",
    activity=("SYNCHRONIZATION",),
    struct="CUpti_ActivitySynchronization2",
    doc="One row per wait of the host or of a stream.",
    preset="full",
    is_of_host=True,
    columns=(
        *SPAN,
        C("type", enum, "type", "What was waited for.", labels=SYNCHRONIZATION_TYPE),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("context_id", i32, "contextId", "Context that the call was for, or that the stream or event was made in.", null=0xFFFFFFFF, joins="context.context_id"),
        C("stream_id", i32, "streamId", "Stream that waited or was waited for; NULL for events and contexts.", null=0xFFFFFFFF),
        C("event_id", i32, "cudaEventId", "CUDA event waited for; NULL where none was.", null=0xFFFFFFFF, joins="cuda_event.event_id"),
        C("event_sync_id", i64, "cudaEventSyncId", "The record of that event which was waited for; NULL without an event.", null=0xFFFFFFFF, joins="cuda_event.event_sync_id"),
        C("return_value", i32, "returnValue", "The CUresult returned; 0 is success."),
    ),
)
