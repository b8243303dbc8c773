"""Tables for people: on a terminal, and as Markdown."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO

from cupti_etl.progress import printable, say
from cupti_etl.render.escape import markdown_text

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.render.output import Rows

ROW_LIMIT = 40
# Columns are set apart by a divider and a space; rich counts the former as part of the box.
_GAP = 2
# On a terminal a text column is cut to the first before columns are left out, and
# never below the second.
_TEXT_WIDTH = 60
_TEXT_WIDTH_MIN = 24
# Numbers that count nothing and are copied rather than read: no thousands separators.
_ID = re.compile(r"(?:.*_)?(?:id|pid|cbid|rank)\Z")


def write_table(rows: Rows, out: BinaryIO, *, all_rows: bool, terminal: bool) -> None:
    """Write the first rows, or all, as a table; say on standard error what is left out.

    Args:
        rows: what to show.
        out: where to.
        all_rows: show all, in memory that grows with them.
        terminal: fit the width of the terminal, if the output is one.
    """
    from rich.console import Console

    schema, shown, more = _head(rows, None if all_rows else ROW_LIMIT)
    numeric = [_is_number(field.type) for field in schema]
    names = [printable(name) for name in rows.columns]
    cells = [[_cell(value, name) for value, name in zip(row, names, strict=True)] for row in shown]
    widths = [max([len(name), *(len(row[at]) for row in cells)]) for at, name in enumerate(names)]
    on_terminal = terminal and sys.stdout.isatty()
    hidden: list[str] = []
    if on_terminal:
        console = Console(file=sys.stdout)
        widths = fit(widths, numeric, console.width)
        hidden = names[len(widths) :]
        console.print(_rich_table(names, numeric, cells, widths))
    else:
        text = io.StringIO()
        plain = Console(file=text, width=sum(widths) + _GAP * len(widths) + 1, color_system=None)
        plain.print(_rich_table(names, numeric, cells, widths))
        lines = (line.rstrip() for line in text.getvalue().splitlines())
        out.write("".join(f"{line}\n" for line in lines).encode())
    if more:
        say(f"{more:,} more rows: use --format csv or --all")
    if hidden:
        say(f"columns not shown: {', '.join(hidden)}")


def fit(widths: Sequence[int], numeric: Sequence[bool], room: int) -> list[int]:
    """Widths that fit in ``room``: texts are cut, then the last columns left out.

    Numbers are never cut, because a cut number is a wrong one.
    """
    fitted = [
        width if is_number else min(width, _TEXT_WIDTH)
        for width, is_number in zip(widths, numeric, strict=True)
    ]
    while _total(fitted) > room:
        texts = [
            at for at, width in enumerate(fitted) if not numeric[at] and width > _TEXT_WIDTH_MIN
        ]
        if not texts:
            break
        widest = max(texts, key=lambda at: fitted[at])
        fitted[widest] = max(_TEXT_WIDTH_MIN, fitted[widest] - (_total(fitted) - room))
    while len(fitted) > 1 and _total(fitted) > room:
        fitted.pop()
    return fitted


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _head(rows: Rows, limit: int | None) -> tuple[pa.Schema, list[tuple[Any, ...]], int]:
    """The first rows, and how many more there are."""
    schema, found = _first(rows, None if limit is None else limit + 1)
    if limit is None or len(found) <= limit:
        return schema, found, 0
    return schema, found[:limit], rows.count() - limit


def _first(rows: Rows, limit: int | None) -> tuple[pa.Schema, list[tuple[Any, ...]]]:
    # The reader is let go on return, which frees its connection for the counting.
    found: list[tuple[Any, ...]] = []
    reader = rows.reader()
    for batch in reader:
        wanted = batch if limit is None else batch.slice(0, limit - len(found))
        found += zip(*(column.to_pylist() for column in wanted.columns), strict=True)
        if limit is not None and len(found) >= limit:
            break
    return reader.schema, found


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _cell(value: Any, column: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, int):
        return str(value) if _ID.match(column) else f"{value:,}"
    if isinstance(value, (float, Decimal)):
        return f"{value:,.2f}" if value == 0 or abs(float(value)) >= 0.01 else f"{value:.3g}"
    # Control characters of a kernel's or a range's name must not steer the terminal.
    return "".join(char if char.isprintable() else " " for char in str(value))


def _rich_table(
    names: Sequence[str],
    numeric: Sequence[bool],
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0), show_edge=False)
    for name, is_number, width in zip(names, numeric, widths, strict=False):
        table.add_column(
            Text(name),
            justify="right" if is_number else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=width,
        )
    for row in cells:
        table.add_row(
            *(Text(cell, style="dim" if cell == "NULL" else "") for cell in row[: len(widths)])
        )
    return table


def write_markdown(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    """Write a Markdown table of all rows, numbers in full."""
    names = reader.schema.names
    out.write(f"{_row(names)}\n{_row(['---'] * len(names))}\n".encode())
    for batch in reader:
        lines = [
            _row([_markdown_cell(value) for value in row])
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
        out.write("".join(f"{line}\n" for line in lines).encode())


def _markdown_cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |"
