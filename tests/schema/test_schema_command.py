"""``cupti-etl schema``."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import duckdb
import pytest
from click.testing import CliRunner
from support.on_terminal import OnTerminal

from cupti_etl.cli import cli
from cupti_etl.commands import schema
from cupti_etl.errors import UsageError
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.schema.reference import tables_markdown


def output(*arguments: str) -> str:
    return CliRunner().invoke(cli, ["schema", *arguments], catch_exceptions=False).output


def test_without_a_table_text_lists_all_of_them() -> None:
    lines = output().splitlines()
    assert [line.split()[0] for line in lines[2:]] == list(TABLES)
    assert all(table.doc in line for table, line in zip(TABLES.values(), lines[2:], strict=True))


def test_text_of_tables_has_every_column_with_its_unit() -> None:
    text = output("kernel", "clock")
    assert [line.split()[0] for line in text.splitlines()[2:39]] == [
        column.name for column in TABLES["kernel"].columns
    ]
    assert "realtime_ns   BIGINT  ns    CLOCK_REALTIME, the clock" in text
    assert "\x1b" not in text


def test_a_terminal_gets_a_table_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", terminal := OnTerminal())
    monkeypatch.setenv("COLUMNS", "60")
    schema._print("kernel: A [row].", ("column", "meaning"), [("a_ns", "[bold] " + "word " * 30)])
    text = re.sub("\x1b\\[[0-9;]*m", "", terminal.getvalue())
    assert "kernel: A [row]." in text
    assert "[bold]" in text
    assert max(map(len, text.splitlines())) <= 60


def test_ddl_can_be_run() -> None:
    connection = duckdb.connect()
    connection.execute(output("--format", "ddl"))
    made = {row[0] for row in connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert made == set(TABLES)


def test_arrow_has_types_and_metadata() -> None:
    text = output("kernel", "--format", "arrow")
    assert text == arrow_schema("kernel").to_string(truncate_metadata=False) + "\n"
    assert "joins: 'api_call.correlation_id'" in text
    assert "cupti_etl.schema_version" in text


def test_json_describes_each_column() -> None:
    (loss, device) = json.loads(output("loss", "device", "--format", "json"))
    assert (loss["table"], loss["struct"], device["struct"]) == (
        "loss",
        None,
        "CUpti_ActivityDevice6",
    )
    assert device["activity"] == ["DEVICE"]
    column = next(c for c in device["columns"] if c["name"] == "numa_id")
    assert column == {
        "name": "numa_id",
        "type": "INTEGER",
        "arrow": "int32",
        "unit": "1",
        "doc": "NUMA node of the device; NULL if it is none.",
        "null_if": "the member is 0xFFFFFFFF",
        "member": "numaId",
        "joins": None,
        "values": None,
    }


def test_markdown_is_the_reference_page() -> None:
    assert output("--format", "markdown") == tables_markdown()


def test_an_unknown_table_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no table 'kernels'") as caught:
        output("kernels")
    assert "did you mean kernel" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        output("xyz")
    assert "tables are: api_call" in caught.value.hint


def test_importing_the_command_is_light() -> None:
    code = (
        "import sys, cupti_etl.commands.schema\n"
        "print({'duckdb', 'pyarrow', 'sqlalchemy', 'alembic'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
