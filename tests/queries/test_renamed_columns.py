"""Columns that had other names: older parts and files are read under the present ones."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.trace import add_part, as_table, assert_rows, write_part, write_trace

import cupti_etl
from cupti_etl.errors import SchemaError
from cupti_etl.queries import plausible, small_tables
from cupti_etl.queries.trace_duckdb import write_trace_duckdb
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.schema import arrow
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.spec import Column, Table
from cupti_etl.schema.types import i32
from cupti_etl.storage.compaction import compact
from cupti_etl.storage.manifest import Entry
from cupti_etl.storage.parts import Parts
from cupti_etl.storage.recovery import recover

VERSION = 3
# What kernel's columns were called before a version of the schema: a time, one that changed twice,
# two that changed places, and one whose earlier name another column has by now.
WAS = {
    "start_ns": (("begin_ns", 2),),
    "name": (("symbol", 2), ("function", 3)),
    "block_x": (("block_y", 2),),
    "block_y": (("block_x", 2),),
    "context_id": (("device_id", 2),),
}
ROWS = """
    process_id start_ns end_ns name block_x block_y context_id
    1          10       30     a    1       2       7
    1          40       50     b    3       4       7
"""
MORE = "process_id start_ns end_ns name block_x block_y context_id device_id\n1 60 90 a 5 6 8 9"
SEEN = "SELECT * FROM kernel ORDER BY start_ns"
BOTH = """
    start_ns end_ns name block_x block_y context_id device_id
    10       30     a    1       2       7          -
    40       50     b    3       4       7          -
    60       90     a    5       6       8          9
"""


def clear() -> None:
    for cached in (arrow.arrow_schema, arrow.batch_schema, plausible._measured):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def schema(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The third version of a schema, in which columns of kernel have other names than before."""
    kernel = TABLES["kernel"]
    columns = (dataclasses.replace(c, was=WAS.get(c.name, ())) for c in kernel.columns)
    monkeypatch.setitem(TABLES, "kernel", dataclasses.replace(kernel, columns=tuple(columns)))
    for name, module in list(sys.modules.items()):
        if name.startswith("cupti_etl") and hasattr(module, "SCHEMA_VERSION"):
            monkeypatch.setattr(module, "SCHEMA_VERSION", VERSION)
    clear()
    yield
    clear()


def part_of(version: int, text: str) -> pa.Table:
    """Rows as a version of the schema had them."""
    rows = as_table("kernel", text)
    before = {now: old for old, now in TABLES["kernel"].renamed(version).items()}
    # What took over the earlier name of another column was not there yet.
    kept = [now for now in rows.column_names if now in before or now not in before.values()]
    rows = rows.select(kept).rename_columns([before.get(now, now) for now in kept])
    about = {"cupti_etl.table": "kernel", "cupti_etl.schema_version": str(version)}
    return rows.replace_schema_metadata(about)


def trace_of(folder: Path, version: int) -> Path:
    """A trace as a version wrote it."""
    write_trace(folder, capture="capture_id start_ns end_ns exit_status\n 1 0 99 0")
    for part, text in enumerate(("", ROWS)):
        write_part(folder / f"kernel/part-{part:06d}.parquet", part_of(version, text))
    return folder


def test_the_parts_here_are_of_the_older_names(tmp_path: Path) -> None:
    names = pq.read_schema(trace_of(tmp_path / "run", 1) / "kernel/part-000001.parquet").names
    assert {"begin_ns", "symbol", "device_id"} <= {*names}
    assert not {"start_ns", "name", "context_id"} & {*names}
    assert names.index("block_y") < names.index("block_x")
    assert "function" in part_of(2, ROWS).column_names


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_trace_is_read_under_the_present_names(tmp_path: Path, version: int) -> None:
    with cupti_etl.open(trace_of(tmp_path / "run", version)) as trace:
        assert list(trace.sql("FROM kernel").columns) == [c.name for c in TABLES["kernel"].columns]
        assert_rows(
            trace.sql(SEEN),
            """
            start_ns end_ns name block_x block_y context_id device_id
            10       30     a    1       2       7          -
            40       50     b    3       4       7          -
            """,
        )
        found = [(row["name"], row["calls"]) for row in trace.query("kernel_summary")]
    assert sorted(found) == [("a", 1), ("b", 1)]


def test_parts_of_several_versions_beside_each_other(tmp_path: Path) -> None:
    """As recover leaves a trace of an older version; and several traces opened as one."""
    run, other = trace_of(tmp_path / "run", 1), trace_of(tmp_path / "other", 2)
    write_part(other / "capture/part-000000.parquet", as_table("capture", "capture_id\n 2"))
    add_part(run, "kernel", MORE)
    with cupti_etl.open(run) as trace:
        assert_rows(trace.sql(SEEN), BOTH)
    with cupti_etl.open(run, other) as trace:
        assert trace.sql("FROM kernel WHERE name = 'a'").count() == 3
    with duckdb.connect(write_trace_duckdb(run), read_only=True) as con:
        assert con.sql("SELECT start_ns, block_x FROM kernel ORDER BY 1").fetchall() == [
            (10, 1), (40, 3), (60, 5),
        ]  # fmt: skip


def test_parts_that_come_later_are_read(tmp_path: Path) -> None:
    run = trace_of(tmp_path / "run", 1)
    with cupti_etl.open(run) as trace:
        assert trace.sql("FROM kernel").count() == 2
        write_part(run / "kernel/part-000002.parquet", part_of(1, ROWS))
        assert trace.sql("FROM kernel WHERE start_ns = 40").count() == 2


