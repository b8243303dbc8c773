"""OpenACC programs: launches."""

from cupti_etl.schema.shared import OPENACC
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import i64, string

KIND = Kind(
    table="openacc_launch",
    activity=("OPENACC_LAUNCH",),
    struct="CUpti_ActivityOpenAccLaunch",
    doc="One row per launch of an OpenACC program.",
    preset="full",
    is_of_host=True,
    columns=(
        *OPENACC,
        C("gangs", i64, "numGangs", "Gangs made for it.", unit="gangs"),
        C("workers", i64, "numWorkers", "Workers made for it.", unit="workers"),
        C("vector_length", i64, "vectorLength", "Vector lanes made for it.", unit="lanes"),
        C("kernel", string, "kernelName", "Kernel launched; NULL if that is not known."),
    ),
)
