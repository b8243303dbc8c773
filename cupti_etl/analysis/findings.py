"""What could be saved, by how much, and which query shows it: the head of a report.

Every finding is a SELECT over queries of the library that gives, for each GPU or for all,
``saved_ns`` and the ``culprit``.  What could save less than a hundredth of the time is none: every
run has gaps between its kernels, and what profiling costs is of that size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cupti_etl.analysis.notes import why_empty
from cupti_etl.errors import EtlError
from cupti_etl.queries.catalog import library

if TYPE_CHECKING:
    from cupti_etl.api import Trace

_SMALLEST = 0.01
NONE = f"None: nothing was found that could save {_SMALLEST:.0%} of the time."
# How a finding is known: the time was seen to be spent so, or what could be saved is estimated.
MEASURED, ESTIMATED = "measured", "estimated"


@dataclass(frozen=True)
class Finding:
    """Time that could be saved at most; findings can be of the same time and must not be added.

    Attributes:
        saved_ns: that time, on the GPU that would save most.
        percent: its share of the time that was looked at.
        what: what takes the time.
        culprit: the kernel, call, range, copy or rank that is most to blame; "" if none is.
        gpus: whose time it is; none for that of no certain GPU.
        sure: measured or estimated.
        advice: what to do about it.
        query: what shows it.
        command: that, as a command.
    """

    saved_ns: int
    percent: float
    what: str
    culprit: str
    gpus: tuple[int, ...]
    sure: str
    advice: str
    query: str
    command: str

    @property
    def text(self) -> str:
        """What was found, in a sentence without its end."""
        who = f"GPU{'s' if len(self.gpus) > 1 else ''} {_ranges(self.gpus)}: " if self.gpus else ""
        return f"{who}{self.what}" + (f", {self.culprit}" if self.culprit else "")


@dataclass(frozen=True)
class _Asked:
    """A finding before it is asked; ``sql`` gives gpu (or NULL), saved_ns and culprit."""

    query: str
    what: str
    advice: str
    sql: str
    sure: str = MEASURED


def _short(mangled: str) -> str:
    """SQL: the name of a kernel as people know it."""
    return (
        "coalesce((SELECT any_value(short) FROM kernel_name"
        f" WHERE kernel_name.mangled = {mangled}), {mangled})"
    )


def _idle(time: str, least_ns: int) -> str:
    """SQL: idle time of one cause, with what was waited for longest."""
    name = "coalesce(next_name, next_kind)"
    return (
        "SELECT gpu, TRY_CAST(sum(ns) AS BIGINT) AS saved_ns,"
        f" concat('most of it before ', {_short('arg_max(name, ns)')}) AS culprit FROM ("
        f"SELECT gpu, {name} AS name, sum({time}) AS ns"
        f" FROM gap_attribution(min_ns := {least_ns}) GROUP BY gpu, {name}) GROUP BY gpu"
    )


_FINDINGS = (
    _Asked(
        "launch_bound",
        "waiting for launches",
        "capture the work in a CUDA graph, or launch fewer and larger kernels",
        "SELECT bound.gpu, saved_ns, concat(verdict, ', most of it before ', name) AS culprit"
        f" FROM launch_bound AS bound LEFT JOIN (SELECT gpu, {_short('arg_max(name, ns)')} AS name"
        " FROM (SELECT gpu, coalesce(next_name, next_kind) AS name, sum(launching_ns + CASE WHEN"
        " gap_ns < 100000 THEN outside_ns ELSE 0 END) AS ns FROM gap_attribution(min_ns := 0)"
        " GROUP BY ALL) GROUP BY gpu) AS most ON most.gpu = bound.gpu"
        " WHERE verdict != 'not launch bound'",
        ESTIMATED,
    ),
    _Asked(
        "gap_attribution",
        "idle while its host is outside CUDA",
        "look at what the host does there: input, Python, other processes",
        _idle("outside_ns", 100_000),
    ),
    _Asked(
        "gap_attribution",
        "idle while it has work on its queues",
        "look at what its streams wait for: events of other streams, other ranks, graph launches",
        _idle("queued_ns", 20_000),  # shorter ones are what beginning a kernel takes
    ),
    _Asked(
        "gap_attribution",
        "idle while its host allocates, frees or copies",
        "allocate once and reuse, or use a pool",
        _idle("memory_ns", 0),
    ),
    _Asked(
        "gap_attribution",
        "idle while its host waits for it",
        "synchronize less often (item(), print and copies to the host do), or launch ahead of it",
        "SELECT gaps.gpu, saved_ns, concat_ws(' in ', name, longest_range) AS culprit FROM ("
        "SELECT gpu, TRY_CAST(sum(waiting_ns) AS BIGINT) AS saved_ns"
        " FROM gap_attribution(min_ns := 0) GROUP BY gpu) AS gaps LEFT JOIN ("
        "SELECT gpu, arg_max(name, total_ns) AS name, arg_max(longest_range, total_ns) AS"
        " longest_range FROM sync_cost GROUP BY gpu) AS calls ON calls.gpu = gaps.gpu",
    ),
    _Asked(
        "busy_breakdown",
        "busy with nothing but communication",
        "overlap it with compute: other streams, smaller buckets, later waits",
        "SELECT gpu, exposed_communication_ns AS saved_ns,"
        " (SELECT arg_max(collective, exposed_ns) FROM collective_bandwidth) AS culprit"
        " FROM busy_breakdown",
    ),
    _Asked(
        "busy_breakdown",
        "busy with nothing but copies and memsets",
        "copy in a stream of its own, from pinned memory, while kernels run",
        "SELECT gpu, exposed_copy_ns AS saved_ns, (SELECT concat_ws(' ', 'most of it',"
        " arg_max(copy_kind, total_ns), 'from', arg_max(src_kind, total_ns), 'memory')"
        " FROM memcpy_summary) AS culprit FROM busy_breakdown",
    ),
    _Asked(
        "memcpy_blocking",
        "copies or memsets keep the host from going on",
        "pin the host memory, and use asynchronous calls",
        # The run gains no more than the GPUs were idle meanwhile.
        "SELECT NULL AS gpu, TRY_CAST(least(sum(saved_ns), (SELECT sum(waiting_ns + memory_ns)"
        " FROM gap_attribution(min_ns := 0))) AS BIGINT) AS saved_ns, concat(sum(calls),"
        " ' of them, most by ', arg_max(api_name, saved_ns)) AS culprit FROM memcpy_blocking"
        " HAVING count(*) > 0",
        ESTIMATED,
    ),
    _Asked(
        "memcpy_small",
        "small copies could be one",
        "gather them into one copy",
        "SELECT NULL AS gpu, saved_ns, concat(in_runs, ' copies ', copy_kind, ' in ', runs,"
        " ' runs') AS culprit FROM memcpy_small()",
        ESTIMATED,
    ),
    _Asked(
        "kernel_waves",
        "kernels do not fill the device",
        "give them more blocks, or run several at once",
        "SELECT NULL AS gpu, TRY_CAST(sum(wasted_ns) AS BIGINT) AS saved_ns, concat(count(*),"
        " ' names and shapes, most of it in ', arg_max(name, wasted_ns), ' (grid ',"
        " arg_max(grid, wasted_ns), ')') AS culprit FROM kernel_waves"
        " WHERE verdict = 'less than one wave'",
        ESTIMATED,
    ),
    _Asked(
        "kernel_tail",
        "kernels have executions of more than twice their median",
        "see what was around the slowest (kernel_worst): contention, clocks, different data",
        "SELECT NULL AS gpu, TRY_CAST(sum(lost_ns) AS BIGINT) AS saved_ns,"
        " concat(count(*), ' names and shapes, most of it in ', arg_max(name, lost_ns)) AS culprit"
        " FROM kernel_tail() WHERE lost_ns > 0",
    ),
    _Asked(
        "step_breakdown",
        "some steps took far longer than most",
        "compare these steps with the others: evaluation, checkpoints, input",
        "SELECT gpu, TRY_CAST(sum(duration_ns) - count(*) * any_value(median_ns) AS BIGINT) AS"
        " saved_ns, concat('steps ', string_agg(step, ', ' ORDER BY step)) AS culprit"
        " FROM (SELECT *, median(duration_ns) OVER (PARTITION BY process_id, gpu) AS median_ns"
        # A period of kernels is a guess, and may be of layers.
        " FROM step_breakdown WHERE source = 'nvtx') WHERE is_outlier GROUP BY process_id, gpu",
    ),
    _Asked(
        "jit_module_load",
        "code is compiled or loaded after the start",
        "load and compile before the loop (CUDA_MODULE_LOADING=EAGER, a warm-up step)",
        # A call that loads contains the compilation that it causes: they are not added.
        "SELECT NULL AS gpu, max(ns) AS saved_ns, concat(arg_max(late, ns), ' times, most by ',"
        " arg_max(name, ns)) AS culprit FROM (SELECT TRY_CAST(sum(late_ns) AS BIGINT) AS ns,"
        " sum(late) AS late, arg_max(name, late_ns) AS name FROM jit_module_load GROUP BY source)",
    ),
    _Asked(
        "rank_stragglers",
        "the other ranks wait for one",
        "look at that rank's host, clocks and share of the data",
        "SELECT NULL AS gpu, waiting_caused_ns AS saved_ns, concat('rank ', rank) AS culprit"
        " FROM rank_stragglers WHERE is_persistent",
    ),
)
_SPAN = "SELECT coalesce(max(span_ns), 0) AS ns FROM busy_breakdown"


def find(trace: Trace, failed: dict[str, str] | None = None) -> list[Finding]:
    """All findings, the largest first: what could save a hundredth of the time or more.

    Args:
        trace: where to look.
        failed: gets, by the name of a query that could not be answered, why.

    Raises:
        EtlError: a query could not be answered, and there is no ``failed``.
    """
    span = max((row["ns"] for row in _ask(trace, "busy_breakdown", _SPAN, failed)), default=0)
    found: list[Finding] = []
    for asked in _FINDINGS:
        rows = [
            row
            for row in _ask(trace, asked.query, asked.sql, failed)
            if row["saved_ns"] and row["saved_ns"] >= _SMALLEST * span
        ]
        found += _merged(asked, rows, span, trace.options)
    return sorted(found, key=lambda finding: -finding.saved_ns)


def _ask(
    trace: Trace, query: str, sql: str, failed: dict[str, str] | None
) -> Sequence[dict[str, Any]]:
    try:
        return [] if why_empty(trace, library()[query]) else list(trace.sql(sql))
    except EtlError as error:
        if failed is None:
            raise
        failed[query] = error.message
        return []


def _merged(
    asked: _Asked, rows: Iterable[dict[str, Any]], span: int, options: str
) -> Iterator[Finding]:
    """Findings of which each is of all GPUs that say the same."""

    def culprit(row: dict[str, Any]) -> str:
        return row["culprit"] or ""

    for name, same in groupby(sorted(rows, key=culprit), culprit):
        group = list(same)
        most = max(row["saved_ns"] for row in group)
        yield Finding(
            most,
            100 * most / span if span else 0.0,
            asked.what,
            name,
            tuple(sorted({row["gpu"] for row in group if row["gpu"] is not None})),
            asked.sure,
            asked.advice,
            asked.query,
            f"cupti-etl query {asked.query} TRACE{options}",
        )


def _ranges(numbers: Sequence[int]) -> str:
    """``0-3, 5`` of 0, 1, 2, 3 and 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs)
