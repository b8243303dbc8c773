"""Presets of metrics for exact counters (``capture --range-metrics``).

They are what Nsight Compute's sections of the same purpose count, as far as no code has to be
patched for it.  Where chips have different names for something, they stand with bars between them,
and the first that a chip has is taken.  What a chip has under no name is left out there.
"""

from __future__ import annotations

RANGE_PRESETS = {
    "ncu-speed-of-light": (
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "l1tex__throughput.avg.pct_of_peak_sustained_active",
        "lts__throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__time_duration.sum",
        "gpc__cycles_elapsed.max",
    ),
    "memory": (
        "dram__bytes_read.sum|dram__bytes_op_read.sum",
        "dram__bytes_write.sum|dram__bytes_op_write.sum",
        "lts__t_sectors.sum",
        "lts__t_sector_hit_rate.pct",
        "l1tex__t_bytes.sum",
        "l1tex__t_sector_hit_rate.pct",
    ),
    "instructions": (
        "smsp__inst_executed.sum",
        "smsp__inst_issued.sum",
        "sm__inst_executed.avg.per_cycle_active",
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        "sm__inst_executed_pipe_tensor.sum",
    ),
    "occupancy": (
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "smsp__warps_active.avg.per_cycle_active",
        "smsp__warps_eligible.avg.per_cycle_active",
        "sm__cycles_active.avg",
    ),
    "roofline": (
        "dram__bytes_read.sum|dram__bytes_op_read.sum",
        "dram__bytes_write.sum|dram__bytes_op_write.sum",
        "smsp__inst_executed_pipe_fma.sum",
        "sm__inst_executed_pipe_tensor.sum",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "gpu__time_duration.sum",
        "smsp__cycles_active.sum",
    ),
}


def metrics_of(names: str) -> tuple[str, ...]:
    """Metrics, each once: those of presets, which end in a bar, and others as they stand.

    Args:
        names: of presets and metrics, with commas between them.
    """
    words = [word.strip() for word in names.split(",")]
    chosen: dict[str, str] = {}
    for word in filter(None, words):
        if word in RANGE_PRESETS:
            for name in RANGE_PRESETS[word]:
                chosen.setdefault(name.split("|")[0], f"{name}|")
        else:
            chosen[word] = word
    return tuple(chosen.values())
