"""Host nodes of CUDA graphs."""

from cupti_etl.schema.shared import PLACE, SPAN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, i32, i64

KIND = Kind(
    table="graph_host_node",
    activity=("GRAPH_HOST_NODE",),
    struct="CUpti_ActivityGraphHostNode",
    doc="One row per host function that a graph ran.",
    preset="full",
    columns=(
        *SPAN,
        *PLACE,
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("graph_id", i32, "graphId", "CUDA graph it belongs to; NULL outside graphs.", null=0),
        C("graph_node_id", i64, "graphNodeId", "Node of that graph; NULL outside graphs.", null=0),
        C("thread_id", i32, "threadId", "The calling thread, as the operating system numbers it."),
    ),
)
