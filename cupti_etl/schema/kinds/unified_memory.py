"""What happens to managed memory: migrations, page faults, thrashing."""

from cupti_etl.schema.enums import (
    ACCESS_TYPE,
    MIGRATION_CAUSE,
    REMOTE_MAP_CAUSE,
    UNIFIED_MEMORY_COUNTER,
)
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, enum, i32, i64, timestamp

KIND = Kind(
    table="unified_memory",
    activity=("UNIFIED_MEMORY_COUNTER",),
    struct="CUpti_ActivityUnifiedMemoryCounter3",
    doc="One row per migration, page fault or other event of managed memory.",
    preset="full",
    fields="UVM_COUNTER",
    columns=(
        C("start_ns", timestamp, "start", "When it began or was noticed.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended; NULL for what has no length.", unit="ns", null=0, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING")),
        C("counter", enum, "counterKind", "What happened.", labels=UNIFIED_MEMORY_COUNTER),
        C("address", i64, "address", "First address concerned, as the bits of an unsigned number."),
        C("bytes", i64, "value", "Size of the memory that was moved or mapped, or was contended for.", unit="bytes", only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP")),
        C("page_faults", i64, "value", "Groups of page faults of a GPU on one page.", unit="faults", only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT")),
        C("pc", i64, "value", "Program counter of a CPU page fault, as the bits of an unsigned number.", only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT")),
        # For the host CUPTI writes 0 as well as 0xFFFFFFFF, so the counter has to say which side it is.
        C("src_device_id", i32, "srcId", "Device it came from, or that faulted or was throttled; NULL for the host.", null=0xFFFFFFFF, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP"), joins="device.device_id"),
        C("dst_device_id", i32, "dstId", "Device it went to; NULL for the host.", null=0xFFFFFFFF, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP"), joins="device.device_id"),
        C("contending_devices", i64, "processors", "Devices that fight for the memory: bit n for device n, up to 63.", at=0, width=8, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING")),
        C("migration_cause", enum, "flags", "Why it moved.", labels=MIGRATION_CAUSE, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD")),
        C("access_type", enum, "flags", "Access that faulted on a GPU.", labels=ACCESS_TYPE, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT")),
        C("remote_map_cause", enum, "flags", "Why it was mapped instead of moved.", labels=REMOTE_MAP_CAUSE, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP")),
        C("is_in_cpu", boolean, "flags", "Whether it is the CPU that thrashes or is throttled.", mask=1, only=("counterKind", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING", "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING")),
    ),
)
