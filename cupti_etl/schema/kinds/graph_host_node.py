"""Host nodes of CUDA graphs."""

from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, i32, i64, timestamp

KIND = Kind(
    table="graph_host_node",
    activity=("GRAPH_HOST_NODE",),
    struct="CUpti_ActivityGraphHostNode",
    doc="One row per host function that a graph ran.",
    sort=("start_ns",),
    preset="full",
    columns=(
        C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended; NULL if that is not known.", unit="ns", null=0),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("stream_id", i32, "streamId", "Stream it belongs to.", null=0xFFFFFFFF),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("graph_id", i32, "graphId", "CUDA graph it belongs to; NULL outside graphs.", null=0),
        C("graph_node_id", i64, "graphNodeId", "Node of that graph; NULL outside graphs.", null=0),
        C("thread_id", i32, "threadId", "The calling thread, as the operating system numbers it."),
    ),
)
