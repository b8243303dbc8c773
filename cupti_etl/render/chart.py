"""The chart that a query's header names, drawn by Altair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cupti_etl.errors import UsageError, need
from cupti_etl.render.labels import cut_apart
from cupti_etl.render.rows import Rows
from cupti_etl.render.table import View, table, whose
from cupti_etl.render.values import TIME_UNITS

if TYPE_CHECKING:
    import altair

# More bars than a person compares; more points than a notebook draws well.
_BARS, _POINTS = 20, 5000
_LONGEST = 60
# For names of that length, in pixels: Vega would cut them once more, and then some look alike.
_ROOM = 400


def chart(rows: Rows) -> altair.Chart:
    """The rows as bars or lines.

    Raises:
        UsageError: no chart suits them, or Altair is not installed.
    """
    wanted = rows.shape.chart
    if wanted is None:
        raise UsageError(
            "no chart is known for these rows", "plot a query such as kernel_summary, or use .df()"
        )
    if wanted.kind == "flame":
        raise UsageError(
            "a flame graph is not drawn here",
            "cupti-etl report draws it; cupti-etl export TRACE --to speedscope FILE, too",
        )
    need("altair", todo="pip install 'cupti-etl[plot]'; or use .df()")
    import altair

    bars = wanted.kind == "bars"
    limit = _BARS if bars else _POINTS
    shown = table(rows, View(wide=True, limit=limit))
    names = {column.name: column.cells for column in shown.columns}
    units = {column.name: column.unit for column in rows.shape.columns}
    values = [_row[wanted.y] for _row in _first(rows, limit)]
    unit, factor = _scale(units[wanted.y], values)
    title = wanted.y.removesuffix("_ns") + (f" [{unit}]" if unit else "")
    owners = whose(shown)
    x: list[Any] = (
        cut_apart(
            [": ".join(filter(None, pair)) for pair in zip(owners, names[wanted.x], strict=True)],
            _LONGEST,
        )
        if bars
        else [row[wanted.x] for row in _first(rows, limit)]
    )
    parts = names[wanted.by] if wanted.by else owners
    data = altair.Data(
        values=[
            {"x": at, "y": None if value is None else float(value) / factor, "of": of}
            for at, value, of in zip(x, values, parts, strict=True)
        ]
    )
    base = altair.Chart(data)
    of = altair.Color("of:N", title=wanted.by or None)
    if bars:
        axis = altair.Axis(labelLimit=_ROOM, maxExtent=_ROOM)
        drawn = base.mark_bar().encode(
            x=altair.X("y:Q", title=title),
            y=altair.Y("x:N", title=wanted.x, sort=None, axis=axis),
        )
        return drawn.encode(color=of) if wanted.by else drawn
    lines = base.mark_line(point=True).encode(
        x=altair.X("x:Q", title=wanted.x), y=altair.Y("y:Q", title=title)
    )
    return lines.encode(color=of) if any(owners) else lines


def _first(rows: Rows, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for batch in rows.reader():
        found += batch.slice(0, limit - len(found)).to_pylist()
        if len(found) >= limit:
            break
    return found


def _scale(unit: str, values: list[Any]) -> tuple[str, int]:
    """The unit of the axis, and how many of the column's make one of it."""
    if unit != "ns":
        return "" if unit == "1" else unit, 1
    most = max((abs(float(value)) for value in values if value is not None), default=0)
    fitting = [name for name, factor in TIME_UNITS.items() if most >= factor] or ["ns"]
    return fitting[-1], TIME_UNITS[fitting[-1]]
