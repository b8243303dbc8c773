"""Parts of OpenMP programs."""

from cupti_etl.schema.enums import OPENMP_EVENT
from cupti_etl.schema.shared import SPAN
from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import enum, i32

KIND = Kind(
    table="openmp",
    activity=("OPENMP",),
    struct="CUpti_ActivityOpenMp",
    doc="One row per parallel region, task, thread or wait of an OpenMP runtime that reports them.",
    preset="full",
    is_of_host=True,
    columns=(
        *SPAN,
        C("event", enum, "eventKind", "What it is.", labels=OPENMP_EVENT),
        C("thread_id", i32, "cuThreadId", "The thread, as the operating system numbers it."),
        C("openmp_thread", i32, "threadId", "The thread, as OpenMP numbers it.", field=NO_FIELD),
    ),
)
