"""Copies between devices."""

from cupti_etl.schema.enums import CHANNEL_TYPE, MEMCPY_KIND, MEMORY_KIND
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, correlation, enum, i32, i64, timestamp

KIND = Kind(
    table="memcpy_p2p",
    activity=("MEMCPY2",),
    struct="CUpti_ActivityMemcpyPtoP4",
    doc="One row per copy between two devices (peer to peer).",
    sort=("start_ns",),
    preset="light",
    fields="MEMCPY2",
    is_gpu_work=True,
    columns=(
        C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended; NULL if that is not known.", unit="ns", null=0),
        C("copy_kind", enum, "copyKind", "Direction, such as PtoP.", labels=MEMCPY_KIND),
        C("bytes", i64, "bytes", "Bytes copied.", unit="bytes"),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("stream_id", i32, "streamId", "Stream it belongs to.", null=0xFFFFFFFF),
        C("src_device_id", i32, "srcDeviceId", "Device read from.", joins="device.device_id"),
        C("src_context_id", i32, "srcContextId", "Context read from.", joins="context.context_id"),
        C("dst_device_id", i32, "dstDeviceId", "Device written to.", joins="device.device_id"),
        C("dst_context_id", i32, "dstContextId", "Context written to.", joins="context.context_id"),
        C("src_kind", enum, "srcKind", "Kind of memory read.", labels=MEMORY_KIND),
        C("dst_kind", enum, "dstKind", "Kind of memory written.", labels=MEMORY_KIND),
        C("is_async", boolean, "flags", "Asked for by an asynchronous call.", mask=1),
        C("graph_id", i32, "graphId", "CUDA graph it belongs to; NULL outside graphs.", null=0),
        C("graph_node_id", i64, "graphNodeId", "Node of that graph; NULL outside graphs.", null=0),
        C("channel_id", i32, "channelID", "Hardware channel.", null=0),
        C("channel_type", enum, "channelType", "Kind of hardware channel.", labels=CHANNEL_TYPE),
    ),
)
