"""Devices as a process sees them."""

from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import boolean, i32, i64, string, uuid

KIND = Kind(
    table="device",
    activity=("DEVICE",),
    struct="CUpti_ActivityDevice6",
    doc="One row per device and process.",
    preset="light",
    is_lasting=True,
    key=("device_id",),
    is_static=True,
    columns=(
        C("device_id", i32, "id", "CUDA ordinal of the device in its process."),
        C("device_uuid", uuid, "uuid", "The GPU across processes and hosts, as nvidia-smi prints it."),
        C("name", string, "name", "Product name."),
        C("compute_capability_major", i32, "computeCapabilityMajor", "Compute capability, major."),
        C("compute_capability_minor", i32, "computeCapabilityMinor", "Compute capability, minor."),
        C("multiprocessors", i32, "numMultiprocessors", "Streaming multiprocessors.", unit="multiprocessors"),
        C("global_memory_bytes", i64, "globalMemorySize", "Global memory.", unit="bytes"),
        # CUPTI documents kBytes/sec, decimal.
        C("global_memory_bandwidth_kbps", i64, "globalMemoryBandwidth", "Peak memory bandwidth.", unit="kilobytes/s"),
        C("l2_cache_bytes", i32, "l2CacheSize", "L2 cache.", unit="bytes"),
        C("constant_memory_bytes", i32, "constantMemorySize", "Constant memory.", unit="bytes"),
        C("core_clock_khz", i32, "coreClockRate", "Peak core clock.", unit="kHz"),
        C("memcpy_engines", i32, "numMemcpyEngines", "Copy engines.", unit="engines"),
        C("threads_per_warp", i32, "numThreadsPerWarp", "Threads in a warp.", unit="threads"),
        C("max_warps_per_multiprocessor", i32, "maxWarpsPerMultiprocessor", "Resident warps, at most.", unit="warps"),
        C("max_blocks_per_multiprocessor", i32, "maxBlocksPerMultiprocessor", "Resident blocks, at most.", unit="blocks"),
        C("max_registers_per_multiprocessor", i32, "maxRegistersPerMultiprocessor", "Registers, at most.", unit="registers"),
        C("max_registers_per_block", i32, "maxRegistersPerBlock", "Registers of a block, at most.", unit="registers"),
        C("max_shared_per_multiprocessor_bytes", i32, "maxSharedMemoryPerMultiprocessor", "Shared memory, at most.", unit="bytes"),
        C("max_shared_per_block_bytes", i32, "maxSharedMemoryPerBlock", "Shared memory of a block, at most.", unit="bytes"),
        C("max_threads_per_block", i32, "maxThreadsPerBlock", "Threads of a block, at most.", unit="threads"),
        C("ecc_enabled", boolean, "eccEnabled", "Whether error correction is on."),
        C("is_cuda_visible", boolean, "isCudaVisible", "Whether CUDA_VISIBLE_DEVICES leaves it visible."),
        C("is_mig_enabled", boolean, "isMigEnabled", "Whether the GPU is partitioned (MIG)."),
        C("gpu_instance_id", i32, "gpuInstanceId", "MIG GPU instance; NULL without MIG.", null=0xFFFFFFFF),
        C("compute_instance_id", i32, "computeInstanceId", "MIG compute instance; NULL without MIG.", null=0xFFFFFFFF),
        C("mig_uuid", uuid, "migUuid", "UUID of the MIG device; NULL without MIG.", null=0),
        C("numa_id", i32, "numaId", "NUMA node of the device; NULL if it is none.", null=0xFFFFFFFF),
        C("tpcs", i32, "numTpcs", "Texture processing clusters.", unit="clusters"),
    ),
)
