"""Which GPU of one run is which of the others: their numbers say nothing.

A job may have another GPU of its machine each time, and an importer numbers those that it finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cupti_etl.api import Trace


@dataclass(frozen=True)
class _Gpu:
    """A GPU on which steps were found."""

    number: int
    source: str
    rank: int | None


def match(before: Sequence[Trace], after: Sequence[Trace]) -> list[list[dict[int, str]]]:
    """Names for the GPUs with steps of all runs; those that belong together have the same.

    GPUs of one rank belong together; of the others those whose kernels are most alike, by the
    time that they share.  Where several are as alike, their numbers decide.  Where steps are not
    those of ranges, the name says so.

    Args:
        before: the runs before; each GPU is matched with one of the first.
        after: the runs after.

    Raises:
        TraceError: a trace cannot be read.
    """
    first, *others = runs = [*before, *after]
    found = [_gpus(trace) for trace in runs]
    pairs = [
        _paired(first, trace, found[0], gpus) for trace, gpus in zip(others, found[1:], strict=True)
    ]
    is_alone = all(len(gpus) == 1 for gpus in found)
    names: list[dict[int, str]] = [{} for _ in runs]
    for gpu in found[0]:
        partners = [next((two for one, two in each if one is gpu), None) for each in pairs]
        known = [each for each in partners if each is not None]
        name = _name(gpu, known, is_alone) if known else f"gpu {gpu.number} of the run before"
        names[0][gpu.number] = name
        for at, partner in enumerate(partners, start=1):
            if partner is not None:
                names[at][partner.number] = name
    for at, gpus in enumerate(found):
        side = "before" if at < len(before) else "after"
        for gpu in gpus:
            names[at].setdefault(gpu.number, f"gpu {gpu.number} of the run {side}")
    return [names[: len(before)], names[len(before) :]]


def other_models(before: Sequence[Trace], after: Sequence[Trace]) -> str:
    """That the runs were on GPUs of other models, which alone changes times; "" if not."""
    olds, news = (
        {row["device_name"] for each in side for row in each.whole.query("gpu")} - {None}
        for side in (before, after)
    )
    if not olds or not news or olds == news:
        return ""
    named = [", ".join(sorted(names)) for names in (olds, news)]
    return f"the GPUs are others: {named[0]} before, {named[1]} after"


def _paired(
    one: Trace, two: Trace, ours: list[_Gpu], theirs: list[_Gpu]
) -> list[tuple[_Gpu, _Gpu]]:
    pairs = _by_rank(ours, theirs)
    ours = [gpu for gpu in ours if gpu not in {pair[0] for pair in pairs}]
    theirs = [gpu for gpu in theirs if gpu not in {pair[1] for pair in pairs}]
    return pairs + _by_likeness(one, two, ours, theirs)


def _name(gpu: _Gpu, partners: Sequence[_Gpu], is_alone: bool) -> str:
    guessed = "" if gpu.source == "nvtx" else " (guessed)"
    if {each.number for each in partners} == {gpu.number}:
        return f"gpu {gpu.number}{guessed}"
    if gpu.rank is not None and {each.rank for each in partners} == {gpu.rank}:
        return f"rank {gpu.rank}{guessed}"
    if is_alone:
        return f"the GPU{guessed}"
    others = sorted({each.number for each in partners})
    if len(others) == 1:
        return f"gpu {gpu.number}, gpu {others[0]} in the other run{guessed}"
    return f"gpu {gpu.number}, gpus {', '.join(map(str, others))} in the other runs{guessed}"


def _gpus(trace: Trace) -> list[_Gpu]:
    return [_Gpu(row["gpu"], row["source"], row["rank"]) for row in trace.query("_step_gpu")]


def _by_rank(before: list[_Gpu], after: list[_Gpu]) -> list[tuple[_Gpu, _Gpu]]:
    """The pairs of one rank, as far as a rank has one GPU in each run."""
    ranks: defaultdict[tuple[int, str], tuple[list[_Gpu], list[_Gpu]]]
    ranks = defaultdict(lambda: ([], []))
    for side, gpus in enumerate((before, after)):
        for gpu in gpus:
            if gpu.rank is not None:
                ranks[gpu.rank, gpu.source][side].append(gpu)
    return [
        (ours[0], theirs[0]) for ours, theirs in ranks.values() if len(ours) == len(theirs) == 1
    ]


def _by_likeness(
    base: Trace, other: Trace, before: list[_Gpu], after: list[_Gpu]
) -> list[tuple[_Gpu, _Gpu]]:
    """The pairs that are most alike, the best first."""
    is_clear = len(before) <= 1 and len(after) <= 1
    ours, theirs = ({}, {}) if is_clear else (_mixes(base), _mixes(other))
    nothing: Mapping[str, float] = {}
    choices = sorted(
        (
            (-_alike(ours.get(one.number, nothing), theirs.get(two.number, nothing)), one, two)
            for one in before
            for two in after
            if one.source == two.source
        ),
        key=lambda choice: (
            choice[0],
            choice[1].number != choice[2].number,
            choice[1].number,
            choice[2].number,
        ),
    )
    pairs: list[tuple[_Gpu, _Gpu]] = []
    for _, one, two in choices:
        if all(one is not pair[0] and two is not pair[1] for pair in pairs):
            pairs.append((one, two))
    return pairs


def _mixes(trace: Trace) -> Mapping[int, Mapping[str, float]]:
    """Of each GPU, the share of each kernel of the time of all."""
    times: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for row in trace.query("_kernel_mix"):
        times[row["gpu"]][row["name"]] = row["total_ns"] or 0
    return {
        gpu: {name: ns / (sum(mix.values()) or 1) for name, ns in mix.items()}
        for gpu, mix in times.items()
    }


def _alike(one: Mapping[str, float], two: Mapping[str, float]) -> float:
    """The time that both spend on the same kernels, as a share in tenths: the rest is chance."""
    return round(sum(min(share, two.get(name, 0.0)) for name, share in one.items()), 1)
