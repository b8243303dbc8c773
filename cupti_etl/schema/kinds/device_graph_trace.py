"""Graphs launched by the device."""

from cupti_etl.schema.enums import GRAPH_LAUNCH_MODE
from cupti_etl.schema.shared import OWNER, SPAN
from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import enum, i32, i64

KIND = Kind(
    table="device_graph_trace",
    activity=("DEVICE_GRAPH_TRACE",),
    struct="CUpti_ActivityDeviceGraphTrace",
    doc="One row per graph launched from a kernel.",
    # CUPTI makes these only while graph_trace is on.
    preset="graph",
    fields=NO_FIELD,  # asked for so, CUPTI refuses kernels, copies and calls
    columns=(
        *SPAN,
        *OWNER,
        C("stream_id", i64, "streamId", "Stream it ran in."),
        C("graph_id", i32, "graphId", "The graph launched."),
        C("launcher_graph_id", i32, "launcherGraphId", "The graph that launched it."),
        C("launch_mode", enum, "deviceLaunchMode", "How it was launched.", labels=GRAPH_LAUNCH_MODE),
    ),
)
