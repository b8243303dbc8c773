"""Graphs launched by the device."""

from cupti_etl.schema.enums import GRAPH_LAUNCH_MODE
from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import enum, i32, i64, timestamp

KIND = Kind(
    table="device_graph_trace",
    activity=("DEVICE_GRAPH_TRACE",),
    struct="CUpti_ActivityDeviceGraphTrace",
    doc="One row per graph launched from a kernel.",
    sort=("start_ns",),
    # CUPTI makes these only while graph_trace is on.
    preset="graph",
    fields=NO_FIELD,  # asked for so, CUPTI refuses kernels, copies and calls
    columns=(
        C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended; NULL if that is not known.", unit="ns", null=0),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("stream_id", i64, "streamId", "Stream it ran in."),
        C("graph_id", i32, "graphId", "The graph launched."),
        C("launcher_graph_id", i32, "launcherGraphId", "The graph that launched it."),
        C("launch_mode", enum, "deviceLaunchMode", "How it was launched.", labels=GRAPH_LAUNCH_MODE),
    ),
)
