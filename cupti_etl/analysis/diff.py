"""Runs before and after a change: what became slower or faster, and is that more than chance.

Each run is reduced to samples in DuckDB (``queries.compare``); what is left here is a row for each
step loop, part of the steps, module, operator, and kernel of one launch shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cupti_etl.analysis.at_once import at_once
from cupti_etl.analysis.document import Document
from cupti_etl.analysis.gpu_work import SMALLEST, Work, works
from cupti_etl.analysis.matching import match, other_models
from cupti_etl.analysis.notes import failed_calls
from cupti_etl.analysis.renames import ADDED_REMOVED, renamed
from cupti_etl.analysis.spread import bootstrap, corrected, normal_p, over_runs
from cupti_etl.analysis.step_parts import SUBJECT as STEP_PART
from cupti_etl.analysis.step_parts import step_parts
from cupti_etl.analysis.verdict import (
    VERDICTS,
    doubted,
    doubted_waits,
    judge_compute,
    judged,
    overall,
)
from cupti_etl.errors import UsageError
from cupti_etl.queries.choose import Scope
from cupti_etl.queries.compare import Compared, Key, Run, compared
from cupti_etl.queries.query import Chart, Label
from cupti_etl.render.columns import Shape, shape
from cupti_etl.render.sections import Section, page
from cupti_etl.units import rounded

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.api import Trace

__all__ = ["VERDICTS", "Diff", "comparable", "diff", "diff_as_given"]

# They are compared where all runs have them, as they add to the GPU time.
_PYTORCH = ("module", "operator")
_FEWEST = 5
# The smallest change that matters, where nobody says: what one run a side cannot tell from chance
# is more than what several can.
_EFFECT_OF_ONE, _EFFECT_OF_SEVERAL = 0.03, 0.01
# Intervals are drawn for what changed most; others need none, as they are not judged.
_JUDGED = 200
# What is asked of every run.
_ASKED = ("_step_gpu", "_run_sample", "_pytorch_sample", "_step_part")

_COLUMNS = (
    "subject",
    "verdict",
    "name",
    "slower_pct",
    "slower_low_pct",
    "slower_high_pct",
    "spread_pct",
    "before_calls",
    "after_calls",
    "before_mean_ns",
    "after_mean_ns",
    "change_ns",
    "duration_effect_ns",
    "count_effect_ns",
    "mix_effect_ns",
    "ratio",
    "low",
    "high",
    "q",
    "grid",
    "block",
    "before_ns",
    "after_ns",
    "became",
    "demangled",
)
_WHOLE = ("before_calls", "after_calls", "before_ns", "after_ns", "change_ns")
# What people want first, and what tells two kernels apart.
_FIRST = (
    "verdict", "slower_pct", "before_mean_ns", "after_mean_ns", "change_ns", "before_calls",
    "after_calls", "slower_low_pct", "slower_high_pct", "spread_pct",
)  # fmt: skip
_SLOWER = {"slower_pct": "ratio", "slower_low_pct": "low", "slower_high_pct": "high"}
_KERNEL = Label("name", "kernel", ("demangled", "grid", "block"))
_CHART = Chart("bars", "name", "change_ns")
_SECTIONS = (
    ("Steps, and the parts that their change consists of", ("step", STEP_PART), None),
    (
        "Modules, with their backward passes: parts of the change of GPU time",
        ("module",),
        Label("name", "range", ("name",)),
    ),
    ("Operators: parts of the change of GPU time", ("operator",), None),
    ("Kernels by name and launch shape", ("kernel",), _KERNEL),
    (f"Kernels added, removed or renamed ({ADDED_REMOVED})", (ADDED_REMOVED,), _KERNEL),
)
_ORDER = [subject for _, subjects, _ in _SECTIONS for subject in subjects]


@dataclass(frozen=True, repr=False)
class Diff(Document):
    """What changed from some runs to others; a notebook shows it as a page.

    Attributes:
        table: a row for each step loop, for each part of its steps (they add to the change of the
            steps after the warm-up), for each module and each operator of PyTorch (each of these
            add to the change of GPU time), and for each kernel name and launch shape; times in ns,
            of a mean run where there are several. Its verdict is one of ``VERDICTS``, or added,
            removed, renamed or replaced for kernels that only one side has. ``change_ns`` is from
            what the run before would take for as many steps as there are after (of kernels and
            operators only if parts of the runs, such as their steps, are compared); it is
            ``count_effect_ns`` (calls of the name), ``mix_effect_ns`` (its shapes) and
            ``duration_effect_ns`` together; ``ratio`` is of the means, with ``low`` and ``high``
            its 95 % interval, and ``slower_pct`` and its like say the same as how many percent
            longer they are; ``spread_pct`` is how much equal runs differ; ``q`` is the corrected
            p-value.
        verdict: one of ``VERDICTS`` for the whole run.
        why: the verdict in a sentence.
        note: what the reader must know to believe it; "" where there is nothing.
        title: the names of the runs.
        part: what part of them is compared, in words; "" for all.
    """

    table: pa.Table
    verdict: str
    why: str
    note: str = ""
    title: str = ""
    part: str = ""

    @property
    def said(self) -> list[str]:
        """The verdict and the note, a line each."""
        note = [f"note: {self.note}"] if self.note else []
        return [f"verdict: {self.verdict}: {self.why}", *note]

    def sections(self) -> Iterator[Section]:
        """The table in parts, as people read it; those without rows are left out."""
        rows = self.table.to_pylist()
        for title, subjects, label in _SECTIONS:
            numbers = [at for at, row in enumerate(rows) if row["subject"] in subjects]
            if numbers:
                first = ("verdict", "became", *_FIRST) if ADDED_REMOVED in subjects else _FIRST
                columns = shape(_COLUMNS, None).columns
                wanted = tuple(dict.fromkeys((*first, "name")))
                form = Shape(columns, label, wanted, is_known=True, chart=_CHART)
                yield Section(title, self.table.take(numbers), form)

    def page(self) -> str:
        """As a page of HTML with tables that needs nothing else."""
        return page("html", self.title, self.lines, self.sections())

    def __str__(self) -> str:
        return page("markdown", self.title, self.lines, self.sections())

    def __repr__(self) -> str:
        return f"<Diff of {self.title}: {self.verdict}>"

    @property
    def lines(self) -> list[str]:
        """What stands below the title of a page: the verdict, the note and the part."""
        return [*self.said, *([f"part of the traces: {self.part}"] if self.part else [])]


def diff(
    before: Trace | Sequence[Trace], after: Trace | Sequence[Trace], min_effect: float | None = None
) -> Diff:
    """What changed from a run, or several, to others, as ``cupti-etl diff`` says it.

    Of whole traces, that is of their steps after the warm-up, if all have steps; parts
    (``trace.scope``) are compared as they are.  It can be read when the traces are closed.

    Args, and what is raised: as of ``diff_as_given``.
    """
    sides = _sides(before, after)
    everyone = [trace for side in sides for trace in side]
    if any(trace.says for trace in everyone):
        return diff_as_given(*sides, min_effect)
    scope = comparable(everyone, Scope())
    with ExitStack() as stack:
        olds, news = ([stack.enter_context(each.part(scope)) for each in side] for side in sides)
        return diff_as_given(olds, news, min_effect)


def diff_as_given(
    before: Trace | Sequence[Trace], after: Trace | Sequence[Trace], min_effect: float | None = None
) -> Diff:
    """Compare runs, or parts of them, as they are.

    Args:
        before: the run to compare with, or several equal ones.
        after: the run that is judged, or several.
        min_effect: the smallest change of a mean that matters, as a share: 0.03 is 3 %, which it is
            with one run a side, or 1 % of a step for what the GPU computes; with several it is 1 %.

    Raises:
        UsageError: ``min_effect`` is not between 0 and 1, or a side has no run.
        TraceError: a trace cannot be read.
    """
    olds, news = _sides(before, after)
    is_several = len(olds) + len(news) > 2
    smallest = SMALLEST if min_effect is None else min_effect
    if min_effect is None:
        min_effect = _EFFECT_OF_SEVERAL if is_several else _EFFECT_OF_ONE
    if not 0 < min_effect < 1:
        raise UsageError(f"a smallest effect of {min_effect} is none", "give a share such as 0.03")
    import pyarrow as pa

    at_once([(trace, lambda session: session.prepare(*_ASKED)) for trace in (*olds, *news)])
    gpus = match(olds, news)
    runs = _runs((olds, news), gpus)
    with compared(*runs) as samples:
        is_of_steps = all(_is_part(each) for each in (*olds, *news))
        rows = samples.totals(is_of_steps=is_of_steps)
        paced = _paced(rows, is_of_steps)
        (_over_runs if is_several else _within_runs)(samples, rows)
    for row in rows:
        row["demangled"] = row["name"] if row["subject"] == "kernel" else None
        row["name"] = row.pop("short") or row["name"]
        judged(row, min_effect)
    rows = renamed(rows, olds, news)
    parts = step_parts(olds, news, gpus)
    computed: dict[str, Work] = {}
    if not is_several:
        doubted(rows, parts, min_effect)
        if any(row["subject"] == "kernel" and row["verdict"] in VERDICTS[:2] for row in rows):
            doubted_waits(rows, _communicating(olds[0]), min_effect)
        computed = works(olds[0], news[0], (gpus[0][0], gpus[1][0]))
        judge_compute(parts, computed, smallest)
    verdict, why, note = overall(rows, parts, min_effect, (len(olds), len(news)), computed)
    failed = (*_failed(olds, "before"), *_failed(news, "after"))
    note = "; ".join(filter(None, (other_models(olds, news), *failed, paced, note)))
    rows = sorted([*rows, *parts], key=lambda row: _ORDER.index(row["subject"]))
    for row in rows:
        ratios = {name: row.get(ratio) for name, ratio in _SLOWER.items()}
        row.update({name: None if r is None else 100 * (r - 1) for name, r in ratios.items()})
        if not is_several:
            row.update({name: _whole(row[name]) for name in _WHOLE})
    columns = {name: [row.get(name) for row in rows] for name in _COLUMNS} if rows else {}
    titles = (", ".join(dict.fromkeys(each.path.name for each in side)) for side in (news, olds))
    part = "; ".join(dict.fromkeys(each.says for each in (*olds, *news) if each.says))
    return Diff(pa.table(columns), verdict, why, note, " compared with ".join(titles), part)


def _sides(
    before: Trace | Sequence[Trace], after: Trace | Sequence[Trace]
) -> tuple[list[Trace], list[Trace]]:
    """The runs of each side.

    Raises:
        UsageError: one has none.
    """
    olds, news = (
        list(given) if isinstance(given, Sequence) else [given] for given in (before, after)
    )
    if not olds or not news:
        raise UsageError("there is no run to compare", "give one before and one after")
    return olds, news


def comparable(traces: Sequence[Trace], scope: Scope) -> Scope:
    """The part in which runs are compared: steps after the warm-up, if all of them have steps.

    Without the last, which lasts until its work is done, and not until the next begins.

    Args:
        traces: all of them, of both sides.
        scope: what is asked.
    """
    usual: list[Scope] = at_once(
        [(trace, lambda session: session.usual(scope)) for trace in traces]
    )
    if usual[0] == scope or any(each != usual[0] for each in usual):
        return scope
    return replace(usual[0], steps="complete")


def _is_part(trace: Trace) -> bool:
    """Whether it is some of the time of a run, such as the steady state, and not all of it."""
    return trace.choice is not None and bool(trace.choice.windows)


def _communicating(trace: Trace) -> set[str]:
    """The demangled names of its kernels that communicate."""
    mangled = {
        row["mangled"] for row in trace.query("kernel_rule") if row["category"] == "communication"
    }
    readable = {row["mangled"]: row["demangled"] for row in trace.query("_readable_name")}
    return {readable.get(name) or name for name in mangled}


def _failed(runs: Sequence[Trace], side: str) -> Iterator[str]:
    """Which calls failed in the runs of a side: it is no faster for what did not run."""
    for calls in dict.fromkeys(filter(None, (failed_calls(each.whole) for each in runs))):
        yield f"{side}, calls failed, so what they asked for did not run: {calls}"


def _paced(rows: Sequence[Mapping[str, Any]], is_of_steps: bool) -> str:
    """What changes are of where one side has more steps than the other; "" where none has."""
    steps = {
        (row["before_calls"], row["after_calls"])
        for row in rows
        if row["subject"] == "step" and row["before_calls"] and row["after_calls"]
    }
    if all(before == after for before, after in steps):
        return ""
    counts = {
        f"{rounded(before, 4)} steps before and {rounded(after, 4)} after"
        for before, after in steps
    }
    differ = counts.pop() if len(counts) == 1 else "other numbers of steps before than after"
    rest = "" if is_of_steps else ", but for what is not of steps, which is of the whole runs"
    return f"there are {differ}, and changes are from as many as after{rest}"


def _runs(
    sides: Sequence[Sequence[Trace]], gpus: Sequence[Sequence[dict[int, str]]]
) -> list[list[Run]]:
    everyone = [trace for side in sides for trace in side]
    shared = [each for each in _PYTORCH if all(trace.has_rows(f"_{each}") for trace in everyone)]

    def samples(trace: Trace) -> list[pa.Table]:
        pytorch = trace.query("_pytorch_sample", subjects=shared)
        return [each.arrow() for each in (trace.query("_run_sample"), pytorch)]

    return [
        [Run(samples(trace), names) for trace, names in zip(side, of_side, strict=True)]
        for side, of_side in zip(sides, gpus, strict=True)
    ]


def _key(row: Mapping[str, Any]) -> Key:
    return row["subject"], row["name"], row["grid"], row["block"]


def _over_runs(samples: Compared, rows: Sequence[dict[str, Any]]) -> None:
    """Intervals and p-values by how runs of one side differ."""
    before, after = samples.runs(0), samples.runs(1)
    tested = {}
    for at, row in enumerate(rows):
        olds, news = before.get(_key(row), []), after.get(_key(row), [])
        row.update(low=None, high=None, q=None, is_same=len({*olds, *news}) == 1 and bool(olds))
        row["is_same"] = row["is_same"] and bool(news)
        change = over_runs(olds, news)
        # Kernels whose names are not known may be any.
        if change is not None and row["name"] is not None:
            tested[at] = change.p
            row.update(ratio=change.ratio, low=change.low, high=change.high)
            row["spread_pct"] = 100 * change.spread
    _correct(rows, tested)


def _within_runs(samples: Compared, rows: Sequence[dict[str, Any]]) -> None:
    """Intervals and p-values by how executions within the two runs differ."""
    ranks = samples.ranks()
    tested = {}
    for at, row in enumerate(rows):
        z, row["is_same"] = ranks[_key(row)]
        same = row["ratio"] if row["is_same"] else None
        row.update(low=same, high=same, q=None)
        if row["name"] is not None and min(row["before_calls"], row["after_calls"]) >= _FEWEST:
            # All executions of both runs took the same time: z is undefined, and nothing changed.
            tested[at] = normal_p(z or 0.0)
    _correct(rows, tested)
    before, after = samples.parts(0), samples.parts(1)
    changed = [rows[at] for at in tested if not rows[at]["is_same"]]
    for row in sorted(changed, key=lambda row: -abs(row["change_ns"]))[:_JUDGED]:
        row["low"], row["high"] = bootstrap(before[_key(row)], after[_key(row)])


def _correct(rows: Sequence[dict[str, Any]], p: Mapping[int, float]) -> None:
    """Correct p-values for their number among those of the same kind."""
    for subject in {rows[at]["subject"] for at in p}:
        of_subject = [at for at in p if rows[at]["subject"] == subject]
        for at, q in zip(of_subject, corrected([p[at] for at in of_subject]), strict=True):
            rows[at]["q"] = q


def _whole(value: float | None) -> int | None:
    """A number of one run, which is a whole one; None if it is none that a column can hold."""
    return round(value) if value is not None and abs(value) < 2**63 else None
