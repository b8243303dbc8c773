"""Charts as SVG, drawn by what the header of a query says of its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cupti_etl.queries.header import Query
from cupti_etl.render.escape import html_text
from cupti_etl.render.flame import flame_graph
from cupti_etl.render.table import Table

_WIDE, _NAME, _BAR = 900, 330, 460
_COLOUR = "#2a7f62"
# A longer name is cut in the middle: where names are alike they differ at their ends.
_LETTERS = 46


def chart(query: Query, shown: Table, rows: Sequence[Mapping[str, Any]]) -> str:
    """The chart of a query's answer; "" if its header has none, or its columns are not shown.

    Args:
        query: what was asked.
        shown: the answer as it is shown, whose labels the chart takes.
        rows: the same rows, as they are.
    """
    columns = {column.name: column.cells for column in shown.columns}
    if query.chart is None:
        return ""
    if query.chart.kind == "flame":
        paths = [(str(row[query.chart.x]), int(row[query.chart.y] or 0)) for row in rows]
        return flame_graph(paths, f"{query.chart.y} by {query.chart.x}")
    if query.chart.x not in columns or query.chart.y not in columns:
        return ""
    names, texts = columns[query.chart.x], columns[query.chart.y]
    values = [row[query.chart.y] for row in rows]
    points = [
        (name, text, float(value))
        for name, text, value in zip(names, texts, values, strict=True)
        if value is not None
    ]
    if len(points) < 2 or max(value for _, _, value in points) <= 0:
        return ""
    draw = _bars if query.chart.kind == "bars" else _lines
    return draw(points, f"{query.chart.y} by {query.chart.x}")


def _bars(points: Sequence[tuple[str, str, float]], label: str) -> str:
    longest = max(value for _, _, value in points)
    shapes = []
    for at, (name, text, value) in enumerate(points):
        width = max(value, 0) / longest * _BAR
        y = at * 20
        shapes.append(
            f'<rect x="{_NAME}" y="{y + 2}" width="{width:.1f}" height="15" fill="{_COLOUR}">'
            f"<title>{html_text(f'{name}: {text}')}</title></rect>"
            f"{_text(0, y + 14, _within(name))}{_text(_NAME + 5 + width, y + 14, text)}"
        )
    return _svg(len(points) * 20 + 4, shapes, label)


def _lines(points: Sequence[tuple[str, str, float]], label: str) -> str:
    most = max(value for _, _, value in points)
    step = (_WIDE - 80) / max(len(points) - 1, 1)
    line = " ".join(
        f"{70 + at * step:.1f},{130 - max(value, 0) / most * 110:.1f}"
        for at, (_, _, value) in enumerate(points)
    )
    largest = max(points, key=lambda point: point[2])
    shapes = [
        _text(0, 24, largest[1]),
        _text(0, 134, "0"),
        f'<line x1="70" y1="130" x2="{_WIDE}" y2="130" stroke="#8888"/>',
        f'<polyline fill="none" stroke="{_COLOUR}" stroke-width="1.5" points="{line}"/>',
        _text(70, 146, points[0][0]),
        _text(_WIDE - 60, 146, points[-1][0]),
    ]
    return _svg(150, shapes, label)


def _svg(height: float, shapes: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDE} {height:.0f}" role="img" aria-label="{html_text(label)}">'
        f"{''.join(shapes)}</svg>"
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{html_text(text)}</text>'


def _within(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 18]}…{text[-17:]}"
