"""The report of a trace: what a person wants to know first, each answer a query of the library."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from cupti_etl.analysis.at_once import at_once
from cupti_etl.analysis.document import Document
from cupti_etl.analysis.findings import Finding, about, find
from cupti_etl.analysis.notes import (
    OF_FINDINGS,
    failed_calls,
    guessed,
    lacking,
    losses,
    options_of,
    outside,
)
from cupti_etl.errors import EtlError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import Scope
from cupti_etl.queries.empty import NOTHING, why_empty
from cupti_etl.queries.query import Query
from cupti_etl.render.narrow import Narrowing, narrow
from cupti_etl.render.rows import Passed, Rows
from cupti_etl.render.table import Table, View, table

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.api import Trace

Row = Mapping[str, Any]
ROWS = 15
_TITLED = 4
# Of a chart that needs all rows: more boxes or points could not be seen.
_DRAWN = 5000
# Columns of the timeline at its coarsest and at its finest.
_BUCKETS = (600, 6000)
_STEPS = 2000


@dataclass(frozen=True)
class Asked:
    """A section before it is asked.

    Attributes:
        title: the question that it answers.
        query: what answers it.
        params: values of its parameters.
        where: a condition on its rows, in SQL.
        sort: their order, as --sort has it; "" for that of the query.
        none: what is said where there is no row though the query has its inputs, if not what the
            query says; "" for nothing at all, also without them.
    """

    title: str
    query: str
    params: Mapping[str, int] = field(default_factory=dict)
    where: str = ""
    sort: str = ""
    none: str | None = None

    def command(self, trace: Trace) -> str:
        """What shows all of it."""
        options = options_of(trace, is_steady=library()[self.query].scope == "steady")
        params = "".join(f" --param {name}={value}" for name, value in self.params.items())
        where = f" --where {_quoted(self.where)}" if self.where else ""
        sort = f" --sort {self.sort}" if self.sort else ""
        return f"cupti-etl query {self.query} TRACE{params}{where}{sort}{options}"


def _quoted(sql: str) -> str:
    """A word of a shell; texts of SQL stand between single quotes, as they are read best."""
    return shlex.quote(sql) if set(sql) & set('"$`\\!') else f'"{sql}"'


SECTIONS = (
    Asked("What ran", "run_summary"),
    Asked("Where the time went", "busy_breakdown"),
    Asked("Why the GPUs were idle", "idle_summary"),
    Asked("Steps", "step_summary"),
    Asked(
        "Steps that took longer than most",
        "step_summary",
        where="is_outlier",
        sort="duration_ns:desc",
        none="no step is out of line with the others.",
    ),
    Asked("Which kernels took most time", "kernel_summary"),
    Asked("What kinds of kernels", "kernel_category"),
    Asked("What to change in the kernels", "stall_advice"),
    Asked("What the warps of the kernels wait for", "kernel_stall"),
    Asked("What they wait for, line by line", "line_stall"),
    Asked("Which lines of Python", "python_line"),
    Asked("Which functions of Python", "python_function"),
    Asked("GPU time by Python stack", "python_flame_graph"),
    Asked("Which operators of PyTorch", "operator_summary"),
    Asked("Which modules", "module_summary"),
    Asked("Which HLO operations of JAX", "hlo_summary"),
    Asked("Which layers", "nvtx_layer"),
    Asked("How fast the operators are", "operator_flops"),
    Asked("Time by NVTX range", "nvtx_projection"),
    Asked("The longest gaps", "gap_attribution"),
    Asked("Is it launch bound?", "launch_bound"),
    Asked("What synchronizing costs", "sync_cost"),
    Asked("Calls of CUDA", "api_summary"),
    Asked("Copies", "memcpy_summary"),
    Asked("Managed memory that moved", "unified_memory_migration", none=""),
    Asked("Collective operations", "collective_bandwidth"),
    Asked("What determined the run time", "critical_path"),
    Asked("Memory at its peak", "memory_peak_holders"),
    Asked("Memory that was not released", "memory_leaks"),
    Asked("What the hardware counters say of the kernels", "kernel_metrics"),
    Asked("What holds the kernels up", "kernel_bottleneck"),
    Asked("Roofline", "kernel_roofline"),
    Asked("Links and device memory", "link_utilization"),
    Asked("What was lost", "capture_health", where="section = 'loss'", none="no losses are known."),
)


@dataclass(frozen=True)
class Section:
    """A query's answer in the report.

    Attributes:
        title: the question that it answers.
        query: what answers it.
        command: what shows all of it.
        table: what is shown of it; None where there is nothing.
        rows: the same, as they are.
        reason: why there are no rows.
        drawn: the rows of its chart.
        labels: these, as they are shown.
        error: why the query failed; "" if it did not.
    """

    title: str
    query: Query
    command: str
    table: Table | None
    rows: Sequence[Row]
    reason: str = ""
    drawn: Sequence[Row] = ()
    labels: Table | None = None
    error: str = ""


@dataclass(frozen=True)
class Timeline:
    """How busy each GPU was over time, coarse and fine, and its steps."""

    levels: Sequence[Sequence[Row]]
    steps: Sequence[Row]


@dataclass(frozen=True, repr=False)
class Report(Document):
    """What is written; a notebook shows it as a page, ``print`` as Markdown.

    Attributes:
        name: of the trace.
        part: what part of the trace it is about, in words; "" for all of it.
        verdict: of capture_health.
        losses: what was lost, by cause; "" if nothing.
        errors: calls that failed; "" if none did.
        findings: the largest first.
        says: what is said of them, or where there is none.
        sections: in the order of the page.
        timeline: None where no GPU did anything, or where it could not be told.
        failed: by the name of a query that could not be answered, why.
        lacks: what operators, ranges and lines lack.
    """

    name: str
    part: str
    verdict: str
    losses: str
    errors: str
    findings: Sequence[Finding]
    says: str
    sections: Sequence[Section]
    timeline: Timeline | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    lacks: Sequence[str] = ()

    def page(self) -> str:
        """As a page of HTML with charts that needs nothing else."""
        from cupti_etl.analysis.html import html

        return html(self)

    def __str__(self) -> str:
        from cupti_etl.analysis.markdown import markdown

        return markdown(self)

    def __repr__(self) -> str:
        return f"<Report of {self.name}, findings: {len(self.findings)}>"

    @property
    def state(self) -> str:
        """The verdict, and what follows from it for a trace that grows while it is asked."""
        more = "; it still runs, and what is asked later knows more of it"
        return f"{self.verdict}{more}" if self.verdict.endswith(" so far") else self.verdict

    @property
    def warnings(self) -> Iterator[str]:
        """What is to be known before anything else, in sentences."""
        if self.losses:
            yield f"The capture has losses ({self.losses}): numbers may be too small."
        if self.errors:
            yield f"Calls failed, so what they asked for did not run: {self.errors}."
        if self.failed:
            yield f"Not answered, see each of them: {', '.join(self.failed)}."
        yield from (f"{each[:1].upper()}{each[1:]}." for each in self.lacks)

    @property
    def shown(self) -> Sequence[Section]:
        """The sections that have rows, or should have them and failed."""
        return [each for each in self.sections if self._is_shown(each)]

    def _is_shown(self, section: Section) -> bool:
        return section.table is not None or section.query.name in self.failed

    @property
    def empty(self) -> Mapping[str, Sequence[str]]:
        """The titles of the others, by why they have no rows."""
        titles: dict[str, list[str]] = {}
        for each in self.sections:
            if not self._is_shown(each):
                titles.setdefault(each.reason, []).append(each.title)
        return titles


def report(trace: Trace) -> Report:
    """Where the time went and what could be saved, as ``cupti-etl report`` says it.

    Of a whole trace, that is of its steps after the warm-up, where it has steps; of a part
    (``trace.scope``), of that part.  It can be read when the trace is closed.
    """
    scope = Scope() if trace.says else trace.usual(Scope())
    if not scope:
        return build(trace)
    with trace.part(scope) as part:
        return build(part)


def build(trace: Trace, progress: Callable[[str], None] = lambda title: None) -> Report:
    """Ask everything that the report shows; what fails leaves the rest as it is.

    Args:
        trace: what is asked.
        progress: is told what is asked next.
    """
    sections = []
    failed: dict[str, str] = {}
    known: dict[str, bool] = {}
    asks = [(trace, partial(_answer, asked=asked, known=known)) for asked in SECTIONS]
    for section in at_once(asks, lambda place: progress(SECTIONS[place].title)):
        if section:
            sections.append(section)
            if section.error:
                failed[section.query.name] = section.error
    progress("Findings")
    verdict, lost, errors = "what it holds is not known", "", ""
    try:
        health = trace.whole.query("capture_health")
        (row,) = (row for row in health if row["section"] == "verdict")
        verdict, lost = row["subject"], losses(trace.whole)
    except EtlError as error:
        failed["capture_health"] = error.message
    try:
        errors = failed_calls(trace.whole)
    except EtlError as error:
        failed["run_summary"] = error.message
    findings = find(trace, failed, known)
    says = "What each could save at most; they can be of the same time." if findings else "None."
    if not failed.keys() & {"busy_breakdown", "run_summary"}:
        says = about(trace, findings)
    progress("Timeline")
    timeline = None
    try:
        timeline = _timeline(trace)
    except EtlError as error:
        failed["utilization_timeline"] = error.message
    part = "; ".join((trace.says, *outside(trace)))
    # Findings are there with their sections or without.
    topics = OF_FINDINGS | {each.query.topic for each in sections if each.table}
    return Report(
        _name(trace),
        part,
        verdict,
        lost,
        errors,
        findings,
        says,
        sections,
        timeline,
        failed,
        list(lacking(trace, topics)),
    )


def _name(trace: Trace) -> str:
    """Of each of several traces, as far as there is room for them in a title."""
    names = [path.name for path in trace.paths]
    more = len(names) - _TITLED
    return ", ".join(names[:_TITLED]) + (f" and {more} more" if more > 0 else "")


class _Fetched(Passed):
    """Rows that are asked once, though they are read more often."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.fetched = rows.reader().read_all()

    def reader(self) -> pa.RecordBatchReader:
        """The rows in batches."""
        return self.fetched.to_reader()

    def count(self) -> int:
        """How many rows there are."""
        return int(self.fetched.num_rows)


