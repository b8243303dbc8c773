"""Green contexts: contexts with a share of a device."""

from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import i32, i64

KIND = Kind(
    table="green_context",
    activity=("GREEN_CONTEXT",),
    struct="CUpti_ActivityGreenContext3",
    doc="One row per green context.",
    preset="full",
    columns=(
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("parent_context_id", i32, "parentContextId", "Context it was made from.", joins="context.context_id"),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("tpcs", i32, "numTpcs", "Texture processing clusters given to it.", unit="clusters"),
        C("multiprocessors", i32, "numMultiprocessors", "Multiprocessors given to it.", unit="multiprocessors"),
        C("workqueue_resource_id", i64, "workqueueResourceId", "Its work queue resource."),
        C("workqueue_concurrency_limit", i32, "workqueueConcurrencyLimit", "Greatest number of concurrent streams asked for.", unit="streams"),
        C("workqueue_channels", i32, "workqueueChannelCount", "Hardware channels of its work queue.", unit="channels"),
    ),
)
