"""The steps that a person asks, by their numbers or as the steady state: when they were."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from cupti_etl.errors import UsageError
from cupti_etl.queries.scope import Gpu, Window

_NUMBERS = re.compile(r"(\d+)?(?:(-)(\d+)?)?\Z")
_STEADY = ("steady", "complete")
# The last step of NVTX's lasts until its work is done, and others until the next begins; of few,
# it is not left out.
_IS_COMPLETE = """source <> 'nvtx' OR lead(true) OVER (PARTITION BY process_id, gpu ORDER BY step)
    OR count_if(is_steady) OVER (PARTITION BY process_id, gpu) < 4"""

Ask = Callable[[str], Sequence[dict[str, Any]]]


def which_steps(
    text: str, processes: tuple[int, ...] | None, gpus: Sequence[Gpu], ask: Ask
) -> tuple[list[Window], str]:
    """The times of steps, and which they are in words.

    Args:
        text: their numbers, or ``steady`` or ``complete``: see ``Scope``.
        processes: whose steps are meant; None for those of all.
        gpus: on which they were, where processes are given.
        ask: gives the rows of a statement over the whole trace.

    Raises:
        UsageError: the trace has no such steps.
    """
    found = _NUMBERS.match(text.strip())
    if text not in _STEADY and (not found or not text.strip(" -")):
        raise UsageError(
            f"{text!r} is no number of steps", "5, 5-8, 5-, -8, steady, complete or all"
        )
    rows = ask(f"SELECT *, {_IS_COMPLETE} AS is_complete FROM step")
    numbers = {gpu.gpu for gpu in gpus}
    if processes is not None:
        rows = [r for r in rows if r["process_id"] in processes and r["gpu"] in numbers]
    if not rows:
        raise UsageError(
            "no steps were found in the trace",
            "choose a time, or a range by the name of a step without work on GPUs",
        )
    if found is None:
        chosen = [r for r in rows if r["is_steady"] and (text == "steady" or r["is_complete"])]
    else:
        low = int(found[1] or 0)
        high = int(found[3]) if found[3] else math.inf if found[2] else low
        if high < low:
            raise UsageError(f"steps {text} end before they begin", f"give {high}-{low}")
        chosen = [row for row in rows if low <= row["step"] <= high]
    last = max(row["step"] for row in rows)
    if not chosen:
        raise UsageError(
            f"the trace has no step {text}",
            f"its steps are 0-{last}" if last else "its only step is 0",
        )
    return _windows(chosen, rows), _said(text, chosen, last)


def _said(text: str, chosen: Sequence[dict[str, Any]], last: int) -> str:
    """Which they are, in words; ``last`` is the number of the trace's last step."""
    first, end = min(row["step"] for row in chosen), max(row["step"] for row in chosen)
    which = f"step {first}" if first == end else f"steps {first}-{end}"
    which += _named(chosen, first, end)
    if (first, end) == (0, last):
        which = ("the only step", "both steps")[last] if last < 2 else f"all {last + 1} steps"
    elif text in _STEADY:
        left_out = ["after the warm-up"] if first else []
        left_out += ["without the last"] if text != "steady" and end < last else []
        which += f" of 0-{last}" + (f", {' and '.join(left_out)}" if left_out else "")
    if any(row["source"] == "kernels" for row in chosen):
        which += ", guessed from kernels that repeat"
    return which


def _named(chosen: Sequence[dict[str, Any]], first: int, last: int) -> str:
    """What the program calls the first and the last step, if it counts otherwise."""
    names = [next(row["name"] for row in chosen if row["step"] == step) for step in (first, last)]
    is_number = re.fullmatch(r"[^\d\n]{0,40}(\d{1,9})\W?", names[0])
    if chosen[0]["source"] != "nvtx" or not is_number or int(is_number[1]) == first:
        return ""
    return f" ({' to '.join(dict.fromkeys(names))})"


def _windows(chosen: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[Window]:
    """When they were, by process; on its host, too, if of any of its steps that is known."""
    of_each: dict[int, list[dict[str, Any]]] = {}
    for row in chosen:
        of_each.setdefault(row["process_id"], []).append(row)
    hosts = {row["process_id"] for row in rows if row["host_start_ns"] is not None}
    return [
        _window(process, steps, has_host=process in hosts)
        for process, steps in sorted(of_each.items())
    ]


def _window(process_id: int, steps: Sequence[dict[str, Any]], *, has_host: bool) -> Window:
    """When some steps of a process were, on its GPUs and on its host."""
    start, end = min(step["start_ns"] for step in steps), max(step["end_ns"] for step in steps)
    if not has_host:
        return Window(start, end, process_id)
    begins = [step["host_start_ns"] for step in steps if step["host_start_ns"] is not None]
    if not begins:
        # The host did nothing more that is known.
        return Window(start, end, process_id, Window(start, start, process_id))
    ends = [step["host_end_ns"] for step in steps]
    until = None if None in ends else max(ends)
    return Window(start, end, process_id, Window(min(begins), until, process_id))
