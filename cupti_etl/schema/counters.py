"""Tables of PC samples and of counters of instructions, launches and ranges."""

from __future__ import annotations

from cupti_etl.schema.spec import PROCESS_ID, Table
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import binary, boolean, f64, i32, i64, string, timestamp

PC_SAMPLE = Table(
    "pc_sample",
    "One row per instruction, reason and collection: how often PC sampling found warps there, with --pc-sampling.",
    (
        PROCESS_ID,
        C("start_ns", timestamp, "", "When the collection began to gather; the end of the one before.", unit="ns"),
        C("end_ns", timestamp, "", "When it was taken.", unit="ns"),
        C("device_id", i32, "", "The GPU, as CUDA numbers it in the process.", joins="device.device_id"),
        C("context_id", i32, "", "The context.", joins="context.context_id"),
        C("correlation_id", i64, "", "The launch, in serialized mode; NULL in continuous mode.", joins="kernel.correlation_id"),
        C("function", string, "", "Mangled name of the function; NULL if CUPTI gives none.", joins="kernel_name.mangled"),
        C("cubin_crc", i64, "", "Its code, by CUPTI's checksum.", joins="cubin.cubin_crc"),
        C("pc_offset", i64, "", "Where in the function the instruction is.", unit="bytes"),
        C("stall_reason", string, "", "What the warp waited for, as CUPTI names it on this GPU; that which ends in _selected: for nothing, it issued an instruction."),
        C("samples", i64, "", "How often.", unit="samples"),
        C("not_issued_samples", i64, "", "Of these, when the scheduler of the warp issued no instruction: no other warp could go on either.", unit="samples"),
    ),
    sort=("start_ns",),
)
PC_WINDOW = Table(
    "pc_window",
    "One row per collection of PC sampling: samples = stored_samples + dropped_samples + other_samples + lost_samples + left_out_samples.",
    (
        PROCESS_ID,
        C("start_ns", timestamp, "", "When the collection began to gather.", unit="ns"),
        C("end_ns", timestamp, "", "When it was taken.", unit="ns"),
        C("device_id", i32, "", "The GPU, as CUDA numbers it in the process.", joins="device.device_id"),
        C("context_id", i32, "", "The context.", joins="context.context_id"),
        C("mode", string, "", "continuous, or serialized."),
        C("period_cycles", i64, "", "Cycles of a multiprocessor from one sample to the next; NULL if CUPTI chose.", unit="cycles"),
        C("samples", i64, "", "All samples that CUPTI tells of; NULL if the hardware's buffer was full.", unit="samples"),
        C("stored_samples", i64, "", "Those in pc_sample.", unit="samples"),
        C("dropped_samples", i64, "", "Those that the hardware dropped.", unit="samples"),
        C("other_samples", i64, "", "Those in kernels that are not the program's, of which CUPTI gives no instruction.", unit="samples"),
        C("lost_samples", i64, "", "Those that found no room in the buffers of the capture.", unit="samples"),
        C("left_out_samples", i64, "", "The rest: of instructions without a reason, which CUPTI leaves out.", unit="samples"),
        C("buffer_full", boolean, "", "Whether the hardware's buffer was full, and the samples are not known."),
    ),
    sort=("start_ns",),
)
CUBIN = Table(
    "cubin",
    "One row per piece of the code that a program loaded onto its GPUs, with --pc-sampling or --sass-metrics.",
    (
        PROCESS_ID,
        C("cubin_crc", i64, "", "CUPTI's checksum of the whole.", joins="pc_sample.cubin_crc"),
        C("size_bytes", i64, "", "Size of the whole.", unit="bytes"),
        C("piece_offset", i64, "", "Where in the whole the piece begins.", unit="bytes"),
        C("bytes", binary, "", "The piece; NULL if the whole is too large to be kept."),
    ),
    is_lasting=True,
)
SASS_METRIC = Table(
    "sass_metric",
    "One row per instruction, metric and collection: what the instruction counted, with --sass-metrics. One that counted 0 has none.",
    (
        PROCESS_ID,
        C("start_ns", timestamp, "", "When the collection began to gather; the end of the one before.", unit="ns"),
        C("end_ns", timestamp, "", "When it was taken.", unit="ns"),
        C("device_id", i32, "", "The GPU, as CUDA numbers it in the process.", joins="device.device_id"),
        C("context_id", i32, "", "The context.", joins="context.context_id"),
        C("function", string, "", "Mangled name of the function; NULL if CUPTI gives none.", joins="kernel_name.mangled"),
        C("cubin_crc", i64, "", "Its code, by CUPTI's checksum.", joins="cubin.cubin_crc"),
        C("pc_offset", i64, "", "Where in the function the instruction is.", unit="bytes"),
        C("metric", string, "", "The metric, as CUPTI names it."),
        C("value", i64, "", "What it counted on the whole GPU, over all launches of the collection."),
    ),
    sort=("start_ns",),
)
LAUNCH_METRIC = Table(
    "launch_metric",
    "One row per metric and launch, or range, that was measured with --range-metrics or by Nsight Compute.",
    (
        PROCESS_ID,
        C("range_id", i64, "", "The launch or range that was measured: 1 for the first of the process."),
        C("start_ns", timestamp, "", "When the launch or the range began.", unit="ns"),
        C("end_ns", timestamp, "", "When it returned, after all executions of the kernel, or ended: no time of the program's own.", unit="ns"),
        C("device_id", i32, "", "The GPU, as CUDA numbers it in the process.", joins="device.device_id"),
        C("context_id", i32, "", "The context.", joins="context.context_id"),
        C("correlation_id", i64, "", "The launch; NULL of a range.", joins="kernel.correlation_id"),
        C("function", string, "", "Mangled name of the kernel; NULL of a range.", joins="kernel_name.mangled"),
        C("range_name", string, "", "Name of the range, with --range-by range; NULL of a launch."),
        C("passes", i32, "", "How often the kernel was executed for all metrics; 1 of a range, and in each run with --range-replay application.", unit="passes"),
        C("cache_control", string, "", "flush: caches were emptied before each execution; none; NULL if this CUPTI cannot do either."),
        C("metric", string, "", "The metric, as CUPTI names it."),
        C("value", f64, "", "What it came to, exactly; its unit is in the column unit."),
        C("unit", string, "", "The unit of the value; NULL of a ratio."),
        C("one_pass", boolean, "", "Whether all counters of the metric are of one execution; NULL if they may be of several: then a ratio can be wrong."),
        C("missing", string, "", "Why there is no value; NULL if there is one."),
        C("source", string, "", "range_profiler, or ncu if the row was imported from Nsight Compute."),
        C("launches", i64, "", "Launches in the range; NULL of a launch.", unit="launches"),
        C("launch_hash", i64, "", "Equal for ranges with the same launches in the same order: names of kernels and shapes, hashed; NULL of a launch."),
    ),
    sort=("start_ns",),
)