def scans(plan: Any) -> Iterator[dict[str, Any]]:
    """Those of a plan that read Parquet, with what they are told."""
    for node in plan if isinstance(plan, list) else [plan]:
        if "PARQUET" in node["name"].upper():
            yield node["extra_info"]
        yield from scans(node["children"])


@pytest.mark.parametrize(
    ("condition", "pushed"),
    [
        ("start_ns > 20", "(begin|start)_ns ?> ?20"),
        ("name = 'a'", "(symbol|function|name) ?= ?'a'"),
    ],
)
def test_filters_reach_the_parts(
    tmp_path: Path, condition: str, pushed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_tables, "MOST_BYTES", 0)
    run = trace_of(tmp_path / "run", 1)
    write_part(run / "kernel/part-000002.parquet", part_of(2, ROWS))
    add_part(run, "kernel", ROWS)
    with cupti_etl.open(run) as trace:
        (row,) = trace.sql(f"EXPLAIN (FORMAT json) SELECT end_ns FROM kernel WHERE {condition}")
    found = list(scans(json.loads(row["explain_value"])))
    assert len(found) == 3
    for scan in found:
        assert re.search(pushed, str(scan.get("Filters"))), scan


def test_times_that_nothing_can_have_are_found_under_each_name(tmp_path: Path) -> None:
    run = trace_of(tmp_path / "run", 1)
    impossible = "process_id start_ns end_ns\n 1 9000000000000000000 5"
    write_part(run / "kernel/part-000002.parquet", part_of(1, impossible))
    with cupti_etl.open(run) as trace:
        assert_rows(
            trace.sql("FROM kernel ORDER BY end_ns"), "start_ns end_ns\n - 5\n 10 30\n 40 50"
        )


def test_an_older_trace_is_recovered(tmp_path: Path) -> None:
    run = trace_of(tmp_path / "run", 1)
    write_part(
        run / "kernel/part-000002.parquet", part_of(1, MORE.replace("device_id", "stream_id"))
    )
    unfinished = as_table("capture", "capture_id start_ns\n 1 0")
    write_part(run / "capture/part-000000.parquet", unfinished)
    assert not recover(run).was_finished
    (part,) = (run / "kernel").glob("*.parquet")
    assert pq.read_metadata(part).metadata[b"cupti_etl.schema_version"] == str(VERSION).encode()
    assert {"start_ns", "name"} <= {*pq.read_schema(part).names}
    with cupti_etl.open(run) as trace:
        assert_rows(trace.sql(SEEN), BOTH.replace("8          9", "8          -"))
        # The latest time that it knows.
        assert_rows(trace.sql("FROM loss"), "cause start_ns\n collector_killed 90")


def test_compaction_gives_the_present_names(tmp_path: Path) -> None:
    run = trace_of(tmp_path / "run", 1)
    named = {
        path.name: Entry(pq.read_metadata(path).num_rows, path.stat().st_size, 0)
        for path in (run / "kernel").iterdir()
    }
    compact(Parts(run, {"kernel": named}), ["kernel"])
    (part,) = (run / "kernel").iterdir()
    rows = pq.read_table(part)
    assert rows["start_ns"].to_pylist() == [10, 40]
    assert rows["context_id"].to_pylist() == [7, 7]
    assert "begin_ns" not in rows.column_names
    assert "device_id" not in rows.column_names


def older_file(folder: Path) -> Path:
    """A self-contained file as the first version of the schema wrote it."""
    run = write_trace(folder / "new", capture="capture_id start_ns end_ns\n 1 0 99", kernel=ROWS)
    out = folder / "old.duckdb"
    with cupti_etl.open(run) as trace:
        export_duckdb(trace, out)
    with duckdb.connect(out) as con:
        con.execute("ALTER TABLE kernel DROP COLUMN device_id")
        con.execute("ALTER TABLE kernel RENAME start_ns TO begin_ns")
        con.execute("ALTER TABLE kernel RENAME name TO symbol")
        con.execute("ALTER TABLE kernel RENAME context_id TO device_id")
    return out


@pytest.mark.slow
def test_a_file_that_was_not_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"block_x": (), "block_y": ()}
    columns = tuple(
        dataclasses.replace(c, was=kept.get(c.name, c.was)) for c in TABLES["kernel"].columns
    )
    monkeypatch.setitem(TABLES, "kernel", dataclasses.replace(TABLES["kernel"], columns=columns))
    out = older_file(tmp_path)
    add_part(write_trace(tmp_path / "run", capture="capture_id\n 2"), "kernel", MORE)
    with cupti_etl.open(out) as trace:
        assert trace.sql("FROM kernel WHERE start_ns = 10 AND name = 'a'").count() == 1
    with cupti_etl.open(out, tmp_path / "run") as trace:
        assert_rows(trace.sql(SEEN), BOTH)


def test_what_cannot_be() -> None:
    column = Column("a", i32, "", "A sentence.")
    for was in ((("b", 1),), (("b", 3), ("c", 2)), (("b", 2), ("c", 2))):
        with pytest.raises(SchemaError, match="was= goes up"):
            dataclasses.replace(column, was=was)
    both = [Column(name, i32, "", "A sentence.", was=(("c", 2),)) for name in "ab"]
    with pytest.raises(SchemaError, match="two columns were called the same"):
        Table("t", "A row.", tuple(both))
