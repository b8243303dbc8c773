"""What the hardware's counters say of each kernel, beside what the program counted itself.

A log (truth.cu, truth_gemm.py) has phases: when, which kernel, and what a run of it reads, writes
and computes.  ``compare`` finds the runs of each phase in the trace, asks kernel_metrics and
kernel_run_metric for what was measured, and judges: a row a kernel, quantity and query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cupti_etl

# Limits in per cent of what was counted: of kernels of so many samples and more, and of others.
LONG_SAMPLES = 10
LONG_PCT, SHORT_PCT = 5.0, 10.0
# Where nothing was counted: in per cent of the peak.
LONG_ZERO_PCT, SHORT_ZERO_PCT = 1.0, 2.0
# Operations a clock of a multiprocessor, dense, by compute capability. H100: 989.4 TFLOPS in BF16
# and 66.9 in FP32 of 132 multiprocessors at 1830 and 1980 MHz (NVIDIA H100 Tensor Core GPU
# Architecture, table 2); A100: 312 and 19.5 of 108 at 1410 MHz (the same of A100, table 4).
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
# The host's clock when a phase begins, and the GPU's, are not the same to the microsecond.
SLACK_NS = 100_000

WITHIN, ABSTAINED, TOLD = "within", "abstained", "not judged"


@dataclass(frozen=True)
class Gpu:
    """Peaks of the GPU, as the trace's device table has them."""

    bytes_per_s: float | None
    multiprocessors: int | None
    clock_hz: float | None
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


def compare(trace_path: Path, log: Mapping[str, Any]) -> dict[str, Any]:
    """Every comparison that a trace and the log of its program allow.

    Returns:
        ``rows`` (of Row, as plain data), ``problems`` (what is not as it has to be for a
        comparison), and facts about the capture.

    Raises:
        EtlError: the trace cannot be opened or asked.
    """
    with cupti_etl.open(trace_path) as trace:
        facts: dict[str, Any] = {
            "alignment": trace.query("pm_alignment").arrow().to_pylist(),
            "sampling": trace.sql(
                "SELECT pm_state, pm_detail, pm_clocks_locked FROM capture"
            ).arrow().to_pylist(),
            "lost_samples": trace.sql(
                "SELECT cause, sum(records) AS records FROM loss WHERE table_name = 'pm_sample'"
                " GROUP BY cause"
            ).arrow().to_pylist(),
        }  # fmt: skip
        metrics = [row["metric"] for row in trace.sql("SELECT DISTINCT metric FROM pm_metric")]
        if not metrics or not facts["alignment"]:
            return {**facts, "rows": [], "problems": ["there are no samples in the trace"]}
        interval = facts["alignment"][0]["interval_ns"]
        gpu = _gpu(trace)
        groups, problems = _groups(trace, log["phases"], metrics[0])
        rows = [
            *_rows(_of_groups(trace), groups, gpu, interval, "kernel_metrics"),
            *_rows(_of_runs(trace, log["phases"]), groups, gpu, interval, "kernel_run_metric"),
        ]
        rows += _shared_writes(rows, groups)
    if not rows:
        problems.append(f"nothing that was counted is among the metrics {', '.join(metrics)}")
    return {**facts, "rows": [asdict(row) for row in rows], "problems": problems}


def _gpu(trace: cupti_etl.Trace) -> Gpu:
    (row,) = trace.sql(
        "SELECT any_value(global_memory_bandwidth_kbps) * 1e3 AS bytes_per_s,"
        " any_value(multiprocessors) AS multiprocessors, any_value(core_clock_khz) * 1e3 AS hz,"
        " any_value(compute_capability_major) AS major,"
        " any_value(compute_capability_minor) AS minor"
        " FROM device WHERE device_uuid IN (SELECT device_uuid FROM pm_alignment)"
    )
    return Gpu(row["bytes_per_s"], row["multiprocessors"], row["hz"], (row["major"], row["minor"]))


def _phase_values(phases: Sequence[Mapping[str, Any]]) -> str:
    """The phases as rows of SQL."""
    rows = ", ".join(
        f"({at}, {_quoted(phase['kernel'])}, {phase['begin_ns'] - SLACK_NS},"
        f" {phase['end_ns'] + SLACK_NS})"
        for at, phase in enumerate(phases)
    )
    return f"(VALUES {rows}) AS phase(phase, kernel, begin_ns, end_ns)"


def _quoted(word: str | None) -> str:
    return "NULL::VARCHAR" if word is None else "'" + word.replace("'", "''") + "'"


_IN_PHASE = (
    "runs.start_ns BETWEEN phase.begin_ns AND phase.end_ns"
    " AND (phase.kernel IS NULL OR phase.kernel = runs.name)"
)


