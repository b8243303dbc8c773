"""The change of a step, split into parts that add to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cupti_etl.render.values import duration

if TYPE_CHECKING:
    from cupti_etl.api import Trace

SUBJECT = "step part"
COMPUTE = "compute"
_IDLE = "idle"
# Of equal runs whose host sets the pace one was idle for 1.8 times as long as another, on a machine
# that others use, too (docs/measurements/h200-diff-work.json).
_IDLE_DIFFERS = 2.0
_NAMED = 3
# A part that explains less of the change goes without saying.
_SMALLEST = 0.05


def step_parts(
    before: Sequence[Trace], after: Sequence[Trace], names: Sequence[Sequence[Mapping[int, str]]]
) -> list[dict[str, Any]]:
    """The parts of the steps of a mean run of each side, by GPU, what changed most first.

    Args:
        before: the runs to compare with.
        after: the runs that are judged.
        names: of the GPUs of each, by their numbers; those that belong together have the same.
    """
    sides = [_summed(*side) for side in zip((before, after), names, strict=True)]
    steps = [_steps(side) for side in sides]
    rows = []
    for gpu, part in {**sides[0], **sides[1]}:
        (old_steps, old_ns), (new_steps, new_ns) = (
            side.get((gpu, part), (0.0, 0.0)) for side in sides
        )
        of_gpu = [each.get(gpu, 0.0) for each in steps]
        pace = of_gpu[1] / of_gpu[0] if all(of_gpu) else 1.0
        row = {
            "subject": SUBJECT,
            "gpu": gpu,
            "name": f"{gpu}: {part}",
            "part": part,
            "before_calls": old_steps,
            "after_calls": new_steps,
            "before_ns": old_ns,
            "after_ns": new_ns,
            # From as many steps before as there are after.
            "change_ns": new_ns - pace * old_ns,
            # Parts are not tested: what did not change at all needs no test.
            "verdict": "none" if old_ns == new_ns else None,
            "before_mean_ns": old_ns / old_steps if old_steps else None,
            "after_mean_ns": new_ns / new_steps if new_steps else None,
        }
        if old_ns or new_ns:
            rows.append(row)
    return sorted(rows, key=lambda row: (row["gpu"], -abs(_change(row)), row["part"]))


def _summed(
    runs: Sequence[Trace], names: Sequence[Mapping[int, str]]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Steps and time of each GPU and part, in a mean run."""
    sums: dict[tuple[str, str], tuple[float, float]] = {}
    for trace, gpus in zip(runs, names, strict=True):
        for row in trace.query("_step_part"):
            key = (gpus.get(row["gpu"], f"gpu {row['gpu']}"), row["part"])
            steps, ns = sums.get(key, (0.0, 0.0))
            sums[key] = (steps + row["steps"] / len(runs), ns + (row["total_ns"] or 0) / len(runs))
    return sums


def _steps(sums: Mapping[tuple[str, str], tuple[float, float]]) -> dict[str, float]:
    """How many steps each GPU has."""
    most: dict[str, float] = {}
    for (gpu, _), (steps, _) in sums.items():
        most[gpu] = max(steps, most.get(gpu, 0.0))
    return most


def idle_share(parts: Iterable[Mapping[str, Any]], gpu: str) -> float:
    """How much of a GPU's steps it is idle, before and after together, as a share."""
    ours = [row for row in parts if row["gpu"] == gpu]
    whole = sum(row["before_ns"] + row["after_ns"] for row in ours)
    idle = sum(row["before_ns"] + row["after_ns"] for row in ours if row["part"].startswith(_IDLE))
    return idle / whole if whole else 0.0


def beyond_idle(parts: Iterable[Mapping[str, Any]], gpu: str) -> float | None:
    """The change of a GPU's steps beyond what idle time differs by in equal runs, as a share.

    Args:
        parts: of the steps of one run a side.
        gpu: whose steps; None is returned where nothing is known of their parts.
    """
    ours = [row for row in parts if row["gpu"] == gpu]
    before = sum(row["before_mean_ns"] or 0.0 for row in ours)
    if not before:
        return None
    idle = [row for row in ours if row["part"].startswith(_IDLE)]
    idle_before = sum(row["before_mean_ns"] or 0.0 for row in idle)
    least, most = idle_before * (1 / _IDLE_DIFFERS - 1), idle_before * (_IDLE_DIFFERS - 1)
    by_chance = min(max(sum(map(_change, idle)), least), most)
    return (sum(map(_change, ours)) - by_chance) / before


def idle_change(parts: Iterable[Mapping[str, Any]], gpu: str) -> float:
    """By how many ns a GPU is idle longer in a step."""
    return math.fsum(
        _change(row) for row in parts if row["gpu"] == gpu and row["part"].startswith(_IDLE)
    )


def unseen_idle(parts: Iterable[Mapping[str, Any]], gpu: str) -> float:
    """What idle time of one run a side can be longer by chance, as a share of a GPU's steps."""
    ours = [row for row in parts if row["gpu"] == gpu]
    before = math.fsum(row["before_ns"] for row in ours)
    idle = math.fsum(row["before_ns"] for row in ours if row["part"].startswith(_IDLE))
    return (_IDLE_DIFFERS - 1) * idle / before if before else 0.0


def explain(parts: Iterable[Mapping[str, Any]], gpu: str) -> str:
    """What the change of a GPU's steps consists of, the most first; "" if it is not known."""
    ours = [
        row for row in parts if row["gpu"] == gpu and row["before_calls"] and row["after_calls"]
    ]
    moved = sum(abs(_change(row)) for row in ours)
    return ", ".join(
        f"{row['part']} {'+' if _change(row) > 0 else '-'}{duration(abs(_change(row)))}"
        for row in ours[:_NAMED]
        if abs(_change(row)) >= max(_SMALLEST * moved, 1)
    )


def _change(row: Mapping[str, Any]) -> float:
    """Of a step, on average."""
    return (row["after_mean_ns"] or 0.0) - (row["before_mean_ns"] or 0.0)
