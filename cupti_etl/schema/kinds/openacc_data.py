"""OpenACC programs: data."""

from cupti_etl.schema.enums import OPENACC_CONSTRUCT, OPENACC_EVENT
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, enum, i32, i64, string, timestamp

KIND = Kind(
    table="openacc_data",
    activity=("OPENACC_DATA",),
    struct="CUpti_ActivityOpenAccData",
    doc="One row per transfer, allocation or release of an OpenACC program.",
    sort=("start_ns",),
    preset="full",
    columns=(
        C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended; NULL if that is not known.", unit="ns", null=0),
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
        C("bytes", i64, "bytes", "Bytes concerned.", unit="bytes"),
        C("host_address", i64, "hostPtr", "Address on the host, as the bits of an unsigned number.", null=0),
        C("device_address", i64, "devicePtr", "Address on the device, as the bits of an unsigned number.", null=0),
        C("variable", string, "varName", "Variable; NULL if that is not known."),
    ),
)
