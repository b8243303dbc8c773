"""Answers and traces as HTML, for notebooks and files: nothing is fetched, nothing runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import begin_ns
from cupti_etl.render.escape import html_text
from cupti_etl.render.labels import cut, processes
from cupti_etl.render.rows import Ask, Rows
from cupti_etl.render.table import Shown, Table, View, subject_first, table
from cupti_etl.render.text import IN_PYTHON, IN_SHELL, notes, plain_lines, without_rows
from cupti_etl.render.values import duration, number

_NUMBER = ' style="text-align: right; white-space: nowrap"'
_TEXT = ' style="text-align: left"'
_SHORT = ' style="text-align: left; white-space: nowrap"'
_LONG = ' style="text-align: left; min-width: {}rem; overflow-wrap: anywhere"'
_LABEL = _LONG.format(11)
# Texts of so many characters stay on one line; longer ones take a few.
_SHORT_MOST = 24
_PER_REM = 8
_LONG_MOST = 20
# A mangled name can have thousands, and in a notebook nobody reads them.
_IN_NOTEBOOK = 240
# More processes or tables than a person reads.
_MOST = 12


# Nothing that a page holds may make it ask somebody else.
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; padding: 0 1rem; }}
body {{ max-width: 76rem; }}
h1 {{ overflow-wrap: anywhere; }}
section {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 13px; }}
td, th {{ padding: .2rem .7rem .2rem 0; border-bottom: 1px solid #8884; vertical-align: baseline; }}
@media print {{ td, th {{ font-size: 9px; padding-right: .3rem; }} }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def page_html(
    title: str, said: Sequence[str], parts: Iterable[tuple[str, Rows]], view: View
) -> str:
    """A page of tables.

    Args:
        title: above all.
        said: lines below it.
        parts: headings and what is below each.
        view: how much of the tables.
    """
    lines = [f"<p>{html_text(line)}</p>" for line in said]
    for heading, rows in parts:
        lines += [f"<section><h2>{html_text(heading)}</h2>", table_html(rows, view), "</section>"]
    return _PAGE.format(title=html_text(title), body="\n".join(lines))


def table_page(rows: Rows, view: View) -> str:
    """A page of one table."""
    # What a narrow window has no room for is scrolled to.
    body = f"<section>{table_html(rows, view)}</section>"
    return _PAGE.format(title="cupti-etl", body=body)


def table_html(rows: Rows, view: View) -> str:
    """A table, and below it what is left out, and how to see it."""
    shown = table(rows, view)
    return _html(shown, notes(shown, shown.hidden, IN_SHELL))


def notebook_html(rows: Rows, view: View) -> str:
    """The same for a notebook."""
    shown = table(rows, view)
    return _html(shown, _python_notes(rows, shown), most=_IN_NOTEBOOK)


def _python_notes(rows: Rows, shown: Table) -> list[str]:
    return [*without_rows(rows, shown), *notes(shown, shown.hidden, IN_PYTHON)]


def display(rows: Rows, view: View, *, quietly: bool) -> None:
    """Show a table in the notebook in which this runs, and unless quietly, what is left out."""
    from IPython.display import display as shown_below

    shown = table(rows, view)
    told = [] if quietly else _python_notes(rows, shown)
    html = _html(shown, told, most=_IN_NOTEBOOK)
    text = "\n".join((*plain_lines(shown), *told))
    shown_below({"text/html": html, "text/plain": text}, raw=True)


def _html(shown: Table, told: Sequence[str], most: int | None = None) -> str:
    columns = subject_first(shown.columns)
    styles = [_style(each) for each in columns]
    cells = [each.cells if most is None else [cut(c, most) for c in each.cells] for each in columns]
    lines = [
        _row("th", [each.heading for each in columns], styles),
        *(_row("td", row, styles) for row in zip(*cells, strict=True)),
    ]
    said = "<br>".join(map(html_text, told))
    return f"<table>{''.join(lines)}</table>{f'<p><small>{said}</small></p>' if said else ''}"


def _style(column: Shown) -> str:
    if column.is_number:
        return _NUMBER
    if column.is_label:
        return _LABEL
    longest = max(map(len, column.cells), default=0)
    return _SHORT if longest <= _SHORT_MOST else _LONG.format(min(longest // _PER_REM, _LONG_MOST))


def trace_html(names: Sequence[str], part: str, ask: Ask) -> str:
    """What is in a trace, and what it can be asked.

    Args:
        names: of its folders and files.
        part: which part of it this is, in words; "" for all of it.
        ask: runs a statement on it.
    """
    name = ", ".join(names)
    facts = "".join(
        f"<tr><th{_TEXT}>{html_text(what)}</th><td{_TEXT}>{html_text(is_)}</td></tr>"
        for what, is_ in _facts(ask)
    )
    questions = "".join(
        f"<li><code>trace.queries.{html_text(query.name)}()</code> {html_text(query.front)}</li>"
        for query in library()
        if query.front and not any(field.default is None for field in query.parameters)
    )
    return (
        f"<p><b>{html_text(name)}</b>{html_text(part and f', part: {part}')}</p>"
        f"<table>{facts}</table>"
        f"<details><summary>What it can be asked</summary><ul>{questions}</ul></details>"
    )


def _facts(ask: Ask) -> Iterator[tuple[str, str]]:
    known = list(ask("SELECT process_id, pid, rank, host FROM process ORDER BY rank, pid"))
    yield "processes", _some(list(processes(known).values()))
    gpus = ask(
        "SELECT device_name, count(DISTINCT gpu) AS gpus, min(gpu) AS first FROM gpu"
        " GROUP BY device_name ORDER BY first"
    )
    yield "GPUs", _some([f"{row['gpus']} x {row['device_name'] or 'unknown'}" for row in gpus])
    extent = list(
        ask(
            "SELECT table_name, rows, end_ns, is_activity FROM _table_extent WHERE rows > 0"
            " ORDER BY is_activity DESC, rows DESC, table_name"
        )
    )
    last = max((row["end_ns"] or 0 for row in extent if row["is_activity"]), default=0)
    if last:
        yield "span", duration(last - begin_ns(ask))
    yield "rows", _some([f"{number(row['rows'])} {row['table_name']}" for row in extent])


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST} more" if len(words) > _MOST else ""
    return ", ".join(words[:_MOST]) + more if words else "none"


def _row(element: str, cells: Sequence[str], styles: Sequence[str]) -> str:
    filled = zip(cells, styles, strict=True)
    return f"<tr>{''.join(f'<{element}{style}>{html_text(cell)}</{element}>' for cell, style in filled)}</tr>"  # noqa: E501
