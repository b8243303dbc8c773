"""What is said of a comparison: a verdict on each row, and one on all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from cupti_etl.analysis.gpu_work import SMALLEST, Work
from cupti_etl.analysis.renames import ADDED_REMOVED
from cupti_etl.analysis.step_parts import (
    COMPUTE,
    beyond_idle,
    explain,
    idle_change,
    idle_share,
    unseen_idle,
)

VERDICTS = ("regress", "improve", "none", "cannot tell")
_ALPHA = 0.05
_KERNELS = ("kernel", ADDED_REMOVED)
# Of runs of one name: kernels that only one side has.
_UNCLEAR = ("cannot tell", "removed", "renamed", "replaced")
# Steps in which the GPU is idle for longer take as long as their host does.
_HOST_BOUND = 0.1
# How the command gets more runs.
MORE = "add runs with --before and --after"
_FEW = "a machine that is now in one state and now in another shows from 3 runs a side on"


def judged(row: dict[str, Any], min_effect: float) -> None:
    """Give a row its verdict.

    Args:
        row: of a comparison, with its interval and its corrected p-value.
        min_effect: the smallest change that matters, as a share.
    """
    row["verdict"] = _verdict(row, min_effect)


def _verdict(row: Mapping[str, Any], min_effect: float) -> str:
    if row["is_same"]:
        return "none"
    if not row["before_calls"] or not row["after_calls"]:
        return "removed" if row["before_calls"] else "added"
    low, high, ratio = row["low"], row["high"], row["ratio"]
    if low is None or ratio is None or row["q"] is None:
        return "cannot tell"
    if row["q"] < _ALPHA and low > 1 and ratio >= 1 + min_effect:
        return "regress"
    if row["q"] < _ALPHA and high < 1 and ratio <= 1 - min_effect:
        return "improve"
    return "none" if low >= 1 - min_effect and high <= 1 + min_effect else "cannot tell"


def doubted(
    rows: Iterable[dict[str, Any]], parts: Sequence[Mapping[str, Any]], min_effect: float
) -> None:
    """Take back verdicts on steps of one run a side that equal runs would get, too.

    How long a GPU is idle depends on its host, which is never the same twice; one run a side does
    not show by how much.

    Args:
        rows: of the comparison, judged.
        parts: of the steps.
        min_effect: as of ``judged``.
    """
    for row in rows:
        if row["subject"] == "step" and row["verdict"] in VERDICTS[:2]:
            rest = beyond_idle(parts, row["name"])
            sign = 1 if row["verdict"] == "regress" else -1
            if rest is not None and sign * rest < min_effect:
                row["verdict"] = "cannot tell"


def doubted_waits(rows: Iterable[dict[str, Any]], waits: Set[str], min_effect: float) -> None:
    """Take back verdicts on communication of one run a side that waiting explains.

    A collective lasts from when its rank comes to when all are done: that is longer where another
    rank is late.  What it takes by itself is in its fastest executions.

    Args:
        rows: of the comparison, judged.
        waits: demangled names of the kernels that communicate.
        min_effect: as of ``judged``.
    """
    for row in rows:
        if row["demangled"] in waits and row["verdict"] in VERDICTS[:2]:
            sign = 1 if row["verdict"] == "regress" else -1
            if sign * ((row["least_ratio"] or 1) - 1) < min_effect:
                row["verdict"] = "cannot tell"


def judge_compute(
    parts: Iterable[dict[str, Any]], computed: Mapping[str, Work], smallest: float
) -> None:
    """Give what the GPUs compute in steps of one run a side its verdict.

    Args:
        parts: of the steps.
        computed: how that changed, by GPU.
        smallest: the smallest change that matters, as a share of a step.
    """
    for row in parts:
        work = computed.get(row["gpu"])
        if row["part"] == COMPUTE and work is not None and row["verdict"] is None:
            row["verdict"] = work.verdict(smallest)


def overall(
    rows: Sequence[Mapping[str, Any]],
    parts: Sequence[Mapping[str, Any]],
    min_effect: float,
    runs: tuple[int, int],
    computed: Mapping[str, Work],
) -> tuple[str, str, str]:
    """The verdict on the whole, why, and what the reader must know.

    By the steps where both sides have some; else by what kernels whose verdict is known cost.

    Args:
        rows: of steps and kernels, judged.
        parts: of the steps.
        min_effect: as of ``judged``.
        runs: how many there are before and after.
        computed: with one run a side, how what the GPUs compute in a step changed.
    """
    sides = [name for name in ("before", "after") if any(row[f"{name}_calls"] for row in rows)]
    if not sides:
        return "cannot tell", "neither run has finished kernels", ""
    if len(sides) == 1:
        other = "after" if sides == ["before"] else "before"
        return "cannot tell", f"the run {other} has no finished kernels", ""
    if all(row["is_same"] for row in rows):
        return "none", "all kernels and steps took the same times in all runs", ""
    steps = [row for row in rows if row["subject"] == "step" and row["q"] is not None]
    if not steps:
        return *_by_kernels(rows, min_effect), _note(runs, None)
    for wanted in VERDICTS[:2]:
        for row in steps:
            if row["verdict"] == wanted:
                return wanted, _told(row, parts, runs), _note(runs, None)
    for row in steps:
        found = _by_compute(row["name"], parts, computed)
        if found:
            return found[0], f"{found[1]}; {_told(row, parts, runs)}", _note(runs, None)
    verdict = "none" if {row["verdict"] for row in steps} == {"none"} else "cannot tell"
    gpu = steps[0]["name"]
    note = _note(runs, idle_share(parts, gpu))
    if gpu in computed:
        note = f"{_unseen(parts, gpu, computed[gpu])}; {note}"
    return verdict, _told(steps[0], parts, runs), note


def _by_compute(
    gpu: str, parts: Sequence[Mapping[str, Any]], computed: Mapping[str, Work]
) -> tuple[str, str] | None:
    """The verdict on what a GPU computes in a step, and why; None if steps need not take longer."""
    for part in parts:
        if part["gpu"] == gpu and part["part"] == COMPUTE and part["verdict"] in VERDICTS[:2]:
            work = computed.get(gpu)
            if work is not None and not work.is_hidden(idle_change(parts, gpu)):
                return part["verdict"], _computes(gpu, work)
    return None


def _computes(gpu: str, work: Work) -> str:
    """What the GPU computes more, or less, in a step."""
    how = "longer" if work.change_ns > 0 else "shorter"
    text = f"{gpu} computes {_percent(abs(work.change_ns), work)} of a step {how} in each"
    if work.launched_ns:
        more = "more" if work.launched_ns > 0 else "less"
        text += (
            f", and launches {more} kernels, of {_percent(abs(work.launched_ns), work)} of a step"
        )
    return text


def _unseen(parts: Iterable[Mapping[str, Any]], gpu: str, work: Work) -> str:
    """What one run a side would not have shown."""
    compute = f"{100 * max(work.unseen_ns / work.step_ns, SMALLEST):.1f} %"
    text = f"of what {gpu} computes, a change below {compute} of a step would not have been seen"
    idle = unseen_idle(parts, gpu)
    return f"{text}, of idle time one below {100 * idle:.1f} %" if idle else text


def _percent(ns: float, work: Work) -> str:
    return f"{100 * ns / work.step_ns:.1f} %"


def _by_kernels(rows: Sequence[Mapping[str, Any]], min_effect: float) -> tuple[str, str]:
    kernels = [row for row in rows if row["subject"] in _KERNELS]
    whole = sum(row["before_ns"] for row in kernels)
    if whole <= 0:
        return "cannot tell", "the kernels of the run before took no time"
    known = [row for row in kernels if row["verdict"] in ("regress", "improve")]
    share = sum(row["duration_effect_ns"] for row in known) / whole
    cost = f"kernels with a clear change cost {100 * share:+.1f} % of kernel time"
    told = f"{_why_no_steps(rows)}; {cost if known else 'no kernel has a clear change'}"
    gone = (row for row in kernels if not row["after_calls"] or row.get("became"))
    alone = sum(row["before_ns"] for row in gone) / whole
    if alone > 0.5:
        told += (
            f", and {100 * alone:.0f} % of kernel time is of those that the run after does not have"
        )
    if abs(share) >= min_effect:
        return ("regress" if share > 0 else "improve"), told
    untold = [row for row in kernels if row["verdict"] in _UNCLEAR]
    unsure = sum(row["before_ns"] for row in untold) / whole
    return ("none" if unsure <= 0.5 else "cannot tell"), told


def _told(
    step: Mapping[str, Any], parts: Iterable[Mapping[str, Any]], runs: tuple[int, int]
) -> str:
    why = explain(parts, step["name"])
    return f"steps on {step['name']}: {_change(step, runs)}" + (f": {why}" if why else "")


def _why_no_steps(rows: Sequence[Mapping[str, Any]]) -> str:
    """Why the steps do not say what changed."""
    steps = [row for row in rows if row["subject"] == "step"]
    if any(row["before_calls"] and row["after_calls"] for row in steps):
        return "fewer than 5 steps to compare"
    ours, theirs = (any(row[calls] for row in steps) for calls in ("before_calls", "after_calls"))
    if ours and theirs:
        return "steps were found in another way in each run, so they are not compared"
    if ours or theirs:
        return f"steps were found in the run {'before' if ours else 'after'} only"
    return "no steps were found, or only poor guesses"


def _change(row: Mapping[str, Any], runs: tuple[int, int]) -> str:
    text = f"{100 * (row['ratio'] - 1):+.1f} %" if row["ratio"] else "?"
    if row["low"] is None:
        return text
    wide = f"{100 * (row['low'] - 1):+.1f} to {100 * (row['high'] - 1):+.1f} %"
    if row.get("spread_pct") is None:
        return f"{text} ({wide})"
    counts = f"{runs[0]} and {runs[1]} runs"
    return f"{text} ({wide}; {counts}, of which equal ones differ by {row['spread_pct']:.1f} %)"


def _note(runs: tuple[int, int], idle: float | None) -> str:
    """What one run a side cannot show."""
    if sum(runs) > 2:
        return _FEW if min(runs) < 3 else ""
    if idle is not None and idle >= _HOST_BOUND:
        return (
            f"the host sets the pace of these steps (the GPU is idle for {100 * idle:.0f} % of"
            f" them): two runs of this kind can differ by this much without a change; {MORE}"
        )
    return f"how much equal runs differ is not known from one run a side; {MORE}"
