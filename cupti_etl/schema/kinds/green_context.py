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
    is_lasting=True,
    columns=(
        C("context_id", i32, "contextId", "The green context itself.", joins="context.context_id"),
        C("parent_context_id", i32, "parentContextId", "Context it was made from.", joins="context.context_id"),
        C("device_id", i32, "deviceId", "CUDA ordinal of the device in its process.", null=0xFFFFFFFF, joins="device.device_id"),
        C("tpcs", i32, "numTpcs", "Texture processing clusters given to it.", unit="clusters"),
        C("multiprocessors", i32, "numMultiprocessors", "Multiprocessors given to it.", unit="multiprocessors"),
        C("tpc_mask_low", i64, "logicalTpcMask", "Which clusters, 0 to 63, as bits.", at=0, width=8),
        C("tpc_mask_high", i64, "logicalTpcMask", "Which clusters, 64 to 127, as bits; later ones are not stored.", at=8, width=8),
        C("workqueue_resource_id", i64, "workqueueResourceId", "Its work queue resource; from CUPTI 13.2."),
        C("workqueue_concurrency_limit", i32, "workqueueConcurrencyLimit", "Operations at once on its work queue, at most.", unit="operations"),
        C("workqueue_sharing_scope", i32, "workqueueSharingScope", "How the work queue is shared, a CUdevWorkqueueConfigScope."),
        C("workqueue_channels", i32, "workqueueChannelCount", "Hardware channels of its work queue; NULL if that is not known.", unit="channels", null=0),
    ),
)
