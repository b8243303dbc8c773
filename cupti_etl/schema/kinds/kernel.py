"""Kernel executions."""

from cupti_etl.schema.enums import LAUNCH_TYPE
from cupti_etl.schema.shared import GRAPH, RAN_IN
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, correlation, enum, i32, i64, string, timestamp

KIND = Kind(
    table="kernel",
    activity=("CONCURRENT_KERNEL",),
    serialized="KERNEL",
    struct="CUpti_ActivityKernel13",
    doc="One row per kernel execution on a device.",
    preset="light",
    is_gpu_work=True,
    columns=(
        C("start_ns", timestamp, "start", "When the kernel began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When the kernel ended; NULL if it was still running.", unit="ns", null=0),
        C("name", string, "name", "Mangled name.", joins="kernel_name.mangled"),
        C("correlation_id", correlation, "correlationId", "The API call that launched it.", null=0, joins="api_call.correlation_id"),
        *RAN_IN,
        C("grid_x", i32, "gridX", "Blocks in the grid, x.", unit="blocks"),
        C("grid_y", i32, "gridY", "Blocks in the grid, y.", unit="blocks"),
        C("grid_z", i32, "gridZ", "Blocks in the grid, z.", unit="blocks"),
        C("block_x", i32, "blockX", "Threads in a block, x.", unit="threads"),
        C("block_y", i32, "blockY", "Threads in a block, y.", unit="threads"),
        C("block_z", i32, "blockZ", "Threads in a block, z.", unit="threads"),
        C("cluster_x", i32, "clusterX", "Blocks in a cluster, x; 0 without clusters.", unit="blocks"),
        C("cluster_y", i32, "clusterY", "Blocks in a cluster, y; 0 without clusters.", unit="blocks"),
        C("cluster_z", i32, "clusterZ", "Blocks in a cluster, z; 0 without clusters.", unit="blocks"),
        C("registers_per_thread", i32, "registersPerThread", "Registers that each thread uses.", unit="registers"),
        C("static_shared_bytes", i32, "staticSharedMemory", "Shared memory the kernel declares, per block.", unit="bytes"),
        C("dynamic_shared_bytes", i32, "dynamicSharedMemory", "Shared memory the launch asks for, per block.", unit="bytes"),
        C("shared_executed_bytes", i32, "sharedMemoryExecuted", "Shared memory carve-out in force.", unit="bytes"),
        C("local_per_thread_bytes", i32, "localMemoryPerThread", "Local memory reserved per thread.", unit="bytes"),
        C("local_total_bytes", i64, "localMemoryTotal_v2", "Local memory reserved for the kernel.", unit="bytes"),
        C("launch_type", enum, "launchType", "Regular or cooperative launch.", labels=LAUNCH_TYPE),
        C("queued_ns", timestamp, "queued", "When the launch entered the command buffer; NULL unless latency timestamps are on.", unit="ns", null=0),
        C("submitted_ns", timestamp, "submitted", "When the command buffer was submitted; NULL unless latency timestamps are on.", unit="ns", null=0),
        *GRAPH,
        C("max_potential_cluster_size", i32, "maxPotentialClusterSize", "Largest cluster size the launch could use.", unit="blocks", null=0),
        C("max_active_clusters", i32, "maxActiveClusters", "Clusters that could be active at once.", unit="clusters", null=0),
        C("is_device_launched", boolean, "isDeviceLaunched", "Launched by a device-side graph launch."),
        C("priority", i32, "priority", "Stream priority at launch.", field="LAUNCH_PRIORITY"),
        C("grid_id", i64, "gridId", "CUPTI's number of the launch."),
    ),
)
