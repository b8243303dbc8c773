"""A reading as lines of text, as wide as there is room."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cupti_etl.progress import printable
from cupti_etl.queries.query import Label
from cupti_etl.render.columns import Column, Shape
from cupti_etl.render.labels import cut, processes
from cupti_etl.render.output import InMemory
from cupti_etl.render.table import View
from cupti_etl.render.text import display_width, lines_within
from cupti_etl.render.values import NOTHING, duration, number, one_line, size
from cupti_etl.top.reading import FINISHED, WAITING, Reading
from cupti_etl.units import counted

_COLUMNS = (
    Column("now_pct", "%"),
    Column("percent", "%"),
    Column("total_ns", "ns"),
    Column("calls", "executions"),
    Column("mean_ns", "ns"),
    Column("now_calls", "executions"),
    Column("now_total_ns", "ns"),
    Column("now_mean_ns", "ns"),
    Column("name", "1"),
)
_KERNELS = Shape(
    (*_COLUMNS, Column("demangled", "1")),
    Label("name", "kernel", ("demangled",)),
    tuple(each.name for each in _COLUMNS),
    is_known=True,
)
# Names of what kernels are sorted by, by their columns; the first is that of a growing trace.
ORDERS = {
    "now_total_ns": "time now",
    "total_ns": "time",
    "calls": "executions",
    "mean_ns": "mean",
    "name": "name",
}
_UNITS = {"ns": "_ns", "bytes": "_bytes", "%": "_pct"}
_GAP = "   "
_STEP = {"nvtx": "range", "kernels": "guessed from"}


def ordered(
    kernels: Sequence[Mapping[str, Any]], order: str, *, is_reversed: bool = False, part: str = ""
) -> list[Mapping[str, Any]]:
    """Kernels in an order, those with most first, names from A on.

    Args:
        kernels: of a reading.
        order: one of ``ORDERS``.
        is_reversed: the other way round.
        part: only those with this in their names, be it in capitals or not.
    """
    found = [row for row in kernels if part.lower() in (row["demangled"] or "").lower()]
    if order == "name":
        found.sort(key=lambda row: (row["name"] or "", row["demangled"] or ""))
    else:
        # By time where they are alike, as where nothing is now.
        found.sort(key=lambda row: (-(row[order] or 0), -row["total_ns"], row["demangled"] or ""))
    return found[::-1] if is_reversed else found


def first_order(reading: Reading) -> str:
    """What kernels of a reading are sorted by, where nobody has chosen."""
    return "total_ns" if reading.now_ns is None else "now_total_ns"


def kernel_lines(
    kernels: Sequence[Mapping[str, Any]], width: int, limit: int | None = None
) -> list[str]:
    """Kernels as a table."""
    if not kernels:
        return ["No kernels have ended."]
    lines = lines_within(_rows(kernels, _KERNELS), View(limit=limit), width)
    if limit is not None and len(kernels) > limit:
        lines.append(f"{len(kernels) - limit:,} more kernels")
    return lines


def gpu_lines(reading: Reading, width: int) -> list[str]:
    """GPUs as a table; what is said of none is left out."""
    if not reading.gpus:
        return []
    units = {
        name: metric["unit"] or "1"
        for gpu in reading.gpus
        for name, metric in gpu["metrics"].items()
    }
    # Their names end with the unit, as those of columns do.
    metrics = {name: unit if unit in _UNITS else "1" for name, unit in units.items()}
    columns = (
        Column("gpu", "1"),
        Column("now_busy_pct", "%"),
        Column("busy_pct", "%"),
        Column("memory_bytes", "bytes"),
        Column("kernels_per_s", "kernels/s"),
        Column("kernels", "kernels"),
        *(Column(name, unit) for name, unit in metrics.items()),
        Column("device_name", "1"),
    )
    form = Shape(columns, None, tuple(each.name for each in columns), is_known=True)
    rows = [
        {**gpu, "kernels_per_s": _whole(gpu["kernels_per_s"])}
        | {name: gpu["metrics"].get(name, {}).get("value") for name in metrics}
        for gpu in reading.gpus
    ]
    return lines_within(_rows(rows, form), View(limit=None), width)


def _rows(rows: Sequence[Mapping[str, Any]], form: Shape) -> InMemory:
    import pyarrow as pa

    names = [each.name for each in form.columns]
    numeric = {name: any(isinstance(row[name], (int, float)) for row in rows) for name in names}
    # A name can hold halves of characters, which no table of Arrow can.
    columns = {
        name: [
            row[name] if numeric[name] or row[name] is None else printable(row[name])
            for row in rows
        ]
        for name in names
    }
    types = {
        name: pa.float64() if any(isinstance(v, float) for v in values) else None
        for name, values in columns.items()
    }
    return InMemory(
        pa.table({name: pa.array(values, types[name]) for name, values in columns.items()}), form
    )


def state_line(reading: Reading, trace: Path) -> str:
    """What is read, and how it stands with it."""
    if reading.state == WAITING:
        return f"{printable(str(trace))}: waiting for the first rows"
    length = NOTHING if reading.age_ns is None else duration(reading.age_ns)
    word = (
        f"finished after {length}" if reading.state == FINISHED else f"recording, {length} so far"
    )
    now = "" if reading.now_ns is None else f'; "now" is the last {duration(reading.now_ns)}'
    return f"{printable(str(trace))}: {word}{now}"


def sum_lines(reading: Reading, width: int, room: int | None = None) -> list[str]:
    """Launches, copies and steps, a line each; broken where they are too long.

    Args:
        reading: of which they are.
        width: of the lines.
        room: for so many lines, steps are left out, but for one; None for all.
    """
    lines = []
    calls = reading.calls
    if calls.get("calls"):
        words = [f"{number(calls['launches'])} launches"]
        if calls["launches_per_s"] is not None:
            words.insert(0, f"{number(_whole(calls['launches_per_s']) or 0)} launches/s now")
        words.append(f"{number(calls['calls'])} calls took {duration(calls['total_ns'])}")
        if calls["now_ns"] is not None:
            words.append(f"{duration(calls['now_ns'])} of that now")
        if calls["errors"]:
            words.append(f"{number(calls['errors'])} failed")
        lines += _wrapped("API", words, width)
    words = []
    for row in reading.copies:
        rate = row["bytes_per_s"]
        now = "" if rate is None else f"{size(rate)}/s now, "
        words.append(f"{row['direction']} {now}{size(row['bytes'])} in {number(row['copies'])}")
    if words:
        lines += _wrapped("Copies", words, width)
    return lines + _step_lines(reading, width, None if room is None else room - len(lines))


def _step_lines(reading: Reading, width: int, room: int | None) -> list[str]:
    """Steps; where there is no room for all, those that take longest."""
    labels = processes(list(reading.processes))
    is_one = len({row["process_id"] for row in reading.steps}) <= 1
    found = []
    for row in reading.steps:
        words = [
            *([f"now {duration(row['current_ns'])}"] if row["current_ns"] is not None else []),
            f"last {duration(row['last_ns'])}",
            f"median {duration(row['median_ns'])} of {number(row['steps'])}",
            *([] if is_one else [labels.get(row["process_id"], NOTHING)]),
            f"GPU {row['gpu']}",
            f"{_STEP[row['source']]} {one_line(row['name'] or NOTHING)}",
        ]
        found.append((max(row["current_ns"] or 0, row["last_ns"]), _wrapped("Step", words, width)))
    if room is None or sum(len(each) for _, each in found) <= room:
        return [line for _, each in found for line in each]
    found.sort(key=lambda each: -each[0])
    lines = found[0][1][:] if found else []
    shown = 1
    while shown < len(found) and len(lines) + len(found[shown][1]) < room:
        lines += found[shown][1]
        shown += 1
    if len(found) > shown:
        lines.append(cut(f"       {len(found) - shown:,} more, of shorter steps", width))
    return lines


def loss_lines(reading: Reading, width: int) -> list[str]:
    """What was lost; nothing where nothing was."""
    return [line for row in reading.losses for line in broken(_loss(row), width)]


def broken(text: str, width: int, indent: int = 2) -> list[str]:
    """A sentence in as many lines as it needs, all but the first indented."""
    after = " " * indent
    return textwrap.wrap(text, max(width, 20), subsequent_indent=after, break_on_hyphens=False)


def _loss(row: Mapping[str, Any]) -> str:
    unknown = "an unknown number of records"
    lost = unknown if row["lost"] is None else counted(row["lost"], "record")
    words = (row["cause"], row["detail"])
    return ": ".join((f"LOST {lost}", *(printable(word) for word in words if word)))


def as_text(reading: Reading, trace: Path, width: int, order: str, limit: int | None) -> str:
    """A reading as a page of text."""
    kernels = ordered(reading.kernels, order)
    blocks = (
        [cut(state_line(reading, trace), width), *loss_lines(reading, width)],
        gpu_lines(reading, width),
        sum_lines(reading, width),
        [] if reading.state == WAITING else kernel_lines(kernels, width, limit),
    )
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _whole(rate: float | None) -> float | None:
    """A rate without what is behind the point, where that says nothing."""
    return float(round(rate)) if rate is not None and rate >= 10 else rate


def _wrapped(head: str, words: Sequence[str], width: int) -> list[str]:
    """Words after a head, as many on a line as there is room for."""
    lines = []
    line = f"{head:<6} "
    for word in words:
        room = width - display_width(line)
        if line.strip() and not line.endswith(" ") and len(_GAP) + display_width(word) > room:
            lines.append(line)
            line = " " * 7
        line += (_GAP if not line.endswith(" ") else "") + word
    return [cut(each, width) for each in (*lines, line)]
