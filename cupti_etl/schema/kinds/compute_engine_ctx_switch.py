"""Switches of the compute engine between contexts."""

from cupti_etl.schema.enums import CTX_SWITCH_OPERATION
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import enum, i32, timestamp

KIND = Kind(
    table="compute_engine_ctx_switch",
    activity=("COMPUTE_ENGINE_CTX_SWITCH",),
    struct="CUpti_ActivityComputeEngineCtxSwitch",
    doc="One row per switch to or from a context.",
    preset="full",
    columns=(
        C("timestamp_ns", timestamp, "timestamp", "When it happened.", unit="ns", null=0),
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("operation", enum, "operationType", "start or end.", labels=CTX_SWITCH_OPERATION),
    ),
)
