"""Columns that stand in several kinds, as their members do in several of CUPTI's structs."""

from cupti_etl.schema.enums import CHANNEL_TYPE, OPENACC_CONSTRUCT, OPENACC_EVENT
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import boolean, enum, i32, i64, string, timestamp

SPAN = (
    C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
    C("end_ns", timestamp, "end", "When it ended; NULL if that is not known.", unit="ns", null=0),
)
OWNER = (
    C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
    C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
)
PLACE = (*OWNER, C("stream_id", i32, "streamId", "Stream it belongs to.", null=0xFFFFFFFF))
RAN_IN = (
    C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", joins="device.device_id"),
    C("context_id", i32, "contextId", "Context it ran in.", joins="context.context_id"),
    C("stream_id", i32, "streamId", "Stream it ran in."),
)
GRAPH = (
    C("graph_id", i32, "graphId", "CUDA graph that launched it; NULL outside graphs.", null=0),
    C("graph_node_id", i64, "graphNodeId", "Node of that graph; NULL outside graphs.", null=0),
    C("source_graph_id", i32, "sourceGraphId", "Graph that the executed graph was instantiated from.", null=0),
    C("source_graph_node_id", i64, "sourceGraphNodeId", "Node of that source graph.", null=0),
    C("channel_id", i32, "channelID", "Hardware channel.", null=0),
    C("channel_type", enum, "channelType", "Kind of hardware channel.", labels=CHANNEL_TYPE),
)
OPENACC = (
    *SPAN,
    C("event", enum, "eventKind", "What it is.", labels=OPENACC_EVENT),
    C("construct", enum, "parentConstruct", "Construct that it is part of.", labels=OPENACC_CONSTRUCT),
    C("is_implicit", boolean, "implicit", "Whether the program does not say it itself."),
    C("device_type", i32, "deviceType", "acc_device_t of its device."),
    C("device_number", i32, "deviceNumber", "Number of the device among those of its type."),
    C("async_value", i64, "async", "Value of the directive's async clause."),
    C("async_queue", i64, "asyncMap", "Queue of the OpenACC runtime that was used."),
    C("source_file", string, "srcFile", "Source file; NULL if that is not known."),
    C("function", string, "funcName", "Function it happened in."),
    C("line", i32, "lineNo", "First line of the directive; not above 0 if that is not known."),
    C("end_line", i32, "endLineNo", "Last line of the construct; not above 0 if that is not known."),
    C("thread_id", i32, "cuThreadId", "The thread, as the operating system numbers it."),
    C("device_id", i32, "cuDeviceId", "CUDA ordinal of the device in its process; of NVIDIA's devices.", joins="device.device_id"),
    C("context_id", i32, "cuContextId", "Context; of NVIDIA's devices.", joins="context.context_id"),
    C("stream_id", i32, "cuStreamId", "Stream; of NVIDIA's devices."),
    C("external_id", i32, "externalId", "Joins it to the API calls made for it.", null=0, joins="external_correlation.external_id"),
)
