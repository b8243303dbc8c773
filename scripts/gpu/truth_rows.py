"""Measured against counted: a row a kernel, quantity and query, with its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# What a query says, by group and metric: value, stderr, method and reason.
Measured = dict[tuple[int, str], dict[str, Any]]

# Limits in per cent of what was counted: of kernels of so many samples and more, and of others.
LONG_SAMPLES = 10
LONG_PCT, SHORT_PCT = 5.0, 10.0
# Where nothing was counted: in per cent of the peak.
LONG_ZERO_PCT, SHORT_ZERO_PCT = 1.0, 2.0
# Operations a clock of a multiprocessor, dense, by compute capability: what the H100 SXM (989.4
# TFLOPS in BF16, 66.9 in FP32, 132 multiprocessors) and A100 (312 and 19.5, 108) come to at 1830,
# 1980 and 1410 MHz. As in kernel_roofline, but written down anew, so that a slip there shows.
OPERATIONS = {
    (9, 0): {"tensor": 4096, "fp32": 256},
    (8, 0): {"tensor": 2048, "fp32": 128},
}
# What each quantity can be read from: a share of peak, or a count of bytes.
BYTES = {
    "read_bytes": ("dram_read_pct", "fbpa__dram_read_bytes.sum"),
    "write_bytes": ("dram_write_pct", "fbpa__dram_write_bytes.sum"),
}
ACTIVITY = {"tensor": "tensor_active_pct", "fp32": "fma_pct"}

WITHIN, ABSTAINED, TOLD = "within", "abstained", "not judged"


@dataclass(frozen=True)
class Gpu:
    """Peaks of the GPU, as the trace's device table has them; its clock may be of elsewhere."""

    bytes_per_s: float | None
    multiprocessors: int | None
    clock_hz: float | None
    clock_from: str
    capability: tuple[int, int]


@dataclass
class Group:
    """A kernel and launch shape: what its runs in the phases did, by the program's own count.

    ``counted`` are sums over the runs, None where the program cannot know.
    """

    kernel: str
    grid: str
    runs: int
    total_ns: int
    counted: dict[str, float | None]
    pipe: str | None
    shares_gpu: bool
    what: str


