"""NVTX markers and the ends of NVTX ranges."""

from cupti_etl.schema.enums import MARKER_EVENT, OBJECT_KIND
from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import enum, i32, string, timestamp

KIND = Kind(
    table="marker",
    activity=("MARKER",),
    struct="CUpti_ActivityMarker2",
    doc="One row per NVTX mark, range start or range end.",
    is_of_host=True,
    columns=(
        C("timestamp_ns", timestamp, "timestamp", "When it happened.", unit="ns", null=0),
        C("marker_id", i32, "id", "Joins the start of a range to its end and to its data.", joins="marker_data.marker_id"),
        C("event", enum, "flags", "instant, start or end.", labels=MARKER_EVENT, mask=7),
        C("name", string, "name", "Text of the mark or range; NULL on an end."),
        C("domain", string, "domain", "NVTX domain; NULL for the default domain."),
        C("object_kind", enum, "objectKind", "What the marker belongs to.", labels=OBJECT_KIND, field=NO_FIELD),
        C("thread_id", i32, "objectId", "The thread that made it.", at=4, width=4, field="THREAD_ID"),
    ),
)
