"""The change of a step, split into parts that add to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cupti_etl.render.values import duration

if TYPE_CHECKING:
    from cupti_etl.api import Trace

SUBJECT = "step part"
_NAMED = 3
# A part that explains less of the change goes without saying.
_SMALLEST = 0.05


def step_parts(
    base: Trace, other: Trace, names: tuple[Mapping[int, str], Mapping[int, str]]
) -> list[dict[str, Any]]:
    """The parts of the steps of both runs, by GPU, what changed most first.

    Args:
        base: the run to compare with.
        other: the run that is judged.
        names: of the GPUs of each, by their numbers; those that belong together have the same.
    """
    sides = [
        {
            (gpus.get(row["gpu"], f"gpu {row['gpu']}"), row["part"]): row
            for row in trace.query("_step_part")
        }
        for trace, gpus in zip((base, other), names, strict=True)
    ]
    rows = []
    for gpu, part in {**sides[0], **sides[1]}:
        before, after = (side.get((gpu, part), {}) for side in sides)
        row = {
            "subject": SUBJECT,
            "gpu": gpu,
            "name": f"{gpu}: {part}",
            "part": part,
            "base_calls": before.get("steps", 0),
            "other_calls": after.get("steps", 0),
            "base_ns": before.get("total_ns", 0),
            "other_ns": after.get("total_ns", 0),
        }
        row["change_ns"] = row["other_ns"] - row["base_ns"]
        # Parts are not tested: what did not change at all needs no test.
        row["verdict"] = "none" if row["base_ns"] == row["other_ns"] else None
        for side in ("base", "other"):
            calls = row[f"{side}_calls"]
            row[f"{side}_mean_ns"] = row[f"{side}_ns"] / calls if calls else None
        if row["base_ns"] or row["other_ns"]:
            rows.append(row)
    return sorted(rows, key=lambda row: (row["gpu"], -abs(_change(row)), row["part"]))


def explain(parts: Iterable[Mapping[str, Any]], gpu: str) -> str:
    """What the change of a GPU's steps consists of, the most first; "" if it is not known."""
    ours = [row for row in parts if row["gpu"] == gpu and row["base_calls"] and row["other_calls"]]
    moved = sum(abs(_change(row)) for row in ours)
    return ", ".join(
        f"{row['part']} {'+' if _change(row) > 0 else '-'}{duration(abs(_change(row)))}"
        for row in ours[:_NAMED]
        if abs(_change(row)) >= max(_SMALLEST * moved, 1)
    )


def _change(row: Mapping[str, Any]) -> float:
    """Of a step, on average."""
    return (row["other_mean_ns"] or 0.0) - (row["base_mean_ns"] or 0.0)
