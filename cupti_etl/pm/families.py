"""What each family of chips calls the metrics of ``aliases``.

GH100's were sampled on an H200.  Those of the other families were accepted, each preset in one
pass, by the profiler host of CUPTI 13.5, which needs no such GPU for that
(``scripts/gpu/pm_presets.py``); no GPU of theirs has been sampled.

A name in ``optional`` counts what not every board has (NVLink), or may not fit the pass
together with the rest: it is left out where CUPTI refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PCT = ".avg.pct_of_peak_sustained_elapsed"
# What a counter is divided by for a rate: the length of its sample, in ns.
DURATION = "duration"


@dataclass(frozen=True)
class Ratio:
    """``factor * numerator / denominator``, made of counters once they are read.

    CUPTI's own percentages count what they are a part of in each unit of the chip; one counter
    for all of them is enough, and a sample costs a quarter less.

    Attributes:
        numerator: a metric, by its name for CUPTI.
        denominator: another, or ``DURATION``.
        factor: what it is multiplied by, such as 100 for a percentage.
    """

    numerator: str
    denominator: str
    factor: float

    def __str__(self) -> str:
        return f"{self.factor:g} * {self.numerator} / {self.denominator}"


def told(name: str | Ratio) -> tuple[str, ...]:
    """What CUPTI is told to count for an entry of ``Family.names``."""
    if isinstance(name, str):
        return (name,)
    return tuple(part for part in (name.numerator, name.denominator) if part != DURATION)


@dataclass(frozen=True)
class Family:
    """Chips that name their metrics alike.

    Attributes:
        name: as in NVIDIA's guides; ``-plain`` where a CUPTI without single-pass sets is used.
        chips: as CUPTI names them.
        names: alias to the metric's name for CUPTI, or what is made of two.
        optional: aliases that are left out where CUPTI refuses them.
        single_pass_set: the set that the names belong to; None if to none.
        since_cupti: API version of CUPTI from which on it has that set.
        is_verified: whether a GPU of the family has been sampled.
        has_time_trigger: samples can be taken by time; otherwise by cycles of the system clock.
    """

    name: str
    chips: tuple[str, ...]
    names: Mapping[str, str | Ratio]
    optional: frozenset[str] = frozenset()
    single_pass_set: str | None = None
    since_cupti: int = 0
    is_verified: bool = False
    has_time_trigger: bool = True


# What nearly all share, as documented for periodic sampling.
_COMMON = {
    "sm_active_pct": f"sm__cycles_active{PCT}",
    "sm_issue_pct": f"sm__inst_executed_realtime{PCT}",
    "tensor_active_pct": f"sm__pipe_tensor_cycles_active_realtime{PCT}",
    "warps_active_pct": f"tpc__warps_active_shader_cs_realtime{PCT}",
    "gr_active_pct": "gr__cycles_active.sum.pct_of_peak_sustained_elapsed",
    "dispatch_count": "gr__dispatch_count.sum",
    "dram_read_pct": f"dramc__read_throughput{PCT}",
    "dram_write_pct": f"dramc__write_throughput{PCT}",
    "dram_pct": f"dramc__throughput{PCT}",
    "pcie_rx_bytes": "pcie__read_bytes.sum",
    "pcie_tx_bytes": "pcie__write_bytes.sum",
    "nvlink_rx_bytes": "nvlrx__bytes.sum",
    "nvlink_tx_bytes": "nvltx__bytes.sum",
    "l2_pct": f"lts__throughput{PCT}",
    "l2_sectors": "lts__t_sectors.sum",
    "l2_hit_pct": "lts__average_t_sector_hit_rate_realtime.pct",
    "l1_pct": f"l1tex__throughput{PCT}",
    "l1_sectors": "l1tex__t_sectors.sum",
    "l1_hit_sectors": "l1tex__t_sectors_lookup_hit.sum",
    "l1_miss_sectors": "l1tex__t_sectors_lookup_miss.sum",
    "fma_pct": f"sm__inst_executed_pipe_fma{PCT}",
    "fp16_pct": f"sm__inst_executed_pipe_fma_type_fp16{PCT}",
    "fp64_pct": f"sm__pipe_fp64_cycles_active{PCT}",
    "alu_pct": f"sm__inst_executed_pipe_alu_realtime{PCT}",
    "xu_pct": f"sm__inst_executed_pipe_xu_realtime{PCT}",
    "gpc_clock_hz": "gpc__cycles_elapsed.avg.per_second",
    "sys_clock_hz": "sys__cycles_elapsed.avg.per_second",
}
_LINKS = frozenset({"nvlink_rx_bytes", "nvlink_tx_bytes"})
_CACHES = frozenset(alias for alias in _COMMON if alias.startswith(("l1_", "l2_")))
_PIPES = frozenset({"fma_pct", "fp16_pct", "fp64_pct", "alu_pct", "xu_pct"})


def _without(*beginnings: str) -> dict[str, str]:
    """The common names but for those of some aliases."""
    return {alias: name for alias, name in _COMMON.items() if not alias.startswith(beginnings)}


_OLDER = {"l2_hit_pct": "lts__t_sector_hit_rate.pct"}
_TURING = _without("tensor_active_pct", "fp16_pct") | _OLDER
_TURING["tensor_fp16_active_pct"] = f"sm__pipe_shared_cycles_active_realtime{PCT}"
_GA100 = _without("fp16_pct") | _OLDER
_GA100["fma_pct"] = f"sm__inst_executed_pipe_fma_realtime{PCT}"

_DRAM = {  # newer chips count at the memory itself
    "dram_read_pct": f"dram__read_throughput{PCT}",
    "dram_write_pct": f"dram__write_throughput{PCT}",
    "dram_pct": f"dram__throughput{PCT}",
}
_GB10X = (
    _COMMON
    | _DRAM
    | {
        "warps_active_pct": f"sm__warps_active_shader_cs_realtime{PCT}",
        "pcie_rx_bytes": "PCI.TriageCompute.pcie__read_bytes.sum",
        "pcie_tx_bytes": "PCI.TriageCompute.pcie__write_bytes.sum",
    }
)
# Chips that share the memory of their CPU.
_INTEGRATED = _without("dram_", "pcie_", "nvlink_")


def _of_cycles(counter: str, most: float) -> Ratio:
    """A counter of GH100's SMs or TPCs, of the ``most`` that it can count in a cycle."""
    return Ratio(f"TPC.TriageCompute.{counter}.avg", "gpc__cycles_elapsed.avg", 100 / most)


