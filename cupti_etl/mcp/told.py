"""Answers as a language model reads them: short tables with units, and what belongs beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cupti_etl.errors import UsageError
from cupti_etl.render.table import Shown, Table, View, table
from cupti_etl.render.text import markdown_lines
from cupti_etl.serve.formats import Answered

# Of an answer; about 2,500 tokens.
MOST_CHARACTERS = 8000
MOST_ROWS = 200


def answer(answered: Answered, limit: int, offset: int, beside: Iterable[str] = ()) -> str:
    """Some rows of an answer as Markdown, with the part of the trace, notes and how to go on.

    Args:
        answered: the rows, in the order in which they are counted.
        limit: how many are shown at most.
        offset: how many before them are left out.
        beside: more that is to be said.

    Raises:
        UsageError: limit or offset is no number of rows.
    """
    if not 1 <= limit <= MOST_ROWS:
        raise UsageError(f"limit is {limit}", f"from 1 to {MOST_ROWS}; offset shows what follows")
    if offset < 0:
        raise UsageError(f"offset is {offset}", "0 shows the first rows")
    shown = table(answered.rows, View(limit=offset + limit))
    columns = [
        replace(each, cells=each.cells[offset:], values=each.values[offset:])
        for each in shown.columns
    ]
    lines, count = _fitting(columns)
    total = offset + (len(columns[0].cells) if columns else 0) + shown.more
    left = total - offset - count
    is_empty = total == 0
    told = [f"Part of the trace: {answered.says}." if answered.says else "Of the whole trace."]
    if count:
        told += ["", *lines, ""]
    else:
        told.append(f"There are {total} rows, and none from {offset} on." if total else "No rows.")
    if left > 0 and count:
        told.append(f"{left} more of {total} rows: offset={offset + count}.")
    if shown.hidden and count:
        told.append(f"Columns that are not shown: {', '.join(shown.hidden)}; sql can select them.")
    told += [f"Note: {note}" for note in (*answered.notes(is_empty), *beside)]
    if answered.command:
        told.append(f"The same in a terminal: {answered.command}")
    return "\n".join(told)


def _fitting(columns: Sequence[Shown]) -> tuple[list[str], int]:
    """The lines of as many rows as there is room for, but of one at least; and how many."""
    lines = list(markdown_lines(Table(columns, (), 0)))
    room = MOST_CHARACTERS
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0 and len(kept) > 2:
            break
        kept.append(line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} …")
    return kept, max(len(kept) - 2, 0)


def section(lines: Iterable[str]) -> str:
    """A text of many lines, cut where an answer ends."""
    text = "\n".join(lines)
    if len(text) <= MOST_CHARACTERS:
        return text
    kept = text[:MOST_CHARACTERS].rsplit("\n", 1)[0]
    return f"{kept}\n… {len(text) - len(kept)} more characters"
