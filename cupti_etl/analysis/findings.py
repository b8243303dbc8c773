"""What could be saved, by how much, and which query shows it: the head of a report.

Every finding is a query of the library, which says of itself what it finds, what to do about it
and which query shows it.  What could save less than a hundredth of the time is none: every
run has gaps between its kernels, and what profiling costs is of that size.  What a run does once
is said of the whole trace where the part that is asked, such as the steady state, has none of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cupti_etl.analysis.at_once import at_once
from cupti_etl.analysis.notes import MUCH_PCT, options_of
from cupti_etl.errors import EtlError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.empty import why_empty
from cupti_etl.queries.query import Query, Saving
from cupti_etl.render.labels import cut, cut_label, path_name
from cupti_etl.render.table import kernel_labels
from cupti_etl.render.values import duration

if TYPE_CHECKING:
    from cupti_etl.api import Trace

_SMALLEST = 0.01
# A range can be named by a page of JSON. Of a kernel, what is said before it stays whole.
_LONGEST_CULPRIT, _LONGEST_KERNEL = 140, 60
_ONCE = ("finding_autotuning", "finding_xla_autotuning")
_OF_RANKS = ("finding_rank_wait", "finding_send_wait")
_OF_HOST = ("finding_host", "finding_launches")
# A step of 16.0 ms took 35.7 ms (docs/howto/python-lines.md).
_STACKS = (
    " The profiler recorded functions of Python (with_stack), which can make the host take twice as"
    " long: without, GPUs wait less for it."
)
# Profilers record GPUs only if they are told to; a program may have used them all the same.  Where
# calls of CUDA were recorded, they were.
_HOST_ALONE = (
    (
        "_operator",
        " If the program used a GPU, profile it with ProfilerActivity.CUDA, too.",
        " How long operators took on the host: cupti-etl query operator_summary TRACE",
    ),
    (
        "marker",
        " If the program used a GPU, record it with nsys profile --trace cuda,nvtx.",
        " How long each range took on the host: cupti-etl query nvtx_range TRACE",
    ),
)
_NO_CALL = (
    " Nor was a call of CUDA: no process made one, or nsys profile --trace cuda was not asked for."
)
# What Kineto calls the events of accelerators that are no GPUs, which are not read.
_OTHER_CHIPS = ("mtia_", "hpu_", "privateuse1_", "glow_", "async_npu")
# So many times longer than the work of its GPUs is a run of which that is said.
_LONGER = 2
# A call that takes one in so many parts of such a run is named.
_PARTS = 10


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
        source: the query that found it.
        command: that, as a command.
        is_left_out: whether it is of the whole trace, and the part that is asked has none of it.
    """

    saved_ns: int
    percent: float
    what: str
    culprit: str
    gpus: tuple[int, ...]
    sure: str
    advice: str
    query: str
    source: str
    command: str
    is_left_out: bool = False

    @property
    def text(self) -> str:
        """What was found, in a sentence without its end."""
        who = f"{_called(self.gpus)}: " if self.gpus else ""
        culprit = cut(self.culprit, _LONGEST_CULPRIT)
        text = f"{who}{self.what}" + (f", {culprit}" if culprit else "")
        return text + (" (of the whole trace; this part leaves it out)" if self.is_left_out else "")


def find(
    trace: Trace, failed: dict[str, str] | None = None, known: dict[str, bool] | None = None
) -> list[Finding]:
    """All findings, the largest first: what could save a hundredth of the time or more.

    Those that the part leaves out come last.

    Args:
        trace: where to look.
        failed: gets, by the name of a query that could not be answered, why.
        known: which inputs have rows in the whole trace, as ``why_empty`` found.

    Raises:
        EtlError: a query could not be answered, and there is no ``failed``.
    """
    known = {} if known is None else known
    found = list(_found(trace, library(), failed, known))
    found.sort(key=lambda finding: -finding.saved_ns)
    if trace.says:
        here = {finding.source for finding in found}
        once = [library()[name] for name in _ONCE if name not in here]
        found += [
            replace(each, is_left_out=True) for each in _found(trace.whole, once, failed, known)
        ]
    return found