_GH100: dict[str, str | Ratio] = {
    "sm_active_pct": _of_cycles("sm__cycles_active", 1),
    "sm_issue_pct": _of_cycles("sm__inst_executed_realtime", 4),  # schedulers
    "tensor_active_pct": _of_cycles("sm__pipe_tensor_cycles_active_realtime", 4),  # one a scheduler
    "warps_active_pct": _of_cycles("tpc__warps_active_shader_cs_realtime", 2 * 64),  # of two SMs
    "gr_active_pct": f"FE_B.TriageCompute.gr__cycles_active{PCT}",
    "dispatch_count": "FE_A.TriageCompute.gr__dispatch_count.sum",
    "dram_pct": f"FBSP.TriageCompute.dramc__throughput{PCT}",
    "dram_read_pct": f"FBSP.TriageCompute.dramc__read_throughput{PCT}",
    "dram_write_pct": f"FBSP.TriageCompute.dramc__write_throughput{PCT}",
    "l2_pct": f"LTS.TriageCompute.lts__throughput{PCT}",
    "l2_sector_pct": f"LTS.TriageCompute.lts__t_sector_throughput{PCT}",
    "l2_sectors": "lts__t_sectors.sum",
    "l2_hit_pct": "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct",
    "l2_hit_l1_pct": "LTS.TriageCompute.lts__average_t_sector_hit_rate_srcunit_tex_realtime.pct",
    "l1_pct": f"SM_A.TriageCompute.l1tex__throughput{PCT}",
    "l1_sectors": "SM_B.TriageCompute.l1tex__t_sectors.sum",
    "l1_hit_sectors": "SM_B.TriageCompute.l1tex__t_sectors_lookup_hit.sum",
    "l1_miss_sectors": "SM_B.TriageCompute.l1tex__t_sectors_lookup_miss.sum",
    "l1_hit_pct": "SM_B.TriageCompute.l1tex__t_sector_hit_rate.pct",
    "l1_read_sectors": "SM_A.TriageCompute.l1tex__m_xbar2l1tex_read_sectors_realtime.sum",
    "pcie_rx_bytes": "PCI.TriageCompute.pcie__read_bytes.sum",
    "pcie_tx_bytes": "PCI.TriageCompute.pcie__write_bytes.sum",
    "nvlink_rx_bytes": "nvlrx__bytes.sum",
    "nvlink_tx_bytes": "nvltx__bytes.sum",
    "nvlink_rx_request_bytes": "NVLRX.TriageCompute.nvlrx__bytes_packet_request_data_user.sum",
    "nvlink_rx_response_bytes": "NVLRX.TriageCompute.nvlrx__bytes_packet_response_data_user.sum",
    "nvlink_tx_request_bytes": "NVLTX.TriageCompute.nvltx__bytes_packet_request_data_user.sum",
    "nvlink_tx_response_bytes": "NVLTX.TriageCompute.nvltx__bytes_packet_response_data_user.sum",
    "c2c_rx_bytes": "CTC.TriageCompute.ctc__rx_bytes.sum",
    "c2c_tx_bytes": "CTC.TriageCompute.ctc__tx_bytes.sum",
    "fma_pct": f"TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime{PCT}",
    "fma_heavy_pct": f"TPC.TriageCompute.sm__inst_executed_pipe_fmaheavy_realtime{PCT}",
    "fma_lite_pct": f"TPC.TriageCompute.sm__inst_executed_pipe_fmalite_realtime{PCT}",
    "fp16_pct": f"sm__inst_executed_pipe_fma_type_fp16{PCT}",
    "fp64_pct": f"TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime{PCT}",
    "tensor_hmma_pct": f"TPC.TriageCompute.sm__pipe_tensor_op_hmma_cycles_active_realtime{PCT}",
    "tensor_imma_pct": f"TPC.TriageCompute.sm__pipe_tensor_op_imma_cycles_active_realtime{PCT}",
    "tensor_dmma_pct": f"SM_C.TriageCompute.smsp__pipe_tensor_op_dmma_cycles_active{PCT}",
    "alu_pct": f"TPC.TriageCompute.sm__inst_executed_pipe_alu_realtime{PCT}",
    "xu_pct": f"SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime{PCT}",
    "uniform_pct": f"SM_A.TriageCompute.sm__inst_executed_pipe_uniform_realtime{PCT}",
    "gpc_clock_hz": Ratio("gpc__cycles_elapsed.avg", DURATION, 1e9),
    "sys_clock_hz": Ratio("sys__cycles_elapsed.max", DURATION, 1e9),
    "dram_clock_hz": Ratio("FBSP.TriageCompute.dramc__cycles_elapsed.max", DURATION, 1e9),
}
# By themselves these fit one pass together, but a sample costs five times as much.
_GH100_PLAIN = {
    "sm_active_pct": f"sm__cycles_active{PCT}",
    "sm_issue_pct": f"sm__inst_executed{PCT}",
    "tensor_active_pct": f"sm__pipe_tensor_cycles_active_realtime{PCT}",
    "warps_active_pct": f"tpc__warps_active_shader_cs_realtime{PCT}",
    **_DRAM,
    "l2_sectors": "lts__t_sectors.sum",
    "pcie_rx_bytes": "pcie__read_bytes.sum",
    "pcie_tx_bytes": "pcie__write_bytes.sum",
    "nvlink_rx_bytes": "nvlrx__bytes.sum",
    "nvlink_tx_bytes": "nvltx__bytes.sum",
    "gpc_clock_hz": "gpc__cycles_elapsed.avg.per_second",
    "sys_clock_hz": "sys__cycles_elapsed.avg.per_second",
}

