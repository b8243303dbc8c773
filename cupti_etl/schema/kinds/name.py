"""Names that a program gives to threads, devices, contexts and streams."""

from cupti_etl.schema.enums import OBJECT_KIND
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import enum, i32, string

KIND = Kind(
    table="name",
    activity=("NAME",),
    struct="CUpti_ActivityName",
    doc="One row per name given through NVTX.",
    preset="full",
    is_lasting=True,
    columns=(
        C("object_kind", enum, "objectKind", "What is named.", labels=OBJECT_KIND),
        C("name", string, "name", "The name."),
        C("pid", i32, "objectId", "The process named, or that of the thread.", at=0, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_PROCESS", "CUPTI_ACTIVITY_OBJECT_THREAD")),
        C("thread_id", i32, "objectId", "The thread named.", at=4, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_THREAD")),
        C("device_id", i32, "objectId", "The device named, or that of the context or stream.", at=0, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_DEVICE", "CUPTI_ACTIVITY_OBJECT_CONTEXT", "CUPTI_ACTIVITY_OBJECT_STREAM"), joins="device.device_id"),
        C("context_id", i32, "objectId", "The context named, or that of the stream.", at=4, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_CONTEXT", "CUPTI_ACTIVITY_OBJECT_STREAM"), joins="context.context_id"),
        C("stream_id", i32, "objectId", "The stream named.", at=8, width=4, only=("objectKind", "CUPTI_ACTIVITY_OBJECT_STREAM"), joins="stream.stream_id"),
    ),
)
