"""Recordings of CUDA events."""

from cupti_etl.schema.shared import PLACE
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, i32, i64, timestamp

KIND = Kind(
    table="cuda_event",
    activity=("CUDA_EVENT",),
    struct="CUpti_ActivityCudaEvent3",
    doc="One row per recording of a CUDA event.",
    preset="full",
    columns=(
        C("event_id", i32, "eventId", "CUPTI's number of the event."),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        *PLACE,
        C("device_timestamp_ns", timestamp, "deviceTimestamp", "When the device reached it; from CUPTI 13.0.", unit="ns", null=0),
        C("event_sync_id", i64, "cudaEventSyncId", "Joins the record to the waits it ends.", null=0),
        C("graph_id", i32, "graphId", "CUDA graph it belongs to; NULL outside graphs.", null=0),
        C("graph_node_id", i64, "graphNodeId", "Node of that graph; NULL outside graphs.", null=0),
        C("source_graph_id", i32, "sourceGraphId", "Graph that the executed graph was instantiated from.", null=0),
        C("source_graph_node_id", i64, "sourceGraphNodeId", "Node of that source graph.", null=0),
    ),
)
