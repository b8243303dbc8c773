"""Memory sets."""

from cupti_etl.schema.enums import MEMORY_KIND
from cupti_etl.schema.shared import GRAPH, RAN_IN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, correlation, enum, i32, i64, timestamp

KIND = Kind(
    table="memset",
    activity=("MEMSET",),
    struct="CUpti_ActivityMemset5",
    doc="One row per memory set on a device.",
    preset="light",
    is_gpu_work=True,
    columns=(
        C("start_ns", timestamp, "start", "When the set began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When the set ended; NULL if it was still running.", unit="ns", null=0),
        C("bytes", i64, "bytes", "Bytes set.", unit="bytes"),
        C("value", i32, "value", "Value written."),
        C("correlation_id", correlation, "correlationId", "The API call that asked for it.", null=0, joins="api_call.correlation_id"),
        *RAN_IN,
        C("memory_kind", enum, "memoryKind", "Kind of memory set.", labels=MEMORY_KIND),
        C("is_async", boolean, "flags", "Asked for by an asynchronous call.", mask=1),
        *GRAPH,
        # The byte was padding until 13.0 gave it a meaning; the record did not grow.
        C("is_device_launched", boolean, "isDeviceLaunched", "Launched by a device-side graph launch.", since=130000),
    ),
)
