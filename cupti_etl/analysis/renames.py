"""Kernels that only one side has, and which of them are one under another name.

A compiler or a library that is newer calls its kernels otherwise, or chooses others.  What has the
same launch shape, about as many executions and the same neighbours in its stream is renamed; what
has another shape, and the same kernel before and after it, is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cupti_etl.api import Trace

ADDED_REMOVED = "kernel_added_removed"
# Numbers of executions of one kernel differ by no more than this share.
_COUNTS = 0.1
_SAME, _BOTH_NEW = 2, 1

Row = dict[str, Any]
Shape = tuple[str, str, str]
Place = tuple[str | None, str | None]


def renamed(
    rows: Sequence[Row], before: Sequence[Trace], after: Sequence[Trace]
) -> list[dict[str, Any]]:
    """The rows of a comparison; those of kernels of one side only have a subject of their own.

    Two that are one kernel under two names are one row, which says what it ``became``.

    Raises:
        TraceError: a trace cannot be read.
    """
    kernels = [row for row in rows if row["subject"] == "kernel"]
    olds = {row["demangled"] for row in kernels if row["before_calls"]}
    news = {row["demangled"] for row in kernels if row["after_calls"]}
    # What has another shape on the other side is there.
    removed = [row for row in kernels if row["demangled"] not in news]
    added = [row for row in kernels if row["demangled"] not in olds]
    for row in (*removed, *added):
        row["subject"] = ADDED_REMOVED
    merged: dict[int, Row] = {}
    gone: set[int] = set()
    if removed and added:
        for verdict, old, new in _pairs(removed, added, _places(before), _places(after)):
            merged[id(old)] = _merged(verdict, old, new)
            gone.add(id(new))
    return [merged.get(id(row), row) for row in rows if id(row) not in gone]


def _pairs(
    removed: Sequence[Row],
    added: Sequence[Row],
    before: Mapping[Shape, Place],
    after: Mapping[Shape, Place],
) -> list[tuple[str, Row, Row]]:
    """Those that are one, the surest first."""
    olds, news = ({row["demangled"] for row in rows} for rows in (removed, added))
    choices = []
    for (at, old), (to, new) in product(enumerate(removed), enumerate(added)):
        counts = abs(new["after_calls"] / old["before_calls"] - 1)
        if counts > _COUNTS:
            continue
        alike = sum(
            _SAME if one == two else _BOTH_NEW if one in olds and two in news else 0
            for one, two in zip(_place(before, old), _place(after, new), strict=True)
        )
        is_shape = (old["grid"], old["block"]) == (new["grid"], new["block"])
        if alike >= (_SAME if is_shape else 2 * _SAME):
            choices.append((not is_shape, -alike, counts, at, to))
    pairs: list[tuple[str, Row, Row]] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for is_other, _, _, at, to in sorted(choices):
        if at not in taken[0] and to not in taken[1]:
            pairs.append(("replaced" if is_other else "renamed", removed[at], added[to]))
            taken[0].add(at)
            taken[1].add(to)
    return pairs


def _place(places: Mapping[Shape, Place], row: Row) -> Place:
    return places.get((row["demangled"], row["grid"], row["block"]), ("", ""))


def _places(runs: Sequence[Trace]) -> dict[Shape, Place]:
    """The neighbours of each kernel, in the first of the runs that has it."""
    places: dict[Shape, Place] = {}
    for trace in reversed(runs):
        for row in trace.query("_kernel_place"):
            shape = (row["name"], row["grid"] or "", row["block"] or "")
            places[shape] = (row["previous"], row["next"])
    return places


def _merged(verdict: str, old: Row, new: Row) -> Row:
    """The kernel that was one and is the other."""
    row = {**old, **{name: new[name] for name in ("after_calls", "after_ns", "after_mean_ns")}}
    before, after = old["before_mean_ns"], new["after_mean_ns"]
    row.update(
        verdict=verdict,
        # Two instances of one template differ in what follows the name.
        became=new["demangled"] if new["name"] == old["name"] else new["name"],
        ratio=after / before if before else None,
        change_ns=new["after_ns"] - old["pace"] * old["before_ns"],
        count_effect_ns=(new["after_calls"] - old["pace"] * old["before_calls"]) * before,
        duration_effect_ns=new["after_calls"] * (after - before),
        mix_effect_ns=0.0,
    )
    return row
