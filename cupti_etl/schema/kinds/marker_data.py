"""Payload, colour and category of NVTX markers."""

from cupti_etl.schema.enums import PAYLOAD_KIND
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, enum, f64, i32, i64

KIND = Kind(
    table="marker_data",
    activity=("MARKER_DATA",),
    struct="CUpti_ActivityMarkerData2",
    doc="One row per NVTX marker that carries attributes.",
    is_static=True,
    columns=(
        C("marker_id", i32, "id", "The marker it belongs to.", joins="marker.marker_id"),
        C("payload_kind", enum, "payloadKind", "How to read the payload.", labels=PAYLOAD_KIND),
        C("payload", i64, "payload", "Payload as an integer, or the bits of one that is not."),
        C("payload_double", f64, "payload", "The same bits read as a double."),
        C("has_color", boolean, "flags", "Whether a colour was given.", mask=2),
        C("color", i32, "color", "Colour, 0xAARRGGBB."),
        C("category", i32, "category", "NVTX category."),
        C("domain_id", i32, "cuptiDomainId", "CUPTI's number of the NVTX domain."),
    ),
)
