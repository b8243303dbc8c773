"""What the driver and CUPTI themselves cost."""

from cupti_etl.schema.enums import OBJECT_KIND, OVERHEAD_KIND
from cupti_etl.schema.shared import SPAN
from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import correlation, enum, i32

KIND = Kind(
    table="overhead",
    activity=("OVERHEAD",),
    struct="CUpti_ActivityOverhead3",
    doc="One row per stretch of time spent in the driver or in CUPTI rather than in the program.",
    preset="full",
    is_of_host=True,
    columns=(
        *SPAN,
        C("overhead_kind", enum, "overheadKind", "What the time went to.", labels=OVERHEAD_KIND),
        C("object_kind", enum, "objectKind", "What the overhead belongs to.", labels=OBJECT_KIND, field=NO_FIELD),
        C("thread_id", i32, "objectId", "Thread it was spent in; NULL where it belongs to no thread.", at=4, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_THREAD"), field="THREAD_ID"),
        C("device_id", i32, "objectId", "Device it belongs to; NULL where it belongs to none.", at=0, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_DEVICE", "CUPTI_ACTIVITY_OBJECT_CONTEXT", "CUPTI_ACTIVITY_OBJECT_STREAM"), joins="device.device_id", field=NO_FIELD),
        C("context_id", i32, "objectId", "Context it belongs to; NULL where it belongs to none.", at=4, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_CONTEXT", "CUPTI_ACTIVITY_OBJECT_STREAM"), joins="context.context_id", field=NO_FIELD),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
    ),
)
