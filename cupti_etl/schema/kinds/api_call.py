"""CUDA runtime and driver calls."""

from cupti_etl.schema.enums import API_DOMAIN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import api_name, correlation, enum, i32, timestamp

KIND = Kind(
    table="api_call",
    activity=("RUNTIME", "DRIVER"),
    struct="CUpti_ActivityAPI",
    doc="One row per CUDA runtime or driver call that was recorded.",
    fields="API",
    is_of_host=True,
    columns=(
        C("start_ns", timestamp, "start", "When the call was entered.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When the call returned.", unit="ns", null=0),
        C("domain", enum, "kind", "Which API: runtime or driver.", labels=API_DOMAIN),
        C("name", api_name, "cbid", "The function's name.", null=0),
        C("cbid", i32, "cbid", "CUPTI's callback id of the function."),
        C("correlation_id", correlation, "correlationId", "Joins the call to the work it asked for, within its process.", null=0),
        C("thread_id", i32, "threadId", "The calling thread, as the operating system numbers it."),
        C("return_value", i32, "returnValue", "The cudaError_t or CUresult returned; 0 is success."),
    ),
)
