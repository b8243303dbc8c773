"""Loaded modules."""

from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import i32

KIND = Kind(
    table="module",
    activity=("MODULE",),
    struct="CUpti_ActivityModule",
    doc="One row per module of device code that was loaded.",
    preset="full",
    columns=(
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("module_id", i32, "id", "CUPTI's number of the module."),
        C("cubin_bytes", i32, "cubinSize", "Size of its code.", unit="bytes"),
    ),
)
