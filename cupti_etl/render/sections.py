"""Tables under headings: how an answer of several parts looks to people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from cupti_etl.progress import say
from cupti_etl.render.escape import markdown_text
from cupti_etl.render.html import page_html
from cupti_etl.render.narrow import Narrowing, narrow
from cupti_etl.render.output import InMemory, Output, open_output, write
from cupti_etl.render.table import View, table
from cupti_etl.render.text import drawn, markdown_lines

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.render.columns import Shape
    from cupti_etl.render.rows import Rows

# Rows of a section, where nobody says how many.
_ROWS = 15
_VIEW, _ALL = View(limit=_ROWS), Narrowing()


@dataclass(frozen=True)
class Section:
    """A part of an answer.

    Attributes:
        title: its heading.
        table: its rows.
        form: what its columns are.
    """

    title: str
    table: pa.Table
    form: Shape


def write_sections(
    title: str,
    said: Sequence[str],
    sections: Iterable[Section],
    everything: pa.Table,
    output: Output,
) -> None:
    """Write sections for people, or all rows as one table for machines.

    Args:
        title: what the answer is about.
        said: lines below the title, where there is one.
        sections: the parts.
        everything: all of their rows.
        output: where and how.

    Raises:
        UsageError: as of ``render.output.write``.
    """
    if output.chosen not in ("table", "markdown", "html"):
        write(InMemory(everything), output)
        return
    view = output.view
    if not output.all_rows and output.rows.limit is None:
        view = replace(view, limit=_ROWS)
    with open_output(output.path) as out:
        if output.chosen == "table":
            _text(_parts(sections, output.rows), view, output, out)
        else:
            out.write(page(output.chosen, title, said, sections, view, output.rows).encode())


def page(
    kind: str,
    title: str,
    said: Sequence[str],
    sections: Iterable[Section],
    view: View = _VIEW,
    rows: Narrowing = _ALL,
) -> str:
    """Sections as a page: html or markdown; the other arguments are as of ``write_sections``."""
    make = page_html if kind == "html" else _markdown
    return make(title, said, _parts(sections, rows), view)


def _markdown(
    title: str, said: Sequence[str], parts: Iterable[tuple[str, Rows]], view: View
) -> str:
    lines = [f"# {markdown_text(title)}"]
    for line in said:
        lines += ["", markdown_text(line)]
    for heading, rows in parts:
        shown = table(rows, view)
        lines += ["", f"## {markdown_text(heading)}", "", *markdown_lines(shown)]
        if shown.more:
            lines += ["", f"{shown.more:,} more: --limit N, --all"]
    return "\n".join(lines) + "\n"


def _parts(sections: Iterable[Section], rows: Narrowing) -> list[tuple[str, Rows]]:
    """Titles, and the rows that are asked of each; those without any are left out."""
    parts = [(each.title, narrow(InMemory(each.table, each.form), rows)) for each in sections]
    return [(title, part) for title, part in parts if part.count()]


def _text(parts: Iterable[tuple[str, Rows]], view: View, output: Output, out: BinaryIO) -> None:
    terminal = output.path is None and sys.stdout.isatty()
    said: dict[str, None] = {}
    for at, (heading, rows) in enumerate(parts):
        lines, notes = drawn(rows, view, terminal=terminal)
        text = [*([""] if at else []), heading, *lines]
        out.write("".join(f"{line}\n" for line in text).encode())
        said.update(dict.fromkeys(f"{heading}: {note}" for note in notes if " more row" in note))
    out.flush()
    for note in said:
        say(note)