def _answer(trace: Trace, asked: Asked, known: dict[str, bool]) -> Section | None:
    """A section, which says so where its query fails."""
    try:
        # Losses are those of the whole trace.
        return _section(trace.whole if asked.query == "capture_health" else trace, asked, known)
    except EtlError as error:
        query, why = library()[asked.query], f"it failed: {error.message}"
        command = asked.command(trace)
        return Section(asked.title, query, command, None, [], why, error=error.message)


def _section(trace: Trace, asked: Asked, known: dict[str, bool]) -> Section | None:
    query = library()[asked.query]
    command = asked.command(trace)

    def without_rows(reason: str) -> Section | None:
        # These are recorded on demand, or by one framework alone: nothing is said without.
        is_rare = reason and query.topic in ("metrics", "stalls", "python", "pytorch", "jax")
        if is_rare or asked.none == "":
            return None
        why = reason or asked.none or query.none or NOTHING
        return Section(asked.title, query, command, None, [], why)

    # What a part lacks may be looked up in the whole.
    if reason := why_empty(trace.whole, query, known):
        return without_rows(reason)
    answer = trace.query(asked.query, **asked.params)
    # Of these, the first rows alone would be a false picture.
    kind = query.chart.kind if query.chart else ""
    is_whole = kind not in ("", "bars") or bool(query.chart and query.chart.by)
    most = _DRAWN if is_whole else ROWS
    rows = _Fetched(narrow(answer, Narrowing(asked.where, asked.sort, most + 1)))
    if not rows.count():
        return without_rows(why_empty(trace, query))
    shown = table(rows, View(limit=ROWS))
    drawn = rows.fetched.to_pylist()[:most]
    labels: Table | None = shown
    if kind == "lines" and asked.sort:  # A line is of rows that follow one another.
        labels = None
    elif is_whole:
        labels = table(rows, View(wide=kind != "lines", limit=most))
    is_guess = query.topic == "steps" and any(guessed(trace))
    title = f"{asked.title} (guessed from kernels that repeat)" if is_guess else asked.title
    return Section(title, query, command, shown, drawn[:ROWS], drawn=drawn, labels=labels)


def _timeline(trace: Trace) -> Timeline | None:
    spans = list(trace.query("_gpu_span"))
    first = min((row["start_ns"] for row in spans), default=0)
    last = max((row["end_ns"] for row in spans), default=0)
    if last <= first:
        return None
    levels = [
        list(trace.query("utilization_timeline", bucket_ns=max((last - first) // buckets, 1)))
        for buckets in _BUCKETS
    ]
    steps = sorted(trace.query("step"), key=lambda row: (row["gpu"], row["step"]))
    return Timeline(levels, steps[:_STEPS])