def _groups(
    trace: cupti_etl.Trace, phases: Sequence[Mapping[str, Any]], metric: str
) -> tuple[dict[int, Group], list[str]]:
    """The group of each phase, the one with most of its time, and what is counted of it."""
    # A run has a row a metric: one metric stands for all.
    found = trace.sql(
        "SELECT phase, runs.activity_group, any_value(runs.name) AS name, count(*) AS runs,"
        " sum(runs.end_ns - runs.start_ns)::BIGINT AS total_ns"
        f" FROM kernel_run_metric AS runs JOIN {_phase_values(phases)} ON {_IN_PHASE}"
        " WHERE runs.metric = $metric GROUP BY phase, runs.activity_group"
        " QUALIFY row_number() OVER (PARTITION BY phase ORDER BY total_ns DESC) = 1",
        metric=metric,
    )
    of_phase = {row["phase"]: row for row in found}
    grids = {
        row["activity_group"]: row["grid"]
        for row in trace.sql("SELECT DISTINCT activity_group, grid FROM kernel_metrics()")
    }
    groups: dict[int, Group] = {}
    problems = []
    for at, phase in enumerate(phases):
        row = of_phase.get(at)
        name = phase["kernel"] or phase.get("what", "?")
        if row is None:
            problems.append(f"no run of {name} in the trace, of {phase['runs']} launched")
        elif row["runs"] != phase["runs"]:
            problems.append(f"{row['runs']} runs of {name} in the trace, {phase['runs']} launched")
        else:
            group = groups.setdefault(
                row["activity_group"],
                Group(
                    row["name"], grids.get(row["activity_group"], ""), 0, 0,
                    {"read_bytes": 0, "write_bytes": 0, "flops": 0},
                    phase["pipe"], phase["shares_gpu"], "",
                ),
            )  # fmt: skip
            _add(group, row, phase)
    return groups, problems


def _add(group: Group, row: Mapping[str, Any], phase: Mapping[str, Any]) -> None:
    group.runs += row["runs"]
    group.total_ns += row["total_ns"]
    for quantity, so_far in group.counted.items():
        each = phase[quantity]
        known = each is not None and so_far is not None
        group.counted[quantity] = so_far + each * row["runs"] if known else None
    what = phase.get("what", "")
    if what not in group.what.split(", "):
        group.what = f"{group.what}, {what}" if group.what else what


Measured = dict[tuple[int, str], dict[str, Any]]


def _of_groups(trace: cupti_etl.Trace) -> Measured:
    """What kernel_metrics says, by group and metric."""
    rows = trace.sql(
        "SELECT activity_group, metric, value, stderr, method, reason FROM kernel_metrics()"
    )
    return {(row["activity_group"], row["metric"]): row for row in rows}


def _of_runs(trace: cupti_etl.Trace, phases: Sequence[Mapping[str, Any]]) -> Measured:
    """The runs' own values put together: weighted by time, of a count the plain mean."""
    rows = trace.sql(
        "SELECT runs.activity_group, runs.metric, NULL::DOUBLE AS stderr, NULL AS method,"
        " CASE any_value(about.aggregation) WHEN 'sum' THEN avg(value)"
        " ELSE sum(value * (runs.end_ns - runs.start_ns))"
        " / sum(runs.end_ns - runs.start_ns) FILTER (WHERE value IS NOT NULL) END AS value,"
        " CASE WHEN count(value) = 0 THEN 'no run has a value' END AS reason"
        f" FROM kernel_run_metric AS runs JOIN {_phase_values(phases)} ON {_IN_PHASE}"
        " JOIN (SELECT DISTINCT metric, aggregation FROM pm_metric) AS about"
        " ON about.metric = runs.metric"
        " GROUP BY runs.activity_group, runs.metric"
    )
    return {(row["activity_group"], row["metric"]): row for row in rows}


def _rows(
    measured: Measured, groups: Mapping[int, Group], gpu: Gpu, interval: float, query: str
) -> Iterator[Row]:
    """The comparisons of one query; single runs that are short are no fit for a verdict."""
    for number, group in groups.items():
        long = group.total_ns / group.runs / interval >= LONG_SAMPLES
        if not long and query == "kernel_run_metric":
            continue
        clock = (measured.get((number, "gpc_clock_hz")) or {}).get("value") or gpu.clock_hz
        for quantity, metrics in BYTES.items():
            for metric in metrics:
                said = measured.get((number, metric))
                if said and group.counted[quantity] is not None:
                    yield _bytes_row(group, gpu, interval, query, quantity, metric, said)
        for pipe, metric in ACTIVITY.items():
            said = measured.get((number, metric))
            # Products of indices run on the FMA pipes, so that 0 is expected of tensor cores alone.
            if said and (pipe == group.pipe or pipe == "tensor"):
                yield _activity_row(group, gpu, interval, query, pipe, metric, said, clock)


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
    said: Mapping[str, Any], clock: float | None,
) -> Row:  # fmt: skip
    rate = OPERATIONS.get(gpu.capability, {}).get(pipe)
    counted: float | None = 0.0
    if pipe == group.pipe:
        flops, seconds = group.counted["flops"] or 0, group.total_ns / 1e9
        known = rate and clock and gpu.multiprocessors
        counted = 100 * flops / (seconds * gpu.multiprocessors * clock * rate) if known else None  # type: ignore[operator]
    return _row(
        group, interval, query, f"{pipe} pipe", metric, "%", counted, said, 1.0, 100.0, None, clock
    )


def _row(
    group: Group, interval: float, query: str, quantity: str, metric: str, unit: str,
    counted: float | None, said: Mapping[str, Any], factor: float | None, peak: float | None,
    told: str | None, clock: float | None = None,
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
        said["method"], group.what, clock,
    )  # fmt: skip


def _shared_writes(rows: Sequence[Row], groups: Mapping[int, Group]) -> list[Row]:
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
