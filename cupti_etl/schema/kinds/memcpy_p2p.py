"""Copies between devices."""

from cupti_etl.schema.enums import CHANNEL_TYPE, MEMCPY_KIND, MEMORY_KIND
from cupti_etl.schema.shared import PLACE, SPAN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, correlation, enum, i32, i64

KIND = Kind(
    table="memcpy_p2p",
    activity=("MEMCPY2",),
    struct="CUpti_ActivityMemcpyPtoP4",
    doc="One row per copy between two devices (peer to peer).",
    preset="light",
    fields="MEMCPY2",
    is_gpu_work=True,
    columns=(
        *SPAN,
        C("copy_kind", enum, "copyKind", "Direction, such as PtoP.", labels=MEMCPY_KIND),
        C("bytes", i64, "bytes", "Bytes copied.", unit="bytes"),
        C("correlation_id", correlation, "correlationId", "The API call it belongs to.", null=0, joins="api_call.correlation_id"),
        *PLACE,
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