@dataclass(frozen=True)
class Row:
    """One comparison. ``counted`` and ``measured`` are of a mean run, in ``unit``."""

    kernel: str
    grid: str
    query: str
    quantity: str
    metric: str
    unit: str
    counted: float | None
    measured: float | None
    stderr: float | None
    off_pct: float | None
    limit_pct: float | None
    verdict: str
    reason: str | None
    runs: int
    mean_us: float
    samples_long: float
    method: str | None = None
    what: str = ""
    clock_hz: float | None = None
    clock_from: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it is beyond the limit."""
        return self.verdict.startswith("off")


def judge(
    counted: float, measured: float, peak: float, limit: float, zero_limit: float
) -> tuple[float, float, str]:
    """How far off in per cent, the limit that holds, and the verdict.

    Args:
        counted: what it should be.
        measured: what the counters say.
        peak: what the most would be; what should be 0 is judged against it.
        limit: most per cent of ``counted``.
        zero_limit: most per cent of ``peak``, where ``counted`` is 0.
    """
    if counted == 0:
        off, limit = 100 * measured / peak, zero_limit
    else:
        off = 100 * (measured - counted) / counted
    # Not "off > limit": what is not a number is not within.
    return off, limit, WITHIN if abs(off) <= limit else f"off by {off:+.1f} %"


def rows_of(
    measured: Measured, groups: Mapping[int, Group], gpu: Gpu, interval: float, query: str
) -> Iterator[Row]:
    """The comparisons of one query; single runs that are short are no fit for a verdict."""
    for number, group in groups.items():
        long = group.total_ns / group.runs / interval >= LONG_SAMPLES
        if not long and query == "kernel_run_metric":
            continue
        sampled = (measured.get((number, "gpc_clock_hz")) or {}).get("value")
        at = replace(gpu, clock_hz=sampled, clock_from="this kernel") if sampled else gpu
        for quantity, metrics in BYTES.items():
            for metric in metrics:
                said = measured.get((number, metric))
                if said and group.counted[quantity] is not None:
                    yield _bytes_row(group, gpu, interval, query, quantity, metric, said)
        for pipe, metric in ACTIVITY.items():
            said = measured.get((number, metric))
            # Products of indices run on the FMA pipes, so that 0 is expected of tensor cores alone.
            if said and (pipe == group.pipe or pipe == "tensor"):
                yield _activity_row(group, at, interval, query, pipe, metric, said)


def _bytes_row(
    group: Group, gpu: Gpu, interval: float, query: str, quantity: str, metric: str,
    said: Mapping[str, Any],
) -> Row:  # fmt: skip
    mean_s = group.total_ns / group.runs / 1e9
    peak = gpu.bytes_per_s * mean_s if gpu.bytes_per_s else None
    factor = 1.0 if metric.endswith(".sum") else peak / 100 if peak else None
    counted = (group.counted[quantity] or 0) / group.runs
    # Written lines leave the L2 later, in whatever runs then: of two at once the sum is judged.
    told = "writes of kernels that run at once are judged as one sum" if (
        quantity == "write_bytes" and group.shares_gpu
    ) else None  # fmt: skip
    return _row(
        group, interval, query, quantity, metric, "bytes", counted, said, factor, peak, told
    )


def _activity_row(
    group: Group, gpu: Gpu, interval: float, query: str, pipe: str, metric: str,
    said: Mapping[str, Any],
) -> Row:  # fmt: skip
    rate = OPERATIONS.get(gpu.capability, {}).get(pipe)
    counted: float | None = 0.0
    if pipe == group.pipe:
        counted = None
        if rate and gpu.clock_hz and gpu.multiprocessors:
            most = group.total_ns / 1e9 * gpu.multiprocessors * gpu.clock_hz * rate
            counted = 100 * (group.counted["flops"] or 0) / most
    row = _row(group, interval, query, f"{pipe} pipe", metric, "%", counted, said, 1.0, 100.0, None)
    return replace(row, clock_hz=gpu.clock_hz, clock_from=gpu.clock_from)


def _row(
    group: Group, interval: float, query: str, quantity: str, metric: str, unit: str,
    counted: float | None, said: Mapping[str, Any], factor: float | None, peak: float | None,
    told: str | None,
) -> Row:  # fmt: skip
    value, stderr, reason = said["value"], said["stderr"], said["reason"]
    mean_ns = group.total_ns / group.runs
    long = mean_ns / interval >= LONG_SAMPLES
    off: float | None = None
    limit = LONG_PCT if long else SHORT_PCT
    measured = value * factor if value is not None and factor is not None else None
    if value is None:
        verdict = ABSTAINED
    elif measured is None or counted is None or peak is None:
        verdict, reason = TOLD, "a peak of this GPU is not known"
    else:
        zero = LONG_ZERO_PCT if long else SHORT_ZERO_PCT
        off, limit, verdict = judge(counted, measured, peak, limit, zero)
        if told:
            verdict, reason = TOLD, told
    return Row(
        group.kernel, group.grid, query, quantity, metric, unit, counted, measured,
        stderr * factor if stderr is not None and factor is not None else None,
        off, limit, verdict, reason, group.runs, mean_ns / 1e3, mean_ns / interval,
        said["method"], group.what,
    )  # fmt: skip


def shared_writes(rows: Sequence[Row], groups: Mapping[int, Group]) -> list[Row]:
    """What kernels that run at once write, all together."""
    found = []
    for metric in BYTES["write_bytes"]:
        mine = [
            row
            for row in rows
            if row.metric == metric and row.query == "kernel_metrics" and row.reason
            and row.verdict == TOLD and row.counted is not None and row.measured is not None
        ]  # fmt: skip
        counted = sum((row.counted or 0) * row.runs for row in mine)
        if len(mine) < sum(group.shares_gpu for group in groups.values()) or not counted:
            continue  # of none, or one of them abstained
        measured = sum((row.measured or 0) * row.runs for row in mine)
        off, limit, verdict = judge(counted, measured, 1.0, LONG_PCT, LONG_ZERO_PCT)
        total_us = sum(row.mean_us * row.runs for row in mine)
        found.append(
            Row(
                "all that run at once",
                "",
                "kernel_metrics",
                "write_bytes",
                metric,
                "bytes",
                counted,
                measured,
                None,
                off,
                limit,
                verdict,
                None,
                1,
                total_us,
                0.0,
            )
        )
    return found
