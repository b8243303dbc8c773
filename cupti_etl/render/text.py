"""Tables as text: fitted to a terminal, for a pipe, and as Markdown."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from cupti_etl.render.columns import IN_WORDS
from cupti_etl.render.escape import markdown_text
from cupti_etl.render.labels import cut, cut_apart
from cupti_etl.render.rows import Rows
from cupti_etl.render.table import Shown, Table, View, table
from cupti_etl.render.values import NOTHING
from cupti_etl.units import counted

_GAP = "  "
# Columns that are named where some are not shown.
_NAMED = 6
# Texts are cut to these before columns are left out, labels to the second.
_TEXT_MIN = 14
_LABEL_MIN = 28
# No text in a pipe is wider, but sentences, and what is in the last column.
_TEXT_MAX = 60
_BOLD, _DIM, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def show(rows: Rows, view: View, *, quietly: bool = False) -> None:
    """Print a table for who asked in Python, and unless quietly, what is left out of it.

    A notebook, which would break lines anywhere, shows it as it shows a result.
    """
    if type(sys.stdout).__module__ == "ipykernel.iostream":  # else it is to go somewhere else
        from cupti_etl.render.html import display

        return display(rows, view, quietly=quietly)
    lines, notes = drawn(rows, view, terminal=sys.stdout.isatty(), ways=IN_PYTHON)
    print("\n".join((*lines, *(() if quietly else notes))))


def without_rows(rows: Rows, shown: Table) -> list[str]:
    """That there are no rows, and why; nothing where there are some."""
    if any(column.cells for column in shown.columns):
        return []
    return [f"no rows: {reason}" for reason in rows.shape.why()] or ["no rows"]


@dataclass(frozen=True)
class Ways:
    """How to see what is not shown of a table: more rows, and all columns."""

    rows: str
    columns: str


IN_SHELL = Ways("--limit N, --all or --format csv", "--wide shows them")
IN_PYTHON = Ways(".show(limit=N) or .df()", ".show(wide=True) shows them")


def drawn(
    rows: Rows, view: View, form: str = "table", *, terminal: bool, ways: Ways = IN_SHELL
) -> tuple[list[str], list[str]]:
    """The lines of a table, and what is to be said of it.

    Args:
        rows: what is shown.
        view: how much of it.
        form: table or markdown.
        terminal: whether to fit its width.
        ways: how to see the rest.
    """
    shown = table(rows, view)
    hidden = list(shown.hidden)
    # A command says it itself.
    empty = without_rows(rows, shown) if ways is IN_PYTHON else []
    if form == "markdown":
        lines = list(markdown_lines(shown))
    elif terminal and not view.wide:
        columns = _fitting(shown)
        kept = {column.name for column, _ in columns}
        dropped = [each.name for each in shown.columns if each.name not in kept]
        lines = _coloured(columns)
        hidden = [name for name in rows.columns if name in {*hidden, *dropped}]
    else:
        lines = plain_lines(shown)
    return lines, [*empty, *notes(shown, hidden, ways)]


def notes(shown: Table, hidden: Sequence[str], ways: Ways = IN_SHELL) -> list[str]:
    """What is to be said of a table: which rows and columns are not shown, and how to see them."""
    found = []
    if shown.more:
        found.append(f"{counted(shown.more, 'more row')}: {ways.rows}")
    if hidden and any(column.cells for column in shown.columns):
        some = hidden if len(hidden) <= _NAMED + 1 else hidden[:_NAMED]
        rest = f" and {len(hidden) - len(some)} more" if len(some) < len(hidden) else ""
        found.append(f"columns not shown: {', '.join(some)}{rest}; {ways.columns}")
    return found


def terminal_lines(table: Table) -> list[str]:
    """A table as wide as the terminal."""
    return _coloured(_fitting(table))


def _fitting(table: Table) -> list[tuple[Shown, int]]:
    return fit(table.columns, shutil.get_terminal_size().columns)


def _coloured(columns: Sequence[tuple[Shown, int]]) -> list[str]:
    colours = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return list(_lines(columns, colours=colours, wrap=True))


def lines_within(rows: Rows, view: View, width: int) -> list[str]:
    """The lines of a table in so much room, without colours."""
    return list(_lines(fit(table(rows, view).columns, width), colours=False, wrap=True))


def plain_lines(table: Table) -> list[str]:
    """A table for a pipe or a file: sentences and the last column are not cut."""
    whole = {*IN_WORDS, *(each.name for each in table.columns[-1:])}
    columns = [
        (each, _natural(each, wrap=False, most=None if each.name in whole else _TEXT_MAX))
        for each in table.columns
    ]
    return list(_lines(columns, colours=False, wrap=False))


def markdown_lines(table: Table) -> Iterator[str]:
    """A table as Markdown."""
    yield _markdown_row([column.heading for column in table.columns])
    yield _markdown_row(["---:" if column.is_number else "---" for column in table.columns])
    for row in zip(*(column.cells for column in table.columns), strict=True):
        yield _markdown_row(row)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |"


def fit(columns: Sequence[Shown], room: int) -> list[tuple[Shown, int]]:
    """The columns for which there is room, and how wide they are.

    Texts are cut first, then columns of nothing but zeros and the least important ones left out.
    Numbers are never cut, because a cut number is a wrong one; the label stays.
    """
    natural = {each.name: _natural(each, wrap=True) for each in columns}
    widths = _widths(columns, room, natural, _LABEL_MIN)
    # What is more important than the label, which is last if nobody says otherwise.
    place = next((at for at, each in enumerate(columns[:-1]) if each.is_label), 0)
    if any(each.name not in widths and not _is_zero(each) for each in columns[:place]):
        widths = _widths(columns[: place + 1], room, natural, _TEXT_MIN)
    kept = [each for each in columns if each.name in widths]
    left = room - sum(widths.values()) - len(_GAP) * (len(kept) - 1)
    # What is left goes to texts that are a little too long, then to the label, then to the rest;
    # but a name can take hundreds, and nobody needs all of it while other texts are cut.
    others = [each for each in kept if not each.is_number and not each.is_label]
    labels = [each for each in kept if not each.is_number and each.is_label]
    steps = [(each, _TEXT_MIN * 2) for each in others]
    steps += [(each, _TEXT_MAX) for each in labels]
    steps += [(each, _TEXT_MAX) for each in others]
    steps += [(each, natural[each.name]) for each in (*labels, *others)]
    for each, most in steps:
        more = max(0, min(left, min(natural[each.name], most) - widths[each.name]))
        widths[each.name] += more
        left -= more
    return [(each, widths[each.name]) for each in kept]


def _widths(
    columns: Sequence[Shown], room: int, natural: Mapping[str, int], label: int
) -> dict[str, int]:
    """The columns that are kept, as narrow as they can be; ``label`` is least for that one."""
    least = {each.name: _least(each, natural[each.name], label) for each in columns}
    kept = {each.name: least[each.name] for each in columns if each.is_label}
    left = room - sum(kept.values())
    for each in sorted(columns, key=_is_zero):
        taken = least[each.name] + (len(_GAP) if kept else 0)
        if not each.is_label and (taken <= left or not kept):
            kept[each.name] = least[each.name]
            left -= taken
    return kept


def _is_zero(column: Shown) -> bool:
    """Whether it says of no row that there was anything; a number of a GPU or a step does."""
    return column.unit not in ("1", "id") and bool(column.values) and not any(column.values)


def _least(column: Shown, natural: int, label: int) -> int:
    if column.is_number or column.unit == "date":  # nor does a part of a date say when
        return natural
    lines = IN_WORDS.get(column.name, 0)
    # One more than would do, as lines end before a word that has no room.
    words = min(2 * _TEXT_MIN, -(-natural // (lines - 1))) if lines else 0
    least = min(natural, label if column.is_label else max(_TEXT_MIN, words))
    return max(least, *map(display_width, _heading_lines(column.heading, 0)))


def _natural(column: Shown, *, wrap: bool, most: int | None = None) -> int:
    """How wide it would be; a heading is broken where that saves room."""
    widest = max(map(display_width, column.cells), default=0)
    if most is not None:
        widest = min(widest, most)
    heading = _heading_lines(column.heading, widest) if wrap else [column.heading]
    return max(widest, *map(display_width, heading))


def _heading_lines(heading: str, width: int) -> list[str]:
    """A heading in two lines where it is wider than its cells."""
    if display_width(heading) <= width or "_" not in heading:
        return [heading]
    breaks = [at + 1 for at, char in enumerate(heading) if char == "_" and at + 1 < len(heading)]
    if not breaks:
        return [heading]
    at = min(breaks, key=lambda at: max(at, len(heading) - at))
    return [heading[:at], heading[at:]]


def _lines(columns: Sequence[tuple[Shown, int]], *, colours: bool, wrap: bool) -> Iterator[str]:
    headings = [
        _heading_lines(each.heading, width) if wrap else [each.heading] for each, width in columns
    ]
    deep = max(map(len, headings), default=1)
    padded = [[""] * (deep - len(each)) + each for each in headings]
    for line in zip(*padded, strict=True):
        yield _line(line, columns, _BOLD if colours else "")
    # Under the last column no longer than is needed to see it.
    widths = [width for _, width in columns]
    if widths and not columns[-1][0].is_number:
        widths[-1] = min(widths[-1], _TEXT_MAX)
    yield _GAP.join("─" * width for width in widths)
    cells = [_cells(each, max(width, 1), wrap=wrap) for each, width in columns]
    for row in zip_longest(*cells, fillvalue=[""]):
        for line in zip_longest(*row, fillvalue=""):
            yield _line(line, columns, "", dim_nothing=colours)


def _cells(column: Shown, width: int, *, wrap: bool) -> list[list[str]]:
    """The lines of each cell: one, but of sentences as many as they need."""
    if wrap and column.name in IN_WORDS and any(" " in cell for cell in column.cells):
        return [_sentence(cell, width, IN_WORDS[column.name]) for cell in column.cells]
    if column.is_number:
        return [[cut(cell, width)] for cell in column.cells]
    return [[cell] for cell in cut_apart(column.cells, width)]


def _sentence(text: str, width: int, most: int) -> list[str]:
    lines = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    rest = " ".join(lines[most - 1 :])
    return lines if len(lines) <= most else [*lines[: most - 1], cut(rest, width)]


def _line(
    cells: Sequence[str],
    columns: Sequence[tuple[Shown, int]],
    style: str,
    *,
    dim_nothing: bool = False,
) -> str:
    texts = []
    for at, (cell, (column, width)) in enumerate(zip(cells, columns, strict=True)):
        fill = " " * (width - display_width(cell))
        if dim_nothing and cell == NOTHING:
            cell = f"{_DIM}{cell}{_OFF}"
        elif style and cell:
            cell = f"{style}{cell}{_OFF}"
        last = at == len(columns) - 1
        texts.append(fill + cell if column.is_number else cell + ("" if last else fill))
    return _GAP.join(texts).rstrip()


def display_width(text: str) -> int:
    """How many places a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )
