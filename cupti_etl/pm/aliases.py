"""What the short names mean: one line each, the same on every chip.

``families`` says what a chip calls it.  A percentage or a rate holds throughout its sample
(``mean``: samples are put together by the mean weighted with time); a count or bytes is what
came up during it (``sum``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Alias:
    """A metric as we name it.

    Attributes:
        name: column of ``pm_sample``.
        unit: unit of a value: ``%``, ``bytes``, ``Hz`` or ``1``, a count.
        description: what is measured, a sentence.
    """

    name: str
    unit: str
    description: str

    @property
    def aggregation(self) -> str:
        """``mean`` or ``sum``."""
        return "mean" if self.unit in ("%", "Hz") else "sum"


A = Alias

_ALL = (
    # Work on the SMs.
    A("sm_active_pct", "%", "Cycles in which an SM had a warp, mean of all SMs."),
    A("sm_issue_pct", "%", "Instructions that the SMs executed, of the most that they can."),
    A("tensor_active_pct", "%", "Cycles in which the tensor pipes were active."),
    A(
        "tensor_fp16_active_pct",
        "%",
        "Cycles in which the pipe that tensor cores and FP16x2 share was active; for Turing, "
        "which does not tell them apart.",
    ),
    A("warps_active_pct", "%", "Compute warps on the SMs, of the most that they hold."),
    A("gr_active_pct", "%", "Cycles in which the graphics and compute engine had work."),
    A("dispatch_count", "1", "Compute grids that were launched on the engine."),
    # Memory.
    A("dram_pct", "%", "Traffic of the device's memory, of its peak."),
    A("dram_read_pct", "%", "Reads from the device's memory, of its peak."),
    A("dram_write_pct", "%", "Writes to the device's memory, of its peak."),
    A("l2_pct", "%", "The busiest part of L2, of its peak."),
    A("l2_sector_pct", "%", "Sectors that L2 looked up, of the most that it can."),
    A("l2_sectors", "1", "Sectors of 32 bytes that L2 looked up."),
    A("l2_hit_pct", "%", "Sectors looked up in L2 that were there."),
    A("l2_hit_l1_pct", "%", "Sectors that L1 asked of L2 that were there."),
    A("l1_pct", "%", "The busiest part of L1, of its peak."),
    A("l1_sectors", "1", "Sectors of 32 bytes that L1 looked up."),
    A("l1_hit_sectors", "1", "Sectors looked up in L1 that were there."),
    A("l1_miss_sectors", "1", "Sectors looked up in L1 that were not."),
    A("l1_hit_pct", "%", "Sectors looked up in L1 that were there."),
    A("l1_read_sectors", "1", "Sectors of 32 bytes that came from L2 to L1."),
    # Links.
    A("pcie_rx_bytes", "bytes", "Received over PCIe, protocol included."),
    A("pcie_tx_bytes", "bytes", "Sent over PCIe, protocol included."),
    A("nvlink_rx_bytes", "bytes", "Received over NVLink, protocol included."),
    A("nvlink_tx_bytes", "bytes", "Sent over NVLink, protocol included."),
    A("nvlink_rx_request_bytes", "bytes", "User data of requests that came over NVLink: writes."),
    A("nvlink_rx_response_bytes", "bytes", "User data of answers that came over NVLink: reads."),
    A("nvlink_tx_request_bytes", "bytes", "User data of requests sent over NVLink: writes."),
    A("nvlink_tx_response_bytes", "bytes", "User data of answers sent over NVLink: reads."),
    A("c2c_rx_bytes", "bytes", "Received over the link to the CPU or a sister chip."),
    A("c2c_tx_bytes", "bytes", "Sent over the link to the CPU or a sister chip."),
    # Pipes of the SMs.
    A("fma_pct", "%", "Instructions of the FMA pipes (FP32, and integer products), of peak."),
    A("fma_heavy_pct", "%", "Instructions of the heavy FMA pipe (FP32, integer), of peak."),
    A("fma_lite_pct", "%", "Instructions of the light FMA pipe (FP32), of peak."),
    A("fp16_pct", "%", "FP16 instructions outside of the tensor cores, of peak."),
    A("fp64_pct", "%", "Cycles in which the FP64 pipes were active."),
    A("tensor_hmma_pct", "%", "Cycles of the tensor pipes in floating point: FP8 to TF32."),
    A("tensor_imma_pct", "%", "Cycles of the tensor pipes in integers."),
    A("tensor_dmma_pct", "%", "Cycles of the tensor pipes in FP64."),
    A("alu_pct", "%", "Instructions of the ALU pipe (integer, logic, compare), of peak."),
    A("xu_pct", "%", "Instructions of the XU pipe (roots, sines, conversions), of peak."),
    A("uniform_pct", "%", "Instructions of the uniform data path, of peak."),
    # Clocks.
    A("gpc_clock_hz", "Hz", "Clock of the SMs."),
    A("sys_clock_hz", "Hz", "Clock of the front end and the copy engines."),
    A("dram_clock_hz", "Hz", "Clock of the memory's controller."),
)

ALIASES = {alias.name: alias for alias in _ALL}
