"""Migrations and faults of managed memory."""

from cupti_etl.schema.enums import UNIFIED_MEMORY_COUNTER
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import enum, i32, i64, timestamp

KIND = Kind(
    table="unified_memory",
    activity=("UNIFIED_MEMORY_COUNTER",),
    struct="CUpti_ActivityUnifiedMemoryCounter3",
    doc="One row per migration, page fault or other event of managed memory.",
    sort=("start_ns",),
    preset="full",
    columns=(
        C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended; NULL if that is not known.", unit="ns", null=0),
        C("counter", enum, "counterKind", "What happened.", labels=UNIFIED_MEMORY_COUNTER),
        C("value", i64, "value", "Bytes, page faults or program counter, by counter."),
        C("address", i64, "address", "First address concerned."),
        C("src_id", i32, "srcId", "Device it came from; NULL for the host.", null=0xFFFFFFFF),
        C("dst_id", i32, "dstId", "Device it went to; NULL for the host.", null=0xFFFFFFFF),
        C("flags", i32, "flags", "Cause or access type, by counter."),
    ),
)
