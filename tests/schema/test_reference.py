"""The Markdown page about the tables."""

from __future__ import annotations

import pytest

from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.reference import null_meaning, table_markdown, tables_markdown
from cupti_etl.schema.spec import Column, Enum, Table
from cupti_etl.schema.types import boolean, enum, i64


def rows(text: str) -> list[list[str]]:
    """Cells of the Markdown table, without its two header lines."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_page_has_every_table_and_its_doc() -> None:
    page = tables_markdown()
    for name, table in TABLES.items():
        assert f"\n## {name}\n\n{table.doc}\n" in page
    for kind in KINDS:
        assert f"record `{kind.struct}`" in page


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_a_row_of_seven_cells(name: str) -> None:
    columns = TABLES[name].columns
    cells = rows(table_markdown(TABLES[name]))
    assert [row[:2] for row in cells] == [[f"`{c.name}`", c.type.sql] for c in columns]
    for row, column in zip(cells, columns, strict=True):
        assert len(row) == 7
        assert column.doc in row[3]
        assert column.unit in (row[2], "1")


def test_all_that_a_column_can_say() -> None:
    columns = (
        Column("bits", boolean, "flags", "A | B.", mask=4, null=0xFFFF, since=130000),
        Column("other", i64, "", "Plain.", unit="bytes", joins="kernel.name"),
        Column("what", enum, "kind", "Which.", labels=Enum("e", (("A", "a"), ("B", "b")))),
    )
    assert rows(table_markdown(Table("toy", "A row.", columns))) == [
        [
            "`bits`",
            "BOOLEAN",
            "",
            r"A \| B.",
            "the member is 0xFFFF or CUPTI's API is older than 130000",
            "`flags & 4`",
            "",
        ],
        ["`other`", "BIGINT", "bytes", "Plain.", "", "", "`kernel.name`"],
        ["`what`", "VARCHAR", "", "Which. One of `a`, `b`.", "", "`kind`", ""],
    ]


def test_null_meaning_of_zero_is_written_as_zero() -> None:
    assert null_meaning(Column("a", i64, "a", "A.", null=0)) == "the member is 0"
    assert null_meaning(Column("a", i64, "a", "A.")) == ""
