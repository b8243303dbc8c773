"""The report as one HTML file: no script, nothing fetched, plots as SVG in the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from cupti_etl.analysis.findings import NONE
from cupti_etl.analysis.report import Report, Row, Section, cells, failures, with_unit
from cupti_etl.render.escape import html_text
from cupti_etl.render.values import duration

_PARTS = (
    ("compute", "compute", "#2a7f62"),
    ("exposed_communication", "exposed communication", "#d1495b"),
    ("exposed_copy", "exposed copy", "#edae49"),
    ("idle", "idle", "#c9cfd6"),
)
_WIDE = 900
# More points than pixels show nothing more.
_POINTS = 1800
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
td, th { padding: .2rem .7rem; border-bottom: 1px solid #8884; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td { max-width: 34rem; overflow-wrap: anywhere; }
code { font-size: 12px; opacity: .8; } svg { width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
.warning { border-left: 4px solid #d1495b; padding-left: .8rem; }
ol b { display: inline-block; min-width: 5.5rem; }
"""


def html(report: Report) -> str:
    """The report as a page of its own."""
    name = html_text(report.name)
    lines = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{name}</h1>",
    ]
    if report.part:
        lines.append(f"<p>About {html_text(report.part)}.</p>")
    lines.append(f"<p>Capture: {html_text(report.verdict)}.</p>")
    if report.losses:
        lines.append(
            f'<p class="warning">The capture has losses ({html_text(report.losses)}):'
            " numbers may be too small.</p>"
        )
    lines.append("<h2>Findings</h2>")
    if report.findings:
        lines += ["<p>What each could save at most; they can be of the same time.</p><ol>"]
        lines += [
            f"<li><b>{html_text(duration(each.saved_ns))}</b>, {each.percent:.0f} % ({each.sure}):"
            f" {html_text(each.text)}. To do: {html_text(each.advice)}."
            f" <code>{html_text(each.command)}</code></li>"
            for each in report.findings
        ]
        lines.append("</ol>")
    else:
        lines.append(f"<p>{NONE}</p>")
    if report.failed:
        lines.append(f'<p class="warning">{html_text(failures(report))}</p>')
    for section in report.sections:
        lines += _section(section, report.options)
    return "\n".join([*lines, "</body></html>"]) + "\n"


def _section(section: Section, options: str) -> Iterator[str]:
    yield f"<h2>{html_text(section.title)}</h2>"
    yield f"<p><code>cupti-etl query {html_text(section.query + ' TRACE' + options)}</code></p>"
    if not section.rows:
        yield f"<p>No rows: {html_text(section.reason)}</p>"
        return
    if section.plot:
        yield _PLOTS[section.plot](section.drawn)
    yield f"<table><tr>{''.join(f'<th>{html_text(name)}</th>' for name in section.rows[0])}</tr>"
    for row in section.rows:
        filled = zip(cells(row), row.values(), strict=True)
        yield (
            "<tr>"
            + "".join(f"<td{_align(value)}>{html_text(text)}</td>" for text, value in filled)
            + "</tr>"
        )
    yield "</table>"


def _align(value: object) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return ' class="n"' if is_number else ""


def _svg(height: float, shapes: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDE} {height:.0f}" role="img" aria-label="{html_text(label)}">'
        f"{''.join(shapes)}</svg>"
    )