def about(trace: Trace, findings: Sequence[Finding]) -> str:
    """What is said of findings: what their shares are of; or why there is none."""
    if not findings:
        return none(trace)
    text = f"What each could save at most, of {_looked_at(trace)}; they can be of the same time."
    is_of_host = any(finding.source in _OF_HOST for finding in findings)
    return text + (_STACKS if is_of_host and trace.whole.has_rows("_python_span") else "")


def none(trace: Trace) -> str:
    """What is said where nothing was found: of a part without GPU work, that it has none."""
    # A share of the time is of the span that it has.
    reason = why_empty(trace, library()["busy_breakdown"])
    if not reason:
        least = f"{100 * _SMALLEST:.0f} %"
        nothing = f"None: nothing was found that could save {least} of {_looked_at(trace)}."
        return nothing + _within(trace)
    whole = trace.whole
    if whole.is_imported and not whole.has_rows("gpu_activity"):
        why, has_calls = _unrecorded(whole), whole.has_rows("api_call")
        for table, record, look in _HOST_ALONE:
            if whole.has_rows(table):
                return f"None: {reason}{why or ('' if has_calls else record)}{look}"
        return f"None: {reason}{why or ('' if has_calls else _NO_CALL)}"
    return f"None: {reason}"


def _within(trace: Trace) -> str:
    """How to find what kernels themselves wait for; "" where that was not captured here."""
    if trace.whole.is_imported:
        return ""
    sampled = "" if trace.whole.has_rows("pc_sample") else "cupti-etl capture --pc-sampling, then "
    return f" What kernels wait for inside: {sampled}cupti-etl query stall_advice TRACE."


def _unrecorded(trace: Trace) -> str:
    """Why an imported trace has no work of GPUs, as far as its import knows."""
    health = list(trace.query("capture_health"))
    lost = (str(row["detail"]).removesuffix(".") for row in health if row["section"] == "loss")
    # Others are of NVTX, for one.
    if details := dict.fromkeys(text for text in lost if re.search("CUDA|CUPTI|GPU", text)):
        return "".join(f" {detail}." for detail in details)
    left_out = (str(row["subject"]) for row in health if row["section"] == "skipped")
    # Of NPUs of Ascend, only the arrows to what they did have a name.
    names = (name.removeprefix("arrows ") for name in left_out)
    kinds = sorted(name for name in names if name.startswith(_OTHER_CHIPS))
    if not kinds:
        return ""
    return f" What accelerators other than GPUs did is not read: {', '.join(kinds)}."


def _looked_at(trace: Trace) -> str:
    """The time of which findings are shares, and how long the run is if that is much longer."""
    seen = list(trace.query("busy_breakdown"))
    span = max((row["span_ns"] or 0 for row in seen), default=0)
    text = f"the {duration(span)} from the first to the last work of a GPU{_unknown(trace)}"
    told = {(row["section"], row["subject"]): row["value"] for row in trace.query("run_summary")}
    wall = told.get(("run", "wall")) or 0
    if wall <= _LONGER * span:
        return text
    # What a run does before its steps, such as to compile its code, is no work of a GPU.  A call
    # that waits for that work is of its time; what two threads do at once is longer than the run.
    edges = {
        "from_ns": min((row["start_ns"] for row in seen), default=None),
        "to_ns": max((row["end_ns"] for row in seen), default=None),
    }
    calls = trace.whole.query("_call_outside", **edges)
    named = ((row["total_ns"], row["name"]) for row in calls if row["total_ns"] and row["name"])
    longest, name = max(named, default=(0, ""))
    within = f", {duration(longest)} of it in {name}" if _PARTS * longest >= wall else ""
    return f"{text}, in a run of {duration(wall)}{within}"


def _unknown(trace: Trace) -> str:
    """That for much of the time it is not known what a GPU did."""
    idle = (row["span_pct"] for row in trace.query("idle_summary") if row["cause"] == "unknown")
    percent = max(idle, default=0)
    if percent < MUCH_PCT or not trace.whole.has_rows("api_call"):
        return ""
    return f" (for {percent:.0f} % it is not known whether it worked, or what it waited for)"


