"""Runs of whole CUDA graphs."""

from cupti_etl.schema.shared import SPAN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, i32

KIND = Kind(
    table="graph_trace",
    activity=("GRAPH_TRACE",),
    struct="CUpti_ActivityGraphTrace2",
    doc="One row per launch of a CUDA graph.",
    # CUPTI gives no records of the nodes (kernels, copies) while this kind is on.
    preset="graph",
    is_gpu_work=True,
    columns=(
        *SPAN,
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("device_id", i32, "deviceId", "Device of its first node; NULL if that ran on the host.", null=0x7FFFFFFF, joins="device.device_id"),
        C("context_id", i32, "contextId", "Context of its first node; NULL if that ran on the host.", null=0x7FFFFFFF, joins="context.context_id"),
        C("stream_id", i32, "streamId", "Stream it was launched in."),
        C("graph_id", i32, "graphId", "The graph launched."),
        C("end_device_id", i32, "endDeviceId", "Device of its last node; NULL if that ran on the host.", null=0x7FFFFFFF, joins="device.device_id"),
        C("end_context_id", i32, "endContextId", "Context of its last node; NULL if that ran on the host.", null=0x7FFFFFFF, joins="context.context_id"),
    ),
)
