"""OpenACC programs: all but data and launches."""

from cupti_etl.schema.shared import OPENACC
from cupti_etl.schema.spec import Kind

KIND = Kind(
    table="openacc_other",
    activity=("OPENACC_OTHER",),
    struct="CUpti_ActivityOpenAccOther",
    doc="One row per other event of an OpenACC program, such as a wait.",
    preset="full",
    is_of_host=True,
    columns=OPENACC,
)
