"""What the hardware's counters say of each kernel, beside what the program counted itself.

A log (truth.cu, truth_gemm.py) has phases: when, which kernel, and what a run of it reads, writes
and computes.  ``compare`` finds the runs of each phase in the trace, asks kernel_metrics and
kernel_run_metric for what was measured, and has it judged (truth_rows.py).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truth_rows import Gpu, Group, Measured, rows_of, shared_writes

import cupti_etl

# The host's clock when a phase begins, and the GPU's, are not the same to the microsecond.
SLACK_NS = 100_000


def compare(
    trace_path: Path, log: Mapping[str, Any], clock_hz: float | None = None
) -> dict[str, Any]:
    """Every comparison that a trace and the log of its program allow.

    Args:
        trace_path: the trace.
        log: of its program.
        clock_hz: clock of the SMs in another capture, for where this one did not sample it.

    Returns:
        ``rows`` (of Row, as plain data), ``problems`` (what is not as it has to be for a
        comparison), ``clock_hz`` (median over kernels; None if not sampled), and facts about
        the capture.

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
        # Amounts first: of a clock any run has a value, and of a ratio hardly any.
        metrics = [row["metric"] for row in trace.sql(
            "SELECT metric FROM pm_column ORDER BY unit = 'Hz', aggregation = 'ratio', metric"
        )]  # fmt: skip
        if not metrics or not facts["alignment"]:
            return {**facts, "rows": [], "problems": ["there are no samples in the trace"]}
        interval = facts["alignment"][0]["interval_ns"]
        gpu = _gpu(trace, clock_hz)
        groups, problems = _groups(trace, log["phases"], metrics[0])
        # Single runs are judged by what was counted of those that have a value, and by no others.
        valued, _ = _groups(trace, log["phases"], metrics[0], "value IS NOT NULL")
        of_groups, of_runs = _of_groups(trace), _of_runs(trace, log["phases"])
        rows = [
            *rows_of(of_groups, groups, gpu, interval, "kernel_metrics"),
            *rows_of(of_runs, {**groups, **valued}, gpu, interval, "kernel_run_metric"),
        ]
        rows += shared_writes(rows, groups)
    clocks = [
        row["value"]
        for (number, metric), row in of_groups.items()
        if number in groups and metric == "gpc_clock_hz" and row["value"] is not None
    ]
    facts["clock_hz"] = statistics.median(clocks) if clocks else None
    if not rows and not clocks:
        problems.append(f"nothing that was counted is among the metrics {', '.join(metrics)}")
    return {**facts, "rows": [asdict(row) for row in rows], "problems": problems}


def _gpu(trace: cupti_etl.Trace, clock_hz: float | None) -> Gpu:
    (row,) = trace.sql(
        "SELECT any_value(global_memory_bandwidth_kbps) * 1e3 AS bytes_per_s,"
        " any_value(multiprocessors) AS multiprocessors, any_value(core_clock_khz) * 1e3 AS hz,"
        " any_value(compute_capability_major) AS major,"
        " any_value(compute_capability_minor) AS minor"
        " FROM device WHERE device_uuid IN (SELECT device_uuid FROM pm_alignment)"
    )
    return Gpu(
        row["bytes_per_s"],
        row["multiprocessors"],
        clock_hz or row["hz"],
        "another capture" if clock_hz else "the highest",
        (row["major"], row["minor"]),
    )


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
    trace: cupti_etl.Trace,
    phases: Sequence[Mapping[str, Any]],
    metric: str,
    condition: str = "true",
) -> tuple[dict[int, Group], list[str]]:
    """The group of each phase, the one with most of its time, and what is counted of it.

    Of these the runs that meet the condition; problems are told for all runs alone.
    """
    # A run has a row a metric: one metric stands for all.
    found = trace.sql(
        "SELECT phase, runs.activity_group, any_value(runs.name) AS name, count(*) AS runs,"
        " sum(runs.end_ns - runs.start_ns)::BIGINT AS total_ns"
        f" FROM kernel_run_metric() AS runs JOIN {_phase_values(phases)} ON {_IN_PHASE}"
        f" WHERE runs.metric = $metric AND {condition} GROUP BY phase, runs.activity_group"
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
        if condition != "true" and row is None:
            continue
        if row is None:
            problems.append(f"no run of {name} in the trace, of {phase['runs']} launched")
        elif condition == "true" and row["runs"] != phase["runs"]:
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
        " CASE WHEN count(value) = 0"
        " THEN coalesce(any_value(reason), 'no run has a value') END AS reason"
        f" FROM kernel_run_metric() AS runs JOIN {_phase_values(phases)} ON {_IN_PHASE}"
        " JOIN (SELECT DISTINCT metric, aggregation FROM pm_metric) AS about"
        " ON about.metric = runs.metric"
        " GROUP BY runs.activity_group, runs.metric"
    )
    return {(row["activity_group"], row["metric"]): row for row in rows}
