"""OpenACC programs: data."""

from cupti_etl.schema.shared import OPENACC
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import i64, string

KIND = Kind(
    table="openacc_data",
    activity=("OPENACC_DATA",),
    struct="CUpti_ActivityOpenAccData",
    doc="One row per transfer, allocation or release of an OpenACC program.",
    preset="full",
    is_of_host=True,
    columns=(
        *OPENACC,
        C("bytes", i64, "bytes", "Bytes concerned.", unit="bytes"),
        C("host_address", i64, "hostPtr", "Address on the host, as the bits of an unsigned number.", null=0),
        C("device_address", i64, "devicePtr", "Address on the device, as the bits of an unsigned number.", null=0),
        C("variable", string, "varName", "Variable; NULL if that is not known."),
    ),
)
