"""Print the tables of a trace: their columns, types, units and meaning."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import tables as complete_tables
from cupti_etl.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from cupti_etl.schema.spec import Column, Table

Row = tuple[str, ...]
# The last column has room for so much, however narrow the terminal is.
_LEAST = 20


@click.command()
@click.argument("tables", metavar="[TABLE]...", nargs=-1, shell_complete=complete_tables)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "ddl", "arrow", "json", "markdown"]),
    default="text",
    show_default=True,
    help="ddl is that of DuckDB, arrow that of exported files, json that of a trace's schema.json.",
)
def command(tables: tuple[str, ...], form: str) -> None:
    """Print the tables of a trace, or the columns of each TABLE.

    Without TABLE, text lists the tables; the other formats describe all tables.
    """
    from cupti_etl.schema.arrow import TABLES

    for name in tables:
        if name not in TABLES:
            hint = did_you_mean(name, TABLES, f"tables are: {', '.join(TABLES)}")
            raise UsageError(f"there is no table {name!r}", hint)
    chosen = [TABLES[name] for name in dict.fromkeys(tables or TABLES)]
    if form != "text":
        click.echo(_WRITERS[form](chosen).rstrip("\n"))
    elif tables:
        for number, table in enumerate(chosen):
            click.echo("", nl=number > 0)
            _print(f"{table.name}: {table.doc}", _COLUMN_HEADER, [*map(_column, table.columns)])
    else:
        rows = [(table.name, str(len(table.columns)), table.doc) for table in chosen]
        _print("Tables of a trace", ("table", "columns", "a row is"), rows)


_COLUMN_HEADER = ("column", "type", "unit", "meaning")


def _column(column: Column) -> Row:
    from cupti_etl.schema.reference import null_meaning

    meaning = [column.doc]
    reason = null_meaning(column)
    if reason and "NULL" not in column.doc:
        meaning.append(f"NULL if {reason}.")
    if column.joins:
        meaning.append(f"Joins {column.joins}.")
    unit = "" if column.unit == "1" else column.unit
    return column.name, column.type.sql, unit, " ".join(meaning)


def _print(title: str, header: Row, rows: Sequence[Row]) -> None:
    widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
    indent = sum(width + 2 for width in widths[:-1])
    # A pipe gets whole lines.
    room = shutil.get_terminal_size().columns - indent if sys.stdout.isatty() else widths[-1]
    lines = [title]
    for row in (header, *rows):
        first, *more = textwrap.wrap(row[-1], max(room, _LEAST)) or [""]
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join((*cells[:-1], first)).rstrip())
        lines += (" " * indent + line for line in more)
    click.echo("\n".join(lines))


def _ddl(tables: Sequence[Table]) -> str:
    from cupti_etl.schema.tables import ddl

    return ddl(tables=tables)


def _arrow(tables: Sequence[Table]) -> str:
    from cupti_etl.schema.arrow import arrow_schema

    schemas = (arrow_schema(table.name).to_string(truncate_metadata=False) for table in tables)
    return "\n\n".join(schemas)


def _markdown(tables: Sequence[Table]) -> str:
    from cupti_etl.schema.reference import tables_markdown

    return tables_markdown(tables)


def _json(tables: Sequence[Table]) -> str:
    import json

    from cupti_etl.schema.reference import described

    return json.dumps([described(table) for table in tables], indent=2)


_WRITERS: dict[str, Callable[[Sequence[Table]], str]] = {
    "ddl": _ddl,
    "arrow": _arrow,
    "json": _json,
    "markdown": _markdown,
}
