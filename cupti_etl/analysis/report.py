"""The report of a trace: what a person wants to know first, as Markdown or as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cupti_etl.analysis.findings import NONE, Finding, find
from cupti_etl.analysis.notes import losses, why_empty
from cupti_etl.errors import EtlError
from cupti_etl.queries.catalog import library
from cupti_etl.render.columns import unit_of
from cupti_etl.render.escape import markdown_text
from cupti_etl.render.labels import relabelled
from cupti_etl.render.values import duration, in_unit

if TYPE_CHECKING:
    from cupti_etl.api import Trace

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """A query's answer in the report.

    Attributes:
        title: the question that it answers.
        query: the query that shows all of it.
        rows: what is shown of it, by name of column.
        plot: how it is drawn: "", "parts", "bars", "timeline" or "memory".
        reason: why there are no rows.
        drawn: rows for the plot, where those are not the ones shown.
    """

    title: str
    query: str
    rows: Sequence[Row]
    plot: str = ""
    reason: str = ""
    drawn: Sequence[Row] = field(default=())


@dataclass(frozen=True)
class Report:
    """What is written.

    Attributes:
        name: of the trace.
        part: what part of the trace it is about, in words; "" for all of it.
        options: with which a command asks the same.
        verdict: of capture_health.
        losses: what was lost, by cause; "" if nothing.
        findings: the largest first.
        sections: in the order of the page.
        failed: by the name of a query that could not be answered, why.
    """

    name: str
    part: str
    options: str
    verdict: str
    losses: str
    findings: Sequence[Finding]
    sections: Sequence[Section]
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Asked:
    """A section before it is asked: ``shown`` and ``drawn`` are SELECTs.

    ``none`` is said where there is no row though the query has its inputs.
    """

    title: str
    query: str
    shown: str
    plot: str = ""
    drawn: str = ""
    none: str = "nothing of the kind was found."


# What gap_attribution says of idle time, and its columns.
_CAUSES = {
    "queued": "queued_ns",
    "profiler": "profiler_ns",
    "waiting": "waiting_ns",
    "memory": "memory_ns",
    "launching": "launching_ns",
    "other CUDA": "other_cuda_ns",
    "outside CUDA": "outside_ns",
    "unknown": "unknown_ns",
}
_STEP_PARTS = ", ".join(
    f"100.0 * sum({part}_ns) / nullif(sum(duration_ns), 0) AS {part}_pct"
    for part in ("compute", "exposed_communication", "exposed_copy", "idle")
)

_SECTIONS = (
    _Asked("What ran", "run_summary", "FROM run_summary"),
    _Asked(
        "Where the time went",
        "busy_breakdown",
        "SELECT gpu, compute_pct, exposed_communication_pct, exposed_copy_pct, idle_pct, span_ns"
        " FROM busy_breakdown",
        "parts",
    ),
    _Asked(
        "When the GPUs were busy",
        "utilization_timeline",
        "SELECT gpu, min(busy_pct) AS least_busy_pct, median(busy_pct) AS median_busy_pct,"
        " max(busy_pct) AS most_busy_pct FROM utilization_timeline() GROUP BY gpu ORDER BY gpu",
        "timeline",
        "FROM utilization_timeline()",
    ),
    _Asked(
        "Which kernels took most time",
        "kernel_summary",
        "SELECT name, percent, calls, total_ns, median_ns, max_ns, demangled FROM kernel_summary"
        " LIMIT 15",
        "bars",
    ),
    _Asked(
        "What kinds of kernels",
        "kernel_category",
        "SELECT gpu, category, percent, calls, total_ns, longest_name FROM kernel_category",
        "bars",
    ),
    _Asked(
        "Why the GPUs were idle",
        "gap_attribution",
        # Of each gap the parts, and not the whole under its largest one.
        "SELECT gpu, cause, total_ns,"
        " 100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY gpu), 0) AS percent,"
        f" longest_ns FROM (SELECT gpu, unnest({list(_CAUSES)}) AS cause,"
        f" unnest([{', '.join(f'TRY_CAST(sum({ns}) AS BIGINT)' for ns in _CAUSES.values())}])"
        " AS total_ns,"
        f" unnest([{', '.join(f'max({ns})' for ns in _CAUSES.values())}]) AS longest_ns"
        " FROM gap_attribution(min_ns := 0) GROUP BY gpu) WHERE total_ns > 0"
        " ORDER BY gpu, total_ns DESC, cause",
        "bars",
    ),
    _Asked("What the run time hung on", "critical_path", "FROM critical_path"),
    _Asked(
        "The longest gaps",
        "gpu_gaps",
        "SELECT gpu, gap_ns, percent, previous_kind, next_kind, start_ns -"
        " (SELECT min(start_ns) FROM busy_breakdown) AS since_begin_ns FROM gpu_gaps() LIMIT 10",
        none="no GPU was idle for a microsecond.",
    ),
    _Asked("Is it launch bound?", "launch_bound", "FROM launch_bound"),
    _Asked(
        "What synchronizing costs",
        "sync_cost",
        "SELECT name, gpu, calls, total_ns, busy_ns, idle_ns, max_ns FROM sync_cost LIMIT 10",
        none="no call that waits for a GPU was recorded.",
    ),
    _Asked(
        "Copies",
        "memcpy_summary",
        "SELECT copy_kind, src_kind, dst_kind, size, percent, copies, bytes, total_ns,"
        " beside_kernels_pct, rate_gbps FROM memcpy_summary LIMIT 15",
        none="no copies were recorded.",
    ),
    _Asked(
        "Steps",
        "step_breakdown",
        "SELECT gpu, count(*) AS steps, source, any_value(confidence) AS confidence,"
        " median(duration_ns) AS median_ns,"
        f" min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, {_STEP_PARTS},"
        " count(*) FILTER (WHERE is_outlier) AS outliers, arg_min(name, step) AS first_name"
        " FROM step_breakdown GROUP BY process_id, gpu, source ORDER BY gpu, process_id",
    ),
    _Asked(
        "Steps that took far longer than most",
        "step_breakdown",
        "SELECT gpu, step, name, duration_ns, compute_ns, exposed_communication_ns,"
        " exposed_copy_ns, idle_ns FROM step_breakdown WHERE is_outlier"
        " ORDER BY duration_ns DESC, gpu, step LIMIT 10",
        none="no step is out of line with the others.",
    ),
    _Asked(
        "Time by NVTX range",
        "nvtx_projection",
        "SELECT path, gpu, ranges, other_threads, gpu_ns, exclusive_gpu_ns, idle_ns, host_ns"
        " FROM nvtx_projection LIMIT 15",
    ),
    _Asked(
        "Collective operations",
        "collective_bandwidth",
        "FROM collective_bandwidth LIMIT 15",
    ),
    _Asked(
        "Memory",
        "memory_timeline",
        "SELECT process_id, device_id, memory_kind, in_use_bytes AS peak_bytes, timestamp_ns -"
        " (SELECT min(timestamp_ns) FROM memory) AS since_begin_ns"
        " FROM memory_timeline WHERE is_peak",
        "memory",
        "SELECT process_id, timestamp_ns, in_use_bytes, device_id, memory_kind"
        " FROM memory_timeline",
    ),
    _Asked(
        "Memory that was not released",
        "memory_leaks",
        "SELECT memory_kind, source, range, allocations, bytes, growth_bytes_per_step, verdict"
        " FROM memory_leaks LIMIT 10",
        none="all memory was released.",
    ),
    _Asked(
        "What the hardware counters say of the kernels",
        "kernel_metrics",
        "SELECT name, grid, metric, unit, value, stderr, method, reason, coverage_pct, alone_pct,"
        " runs, demangled FROM kernel_metrics()"
        " ORDER BY total_ns DESC, gpu, activity_group, metric LIMIT 30",
    ),
    _Asked(
        "What holds the kernels up",
        "kernel_bottleneck",
        "SELECT name, grid, class, is_certain, reason, busiest, busiest_pct, sm_active_pct, runs,"
        " total_ns, demangled FROM kernel_bottleneck() LIMIT 15",
    ),
    _Asked(
        "Links and device memory",
        "link_utilization",
        "SELECT gpu, link, bytes, mean_gbps, mean_pct, busiest_pct, counted_bytes,"
        " unexplained_bytes FROM link_utilization",
    ),
    _Asked(
        "What was lost",
        "capture_health",
        "SELECT subject, lost, detail FROM capture_health WHERE section = 'loss'",
        none="no losses are known.",
    ),
)


def build(trace: Trace) -> Report:
    """Ask everything that the report shows; what fails leaves the rest as it is."""
    sections = []
    failed: dict[str, str] = {}
    for asked in _SECTIONS:
        try:
            # Losses are those of the whole trace.
            section = _section(trace.whole if asked.query == "capture_health" else trace, asked)
        except EtlError as error:
            failed[asked.query] = error.message
            section = Section(asked.title, asked.query, [], reason=f"it failed: {error.message}")
        if section:
            sections.append(section)
    verdict, lost = "what it holds is not known", ""
    try:
        (row,) = trace.whole.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
        verdict, lost = row["subject"], losses(trace.whole)
    except EtlError as error:
        failed["capture_health"] = error.message
    findings = find(trace, failed)
    return Report(
        trace.path.name, trace.says, trace.options, verdict, lost, findings, sections, failed
    )


def _section(trace: Trace, asked: _Asked) -> Section | None:
    query = library()[asked.query]
    reason = why_empty(trace, query)
    # Samples are recorded on demand: of what was not asked for nothing is said.
    if reason and query.topic == "metrics":
        return None
    rows = [] if reason else relabelled(query.label, list(trace.sql(asked.shown)))
    for row in rows:
        row.pop("demangled", None)
    points = list(trace.sql(asked.drawn)) if asked.drawn and rows else rows
    empty = "" if rows else reason or asked.none
    return Section(asked.title, query.name, rows, asked.plot, empty, points)


def with_unit(name: str, value: object) -> str:
    """A value as people read it, in the unit of its column."""
    return in_unit(value, unit_of(name))


def cells(row: Row) -> list[str]:
    """A row as people read it; a value beside its unit is read in it."""
    shown = {name: with_unit(name, row[name]) for name in row}
    unit = str(row.get("unit"))
    for name in {"value", "stderr"} & row.keys() if "unit" in row else ():
        shown[name] = in_unit(row[name], unit)
    if unit in ("ns", "bytes", "%"):
        shown["unit"] = ""  # which the value brings along
    return list(shown.values())


def failures(report: Report) -> str:
    """What could not be answered, in a sentence."""
    return f"Not answered, see each of them: {', '.join(report.failed)}."


def markdown(report: Report) -> str:
    """The report as Markdown."""
    text = markdown_text
    lines = [f"# {text(report.name)}", ""]
    lines += [f"About {text(report.part)}.", ""] if report.part else []
    lines += [f"Capture: {text(report.verdict)}.", ""]
    if report.losses:
        lost = f"The capture has losses ({report.losses}): numbers may be too small."
        lines += [f"**{text(lost)}**", ""]
    if report.failed:
        lines += [f"**{text(failures(report))}**", ""]
    lines += ["## Findings", ""]
    lines += [
        f"{at}. **{duration(each.saved_ns)}**, {each.percent:.0f} % ({each.sure}):"
        f" {text(each.text)}. To do: {each.advice}. `{each.command}`"
        for at, each in enumerate(report.findings, start=1)
    ] or [NONE]
    lines += ["", "What each could save at most; they can be of the same time."]
    for section in report.sections:
        lines += [
            "",
            f"## {section.title}",
            "",
            f"`cupti-etl query {section.query} TRACE{report.options}`",
            "",
        ]
        if not section.rows:
            lines.append(f"No rows: {text(section.reason)}")
            continue
        names = list(section.rows[0])
        lines += [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
        lines += [f"| {' | '.join(map(text, cells(row)))} |" for row in section.rows]
    return "\n".join(lines) + "\n"
