"""CUDA contexts."""

from cupti_etl.schema.enums import CIG_MODE, COMPUTE_API
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, enum, i32

KIND = Kind(
    table="context",
    activity=("CONTEXT",),
    struct="CUpti_ActivityContext4",
    doc="One row per CUDA context.",
    preset="light",
    is_lasting=True,
    key=("context_id",),
    is_static=True,
    columns=(
        C("context_id", i32, "contextId", "CUPTI's number of the context in its process."),
        C("device_id", i32, "deviceId", "CUDA ordinal of its device.", joins="device.device_id"),
        C("compute_api", enum, "computeApiKind", "Compute API, such as cuda or cuda_mps.", labels=COMPUTE_API),
        C("null_stream_id", i32, "nullStreamId", "Stream number of the default stream."),
        C("parent_context_id", i32, "parentContextId", "Parent of a green context.", null=0),
        C("is_green_context", boolean, "isGreenContext", "Whether it is a green context."),
        # Two bytes of padding until 12.5 gave them a meaning.
        C("multiprocessors", i32, "numMultiprocessors", "Multiprocessors given to it.", unit="multiprocessors", since=23),
        C("cig_mode", enum, "cigMode", "CUDA-in-graphics mode.", labels=CIG_MODE),
    ),
)