# In the order in which they are tried: a chip's first with a CUPTI that is new enough.
FAMILIES = (
    Family(
        "TU10x",
        ("TU102", "TU104", "TU106", "TU116", "TU117"),
        _TURING,
        (_LINKS | _CACHES | _PIPES) & _TURING.keys(),
        has_time_trigger=False,
    ),
    Family(
        "GA100",
        ("GA100",),
        _GA100,
        (_LINKS | _CACHES | _PIPES) & _GA100.keys(),
        has_time_trigger=False,
    ),
    Family(
        "GA10x",
        ("GA102", "GA103", "GA104", "GA106", "GA107"),
        _COMMON,
        _LINKS | _CACHES | _PIPES,
    ),
    Family(
        "AD10x",
        ("AD102", "AD103", "AD104", "AD106", "AD107"),
        _without("nvlink_"),
        _CACHES | _PIPES,
    ),
    Family(
        "GH100",
        ("GH100",),
        _GH100,
        # A GPU that has no NVLink refuses those; the last two are too much for one pass with
        # the other pipes.
        frozenset(alias for alias in _GH100 if alias.startswith(("nvlink_", "c2c_")))
        | {"l2_sectors", "fp16_pct", "tensor_dmma_pct"},
        single_pass_set="TriageCompute",
        since_cupti=130200,
        is_verified=True,
    ),
    Family("GH100-plain", ("GH100",), _GH100_PLAIN, _LINKS, is_verified=True),
    Family(
        "GB10x",
        ("GB100", "GB102", "GB110", "GB112"),
        _GB10X,
        # GB110 does not count PCIe.
        _LINKS | _CACHES | _PIPES | {"pcie_rx_bytes", "pcie_tx_bytes"},
    ),
    Family(
        "GB20x",
        ("GB202", "GB203", "GB205", "GB206", "GB207"),
        _without("nvlink_") | _DRAM,
        _CACHES | _PIPES,
    ),
    Family(
        "integrated",
        ("GA10B", "GB10B", "GB10C", "GB20B", "GB20C"),
        _INTEGRATED,
        (_CACHES | _PIPES) & _INTEGRATED.keys(),
    ),
)
