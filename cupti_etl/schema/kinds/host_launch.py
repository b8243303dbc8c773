"""Host functions in streams."""

from cupti_etl.schema.shared import PLACE, SPAN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, i32

KIND = Kind(
    table="host_launch",
    activity=("HOST_LAUNCH",),
    struct="CUpti_ActivityHostLaunch",
    doc="One row per host function that a stream ran.",
    preset="full",
    columns=(
        *SPAN,
        *PLACE,
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("thread_id", i32, "threadId", "The calling thread, as the operating system numbers it."),
    ),
)