def _found(
    trace: Trace, queries: Iterable[Query], failed: dict[str, str] | None, known: dict[str, bool]
) -> Iterator[Finding]:
    savings = [(query, query.saving) for query in queries if query.saving is not None]
    asked = [library()["busy_breakdown"], *(query for query, _ in savings)]
    answers: dict[str, list[dict[str, Any]]] = {}
    ask = partial(_ask, known=known, raises=failed is None)
    asks = [(trace, partial(ask, query=query)) for query in asked]
    for query, answer in zip(asked, at_once(asks), strict=True):
        if isinstance(answer, EtlError):
            if failed is None:
                raise answer
            failed[query.saving.shown if query.saving else query.name] = answer.message
            answer = []
        answers[query.name] = answer
    span = max((row["span_ns"] or 0 for row in answers["busy_breakdown"]), default=0)
    for query, saving in savings:
        answer = answers[query.name]
        rows = [row for row in answer if row["saved_ns"] and row["saved_ns"] >= _SMALLEST * span]
        is_steady = library()[saving.shown].scope == "steady"
        options = options_of(trace, is_steady=is_steady) if rows else ""
        yield from _merged(query, saving, _named(rows, trace), span, options)


def _ask(
    trace: Trace, query: Query, known: dict[str, bool], *, raises: bool
) -> list[dict[str, Any]] | EtlError:
    try:
        # What a part lacks may be looked up in the whole.
        return [] if why_empty(trace.whole, query, known) else list(trace.query(query.name))
    except EtlError as error:
        if raises:
            raise
        return error


def _named(rows: Sequence[dict[str, Any]], trace: Trace) -> list[dict[str, Any]]:
    """The same, with the culprits' kernels and ranges under the names that tables show."""
    kernels = {str(row["kernel"]) for row in rows if row.get("kernel")}
    labels = kernel_labels(kernels, trace.query("kernel_named").ask) if kernels else {}

    def culprit(row: dict[str, Any]) -> str:
        label = cut_label(labels.get(str(row.get("kernel")), ""), _LONGEST_KERNEL)
        return path_name(" ".join(word for word in (row["culprit"], label) if word))

    return [{**row, "culprit": culprit(row)} for row in rows]


def _merged(
    query: Query, saving: Saving, rows: Iterable[dict[str, Any]], span: int, options: str
) -> Iterator[Finding]:
    """Findings of which each is of all GPUs that say the same, or that say the like of themselves.

    What is most on one GPU, such as a step, has another name on the next.  Of several that one GPU
    says each is one of its own.
    """

    def culprit(row: dict[str, Any]) -> str:
        return str(row["culprit"])

    same = (list(group) for _, group in groupby(sorted(rows, key=culprit), culprit))
    entries: list[list[list[dict[str, Any]]]] = []
    for group in sorted(same, key=lambda group: -max(row["saved_ns"] for row in group)):
        gpus = _gpus(group)
        # A rank that waits does so at other times than the one that it waits for.
        is_apart = not gpus or query.name in _OF_RANKS
        like = [] if is_apart else [each for each in entries if not gpus & _gpus(*each)]
        if like:
            like[0].append(group)
        else:
            entries.append([group])
    for most, *others in entries:
        on = f" on {_called(_gpus(most))}" if others else ""
        saved = max(row["saved_ns"] for row in most)
        yield Finding(
            saved,
            100 * saved / span if span else 0.0,
            saving.what,
            culprit(most[0]) + on,
            tuple(sorted(_gpus(most, *others))),
            saving.sure,
            saving.advice,
            saving.shown,
            query.name,
            " ".join(("cupti-etl query", saving.shown, "TRACE", saving.options)).rstrip() + options,
        )


def _gpus(*groups: Iterable[dict[str, Any]]) -> set[int]:
    return {row["gpu"] for group in groups for row in group if row["gpu"] is not None}


def _called(gpus: Collection[int]) -> str:
    """``GPUs 0-3, 5``."""
    runs: list[list[int]] = []
    known = [number for number in gpus if number >= 0]
    for number in sorted(known):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    ranges = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    words = [f"GPU{'s' if len(known) > 1 else ''} {ranges}"] if known else []
    # Their numbers stand for what is not known of them.
    if others := len(gpus) - len(known):
        words.append(f"{others} GPUs" if others > 1 else "a GPU")
        words[-1] += " without a device record"
    return " and ".join(words)
