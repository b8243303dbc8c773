"""Charts as SVG, drawn by what the header of a query says of its chart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from cupti_etl.queries.query import Query
from cupti_etl.render.escape import html_text
from cupti_etl.render.flame import flame_graph
from cupti_etl.render.table import Table, whose
from cupti_etl.render.values import IN_CELLS

_WIDE, _NAME, _BAR = 900, 330, 460
_COLOUR = "#2a7f62"
# Of lines of several GPUs; more of them have these again.
_COLOURS = (_COLOUR, "#d1495b", "#edae49", "#3d6fb6", "#8e5ba6", "#7a7a7a")
# Of parts of bars, those with most in all; the others have the last.
_PARTS = ("#3d6fb6", "#edae49", "#d1495b", "#2a7f62", "#8e5ba6", "#5fb4c9", "#c47a3d", "#b0b0b0")
_MOST_BARS = 15
# A longer name is cut in the middle: where names are alike they differ at their ends.
_LETTERS = 40


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
    unit = next(each.unit for each in shown.columns if each.name == query.chart.y)
    values = [row[query.chart.y] for row in rows]
    if query.chart.by:
        parts = columns[query.chart.by]
        label = f"{query.chart.y} by {query.chart.x} and {query.chart.by}"
        return _parted(list(zip(names, parts, texts, values, strict=True)), label)
    series: dict[str, list[tuple[str, str, float]]] = {}
    for name, text, value, of in zip(names, texts, values, whose(shown), strict=True):
        if value is not None:
            series.setdefault(of, []).append((name, text, float(value)))
    points = [point for each in series.values() for point in each]
    if len(points) < 2 or max(value for _, _, value in points) <= 0:
        return ""
    label = f"{query.chart.y} by {query.chart.x}"
    if query.chart.kind != "bars":
        return _lines(series, label)
    said = "" if unit in (*IN_CELLS, "1", "id") else f" {unit}"
    named = [
        (": ".join(filter(None, (of, name))), f"{text}{said}", value)
        for of, each in series.items()
        for name, text, value in each
    ]
    return _bars(named, label)


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


def _parted(rows: Sequence[tuple[str, str, str, float | None]], label: str) -> str:
    """Bars of parts; of each row its bar, its part, its value in words and as a number."""
    bars: dict[str, list[tuple[str, str, float]]] = {}
    sums: defaultdict[str, float] = defaultdict(float)
    for name, part, text, value in rows:
        if value and value > 0:
            bars.setdefault(name, []).append((part, text, value))
            sums[part] += value
    if not bars:
        return ""
    bars = dict(list(bars.items())[:_MOST_BARS])
    told = sorted(sums, key=lambda part: -sums[part])[: len(_PARTS) - 1]
    colours = dict(zip(told, _PARTS, strict=False))
    longest = max(sum(value for *_, value in parts) for parts in bars.values())
    shapes = []
    for at, (name, parts) in enumerate(bars.items()):
        shapes.append(_text(0, at * 20 + 14, _within(name)))
        x = float(_NAME)
        # In one order, so that bars can be compared.
        for part, text, value in sorted(parts, key=lambda it: (_place(told, it[0]), -it[2])):
            width = value / longest * _BAR
            shapes.append(
                f'<rect x="{x:.1f}" y="{at * 20 + 2}" width="{width:.1f}" height="15"'
                f' fill="{colours.get(part, _PARTS[-1])}">'
                f"<title>{html_text(f'{name}: {part} {text}')}</title></rect>"
            )
            x += width
    legend = [*told, "others"] if len(sums) > len(told) else told
    bottom = len(bars) * 20 + 10
    for number, part in enumerate(legend):
        left, top = number % 4 * 220, bottom + number // 4 * 18
        colour = colours.get(part, _PARTS[-1])
        shapes.append(f'<rect x="{left}" y="{top}" width="11" height="11" fill="{colour}"/>')
        shapes.append(_text(left + 16, top + 10, part))
    return _svg(bottom + (len(legend) + 3) // 4 * 18, shapes, label)


def _place(told: Sequence[str], part: str) -> int:
    return told.index(part) if part in told else len(told)


def _lines(series: Mapping[str, Sequence[tuple[str, str, float]]], label: str) -> str:
    largest = max((point for points in series.values() for point in points), key=lambda it: it[2])
    first, last = (next(iter(series.values()))[at][0] for at in (0, -1))
    shapes = [
        _text(0, 24, largest[1]),
        _text(0, 134, "0"),
        f'<line x1="70" y1="130" x2="{_WIDE}" y2="130" stroke="#8888"/>',
        _text(70, 146, first),
        _text(_WIDE - 60, 146, last),
    ]
    for number, (of, points) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        step = (_WIDE - 80) / max(len(points) - 1, 1)
        line = " ".join(
            f"{70 + at * step:.1f},{130 - max(value, 0) / largest[2] * 110:.1f}"
            for at, (_, _, value) in enumerate(points)
        )
        shapes.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{line}">'
            f"<title>{html_text(of)}</title></polyline>"
        )
        if of:
            x = 150 + number * 90
            shapes.append(f'<rect x="{x}" y="138" width="9" height="9" fill="{colour}"/>')
            shapes.append(_text(x + 13, 146, of))
    return _svg(150, shapes, label)


def _svg(height: float, shapes: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDE} {height:.0f}" role="img" aria-label="{html_text(label)}">'
        f"{''.join(shapes)}</svg>"
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{html_text(text)}</text>'


def _within(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 20]}…{text[-19:]}"
