"""Functions of loaded modules."""

from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import i32, string

KIND = Kind(
    table="function",
    activity=("FUNCTION",),
    struct="CUpti_ActivityFunction",
    doc="One row per device function.",
    preset="full",
    is_lasting=True,
    fields=NO_FIELD,
    columns=(
        C("context_id", i32, "contextId", "Context it belongs to.", null=0xFFFFFFFF, joins="context.context_id"),
        C("function_id", i32, "id", "CUPTI's number of the function."),
        C("module_id", i32, "moduleId", "CUPTI's number of the module it is in."),
        C("function_index", i32, "functionIndex", "Place in the module's symbol table."),
        C("name", string, "name", "Mangled name.", joins="kernel_name.mangled"),
    ),
)