def _rect(x: float, y: float, width: float, height: float, color: str, title: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"'
        f' fill="{color}"><title>{html_text(title)}</title></rect>'
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{html_text(text)}</text>'


def _within(text: str, most: int) -> str:
    """A name that fits; where names are alike they differ at their ends."""
    return text if len(text) <= most else f"{text[: most - 18]}...{text[-15:]}"


def _legend(y: float) -> list[str]:
    shapes = []
    for at, (_, label, color) in enumerate(_PARTS):
        shapes += [_rect(at * 190, y, 12, 12, color, label), _text(at * 190 + 18, y + 11, label)]
    return shapes


def _parts(rows: Sequence[Row]) -> str:
    shapes = []
    for at, row in enumerate(rows):
        shapes.append(_text(0, at * 30 + 18, f"GPU {row['gpu']}"))
        x = 70.0
        for key, label, color in _PARTS:
            percent = row[f"{key}_pct"] or 0.0
            width = percent / 100 * (_WIDE - 70)
            shapes.append(_rect(x, at * 30 + 2, width, 22, color, f"{label}: {percent:.2f} %"))
            x += width
    return _svg(len(rows) * 30 + 24, [*shapes, *_legend(len(rows) * 30 + 8)], "shares of the time")


def _bars(rows: Sequence[Row]) -> str:
    key = "total_ns"
    rows = [row for row in rows if row[key] is not None]
    if not rows:
        return ""
    label = next(name for name in ("name", "category", "cause") if name in rows[0])
    longest = max(row[key] for row in rows) or 1
    shapes = []
    for at, row in enumerate(rows):
        title = f"{row[label]}: {duration(row[key])}"
        shapes.append(_rect(330, at * 20 + 2, row[key] / longest * 460, 15, "#2a7f62", title))
        shapes.append(_text(0, at * 20 + 14, _within(str(row[label]), 46)))
        shapes.append(_text(335 + row[key] / longest * 460, at * 20 + 14, duration(row[key])))
    return _svg(len(rows) * 20 + 4, shapes, f"time by {label}")


def _timeline(rows: Sequence[Row]) -> str:
    shapes: list[str] = []
    y = 0
    for gpu, group in groupby(rows, key=lambda row: row["gpu"]):
        buckets = list(group)
        shapes.append(_text(0, y + 40, f"GPU {gpu}"))
        width = (_WIDE - 70) / len(buckets)
        for at, row in enumerate(buckets):
            whole = sum(row[f"{key}_ns"] or 0 for key, _, _ in _PARTS) or 1
            base = float(y + 72)
            for key, label, color in _PARTS[:3]:
                height = (row[f"{key}_ns"] or 0) / whole * 70
                if height > 0:
                    base -= height
                    title = f"{label}: {100 * row[f'{key}_ns'] / whole:.1f} %"
                    shapes.append(_rect(70 + at * width, base, width, height, color, title))
        shapes.append(_rect(70, y + 72, _WIDE - 70, 1, "#8888", "idle above"))
        y += 84
    return _svg(y + 24, [*shapes, *_legend(y + 6)], "utilization over time")


def _memory(rows: Sequence[Row]) -> str:
    rows = [row for row in rows if None not in (row["timestamp_ns"], row["in_use_bytes"])]
    if not rows:
        return ""
    first, last = rows[0]["timestamp_ns"], rows[-1]["timestamp_ns"]
    most = max(row["in_use_bytes"] for row in rows) or 1
    series: dict[tuple[object, object, object], list[str]] = {}
    for row in rows[:: max(1, len(rows) // _POINTS)]:
        x = (row["timestamp_ns"] - first) / max(last - first, 1) * (_WIDE - 1)
        y = 150 - row["in_use_bytes"] / most * 130
        key = (row["process_id"], row["device_id"], row["memory_kind"])
        series.setdefault(key, []).append(f"{x:.1f},{y:.1f}")
    shapes = [_text(0, 12, f"up to {with_unit('bytes', most)}")]
    colors = ("#2a7f62", "#d1495b", "#edae49", "#3b6ea5")
    for at, ((process, device, kind), points) in enumerate(series.items()):
        shapes.append(
            f'<polyline fill="none" stroke="{colors[at % len(colors)]}" stroke-width="1.5"'
            f' points="{" ".join(points)}"><title>'
            f"{html_text(f'process {process}, device {device}, {kind}')}</title></polyline>"
        )
    return _svg(160, shapes, "memory in use over time")


_PLOTS: dict[str, Callable[[Sequence[Row]], str]] = {
    "parts": _parts,
    "bars": _bars,
    "timeline": _timeline,
    "memory": _memory,
}
