"""The tables in words: a page of Markdown, ``docs/reference/tables.md``, and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.spec import Column, Kind, Table

INTRODUCTION = """\
# Tables

Made from `cupti_etl/schema` by `make generate`; do not edit.

Times are nanoseconds since the epoch (CLOCK_REALTIME) in columns named `*_ns`. Unsigned 64-bit ids
are stored bit-cast as signed ones. Missing is NULL, never 0: *NULL if* says when, and any column is
NULL where the CUPTI of the traced process is too old to have it. An enumeration is stored as one of
the strings listed, or as its decimal number where CUPTI has a value that is not listed.

Ids of CUPTI and CUDA are unique in one process only: join on the columns given **and** on
`process_id`, where both tables have it.
"""
# When a table gets rows, by the preset of its kind; "" for a table of our own.
_WHEN = {
    "light": "with `--kinds light`",
    "default": "added by `--kinds default`, which is the default",
    "full": "added by `--kinds full`, or by name",
    "graph": "with `--graph graph`",
    "": "about captures, samples and imports",
}
_HEADER = ("Column", "Type", "Unit", "Meaning", "NULL if", "CUPTI member", "Joins")


def null_meaning(column: Column) -> str:
    """When a column is NULL, as the words behind "NULL if"; "" if nothing is special."""
    reasons = []
    if column.null is not None:
        value = column.null if column.null < 10 else f"0x{column.null:X}"
        reasons.append(f"the member is {value}")
    if column.only:
        labels = ", ".join(f"`{value}`" for value in column.only[1:])
        reasons.append(f"`{column.only[0]}` is not {labels}")
    if column.since:
        reasons.append(f"CUPTI's API is older than {column.since}")
    return " or ".join(reasons)


def member(column: Column) -> str:
    """The record's member that a column holds, with its mask if it is some bits of one."""
    return f"{column.source} & {column.mask}" if column.mask else column.source


def kind_of(table: str) -> Kind | None:
    """The kind that a table is decoded from; None for a table of our own."""
    return next((kind for kind in KINDS if kind.table == table), None)


def described(table: Table) -> dict[str, Any]:
    """A table and its columns as JSON has them."""
    kind = kind_of(table.name)
    return {
        "table": table.name,
        "schema_version": SCHEMA_VERSION,
        "doc": table.doc,
        "activity": list(kind.fed_by) if kind else [],
        "struct": kind.struct if kind else None,
        "sort": list(table.sort),
        "columns": [
            {
                "name": column.name,
                "type": column.type.sql,
                "arrow": column.type.arrow,
                "unit": column.unit,
                "doc": column.doc,
                "null_if": null_meaning(column) or None,
                "member": member(column) or None,
                "joins": column.joins or None,
                "values": [label for _, label in column.labels.labels] if column.labels else None,
            }
            for column in table.columns
        ],
    }


def tables_markdown(tables: Iterable[Table] = TABLES.values()) -> str:
    """The reference page."""
    all_tables = list(tables)
    return "\n".join((INTRODUCTION, *_contents(all_tables), "", *map(table_markdown, all_tables)))


def _contents(tables: Iterable[Table]) -> Iterable[str]:
    links: dict[str, list[str]] = {preset: [] for preset in _WHEN}
    for table in tables:
        kind = kind_of(table.name)
        links[kind.preset if kind else ""].append(f"[{table.name}](#{table.name})")
    for preset, names in links.items():
        if names:
            yield f"* {_WHEN[preset]}: {', '.join(names)}"


def table_markdown(table: Table) -> str:
    """One table: a heading, its doc, where it comes from, and a row for each column."""
    lines = [f"## {table.name}", "", table.doc, ""]
    if kind := kind_of(table.name):
        activities = ", ".join(f"`CUPTI_ACTIVITY_KIND_{name}`" for name in kind.fed_by)
        lines += [f"From {activities}, record `{kind.struct}`.", ""]
    if table.sort:
        lines += [f"Sorted by {', '.join(f'`{key}`' for key in table.sort)}.", ""]
    if table.more is not None:
        lines += [
            f"Columns of type {table.more.sql} follow: `{table.described_in}` lists them.",
            "",
        ]
    lines += [_row(_HEADER), _row("---" for _ in _HEADER)]
    lines += [_row(_cells(column)) for column in table.columns]
    return "\n".join(lines) + "\n"


def _cells(column: Column) -> Iterable[str]:
    yield f"`{column.name}`"
    yield column.type.sql
    yield "" if column.unit == "1" else column.unit
    yield column.doc + _labels(column)
    yield null_meaning(column)
    yield f"`{member(column)}`" if column.source else ""
    yield f"`{column.joins}`" if column.joins else ""


def _labels(column: Column) -> str:
    if column.labels is None:
        return ""
    return " One of " + ", ".join(f"`{label}`" for _, label in column.labels.labels) + "."


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
