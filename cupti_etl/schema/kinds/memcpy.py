"""Memory copies."""

from cupti_etl.schema.enums import MEMCPY_KIND, MEMORY_KIND
from cupti_etl.schema.shared import GRAPH, RAN_IN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, correlation, enum, i64, timestamp

KIND = Kind(
    table="memcpy",
    activity=("MEMCPY",),
    struct="CUpti_ActivityMemcpy7",
    doc="One row per memory copy on a device.",
    preset="light",
    is_gpu_work=True,
    columns=(
        C("start_ns", timestamp, "start", "When the copy began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When the copy ended; NULL if it was still running.", unit="ns", null=0),
        C("copy_kind", enum, "copyKind", "Direction, such as HtoD.", labels=MEMCPY_KIND),
        C("bytes", i64, "bytes", "Bytes copied.", unit="bytes"),
        C("correlation_id", correlation, "correlationId", "The API call that asked for it.", null=0, joins="api_call.correlation_id"),
        *RAN_IN,
        C("src_kind", enum, "srcKind", "Kind of memory read.", labels=MEMORY_KIND),
        C("dst_kind", enum, "dstKind", "Kind of memory written.", labels=MEMORY_KIND),
        C("is_async", boolean, "flags", "Asked for by an asynchronous call.", mask=1),
        C("copy_count", i64, "copyCount", "Copies merged into this record.", unit="copies"),
        *GRAPH,
        # The byte was padding until 13.0 gave it a meaning; the record did not grow.
        C("is_device_launched", boolean, "isDeviceLaunched", "Launched by a device-side graph launch.", since=130000),
    ),
)
