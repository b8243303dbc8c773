"""The report as one HTML file that asks for nothing: tables that sort, a timeline that zooms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from cupti_etl.analysis.report import Report, Section, Timeline
from cupti_etl.render.columns import in_words
from cupti_etl.render.escape import html_text
from cupti_etl.render.svg import chart
from cupti_etl.render.table import Shown, subject_first
from cupti_etl.render.values import duration

_HERE = Path(__file__).parent
# Nothing that a page holds may make it ask somebody else.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
# What a GPU was busy with; page.css gives each its colour.
_PARTS = (
    ("compute_ns", "compute"),
    ("exposed_communication_ns", "communication that nothing hid"),
    ("exposed_copy_ns", "copies that nothing hid"),
)
# A table of fewer rows needs no filter.
_FILTERED = 8


def html(report: Report) -> str:
    """The report as a page of its own."""
    name = html_text(report.name)
    style, script = ((_HERE / file).read_text(encoding="utf-8") for file in ("page.css", "page.js"))
    lines = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}</title><style>{style}</style></head><body>",
        f"<h1>{name}</h1>",
    ]
    if report.part:
        lines.append(f"<p>Part of the trace: {html_text(report.part)}.</p>")
    lines.append(f"<p>Capture: {html_text(report.state)}.</p>")
    lines += [f'<p class="warning">{html_text(each)}</p>' for each in report.warnings]
    lines += _findings(report)
    if report.timeline:
        lines += _timeline(report.timeline)
    lines += ["<nav><h2>Contents</h2><ul>"]
    lines += [
        f'<li><a href="#{_anchor(at)}">{html_text(each.title)}</a></li>'
        for at, each in enumerate(report.shown)
    ]
    lines.append("</ul></nav>")
    for at, section in enumerate(report.shown):
        lines += _section(section, _anchor(at))
    if report.empty:
        lines.append("<section><h2>Without rows</h2><ul>")
        lines += [
            f"<li>{html_text(', '.join(titles))}: {html_text(why)}</li>"
            for why, titles in report.empty.items()
        ]
        lines.append("</ul></section>")
    return "\n".join([*lines, f"<script>{script}</script></body></html>"]) + "\n"


def _anchor(at: int) -> str:
    return f"section-{at}"


def _findings(report: Report) -> Iterator[str]:
    yield "<h2>Findings</h2>"
    yield f"<p>{html_text(report.says)}</p>"
    if not report.findings:
        return
    shown = {each.query.name: _anchor(at) for at, each in enumerate(report.shown) if each.table}
    yield '<ol class="findings">'
    for each in report.findings:
        text = html_text(each.text)
        if each.query in shown:
            text = f'<a href="#{shown[each.query]}">{text}</a>'
        yield (
            f"<li><b>{html_text(duration(each.saved_ns))}</b>, {each.percent:.0f} %"
            f" ({each.sure}): {text}. To do: {html_text(each.advice)}."
            f" <code>{html_text(each.command)}</code></li>"
        )
    yield "</ol>"


def _section(section: Section, anchor: str) -> Iterator[str]:
    yield f'<section id="{anchor}"><h2>{html_text(section.title)}</h2>'
    yield f"<p><code>{html_text(section.command)}</code></p>"
    if section.table is None:
        yield f"<p>No rows: {html_text(section.reason)}</p></section>"
        return
    if section.labels is not None:
        drawn = chart(section.query, section.labels, section.drawn)
        yield drawn and f'<div class="scroll">{drawn}</div>'
    if len(section.rows) > _FILTERED:
        yield '<input type="search" placeholder="filter" aria-label="filter the rows">'
    columns = subject_first(section.table.columns)
    head = "".join(
        f'<th class="{_class(each)}">{html_text(in_words(each.heading))}</th>' for each in columns
    )
    yield f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>'
    for at, row in enumerate(section.rows):
        yield (
            "<tr>"
            + "".join(
                f'<td class="{_class(each)}"{_value(row, each.name)}>'
                f"{html_text(each.cells[at])}</td>"
                for each in columns
            )
            + "</tr>"
        )
    more = f"<p>The first {len(section.rows)}; the command shows all.</p>"
    yield f"</tbody></table></div>{more if section.table.more else ''}</section>"


def _class(column: Shown) -> str:
    return "n" if column.is_number else "l" if column.is_label else "t"


def _value(row: Mapping[str, Any], name: str) -> str:
    """What a cell is sorted by, where that is a number."""
    value = row.get(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f' data-v="{value}"' if is_number else ""


def _timeline(timeline: Timeline) -> Iterator[str]:
    data = _data(timeline)
    legend = "".join(
        f'<span><i class="part-{at}"></i>{html_text(text)}</span>'
        for at, (_, text) in enumerate(_PARTS)
    )
    # No text in it can end the script.
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    yield (
        "<section><h2>When the GPUs were busy</h2>"
        f'<p class="legend">{legend}<span>empty: idle; below: steps</span></p>'
        '<p><button id="zoom-in">zoom in</button> <button id="zoom-out">zoom out</button>'
        ' <button id="zoom-all">all</button> <small id="timeline-said"></small></p>'
        '<canvas role="img" aria-label="how busy each GPU was over time"></canvas>'
        '<p class="drag"><small>Drag to move; double-click, or turn the wheel with Shift or Ctrl,'
        " to zoom.</small></p>"
        f'<script type="application/json" id="timeline-data">{embedded}</script></section>'
    )


def _data(timeline: Timeline) -> dict[str, Any]:
    """What the page's script draws: shares of a thousand for each column, times from the begin."""
    begin = min(row["start_ns"] for level in timeline.levels for row in level)
    levels = []
    span = 0
    gpus = sorted({row["gpu"] for row in timeline.levels[0]})
    for rows in timeline.levels:
        by_gpu = {gpu: list(group) for gpu, group in groupby(rows, key=lambda row: row["gpu"])}
        # Not all of a bucket's time need be recorded.
        longest = max(
            (b["start_ns"] - a["start_ns"] for lane in by_gpu.values() for a, b in pairwise(lane)),
            default=max(map(_length, rows)),
        )
        lanes = [_lane(by_gpu.get(gpu, []), begin, longest) for gpu in gpus]
        levels.append({"bucket": longest, "gpus": lanes})
        span = max(span, *(row["start_ns"] - begin + _length(row) for row in rows))
    steps = [
        [
            [row["start_ns"] - begin, row["end_ns"] - begin, f"{row['step']} {row['name'] or ''}"]
            for row in timeline.steps
            if row["gpu"] == gpu
        ]
        for gpu in gpus
    ]
    return {"span": span, "gpus": gpus, "levels": levels, "steps": steps}


def _length(row: Mapping[str, Any]) -> int:
    return int(sum(row[name] or 0 for name, _ in _PARTS) + (row["idle_ns"] or 0)) or 1


def _lane(rows: Sequence[Mapping[str, Any]], begin: int, bucket: int) -> dict[str, Any]:
    """The columns of a GPU; where the trace has none of a time there is nothing."""
    start = rows[0]["start_ns"] - begin if rows else 0
    count = 1 + (rows[-1]["start_ns"] - begin - start) // bucket if rows else 0
    parts = [[0] * count for _ in _PARTS]
    for row in rows:
        at = (row["start_ns"] - begin - start) // bucket
        for which, (name, _) in enumerate(_PARTS):
            parts[which][at] = round(1000 * (row[name] or 0) / bucket)
    return {"start": start, "parts": parts}
