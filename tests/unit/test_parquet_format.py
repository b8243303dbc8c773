"""What other engines see of a part: plain types, chosen encodings."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.records import KERNEL, Bench, key, random_record
from support.trace import described

from cupti_etl.schema import reference
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.storage.parquet import ParquetFolder

NAMES = [b"_Z3fooi", b"caf\xc3\xa9", b"bar"]


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """A compacted part of kernels as the decoder gives them, with text as dictionaries."""
    rng = random.Random(1)
    bench = Bench("13.5.25")
    bench.name(*NAMES)
    sink = ParquetFolder(tmp_path / "out")
    table = bench.decoder.tables.index("kernel")
    for _ in range(3):
        layout = bench.layouts[KERNEL]
        keys = [key(name) for name in NAMES]
        bench.decode(b"".join(random_record(rng, KERNEL, layout, keys) for _ in range(200)))
        batch = bench.decoder.take(table)
        assert pa.types.is_dictionary(batch.schema.field("name").type)
        sink.write("kernel", batch)
        sink.roll()
    sink.finish()
    sink.close()
    (found,) = (tmp_path / "out" / "kernel").iterdir()
    return found


def test_the_file_is_of_the_plain_schema_and_the_trace_explains_it(part: Path) -> None:
    assert b"ARROW:schema" not in pq.read_metadata(part).metadata
    assert pq.read_schema(part).equals(arrow_schema("kernel"))
    columns = described(part.parents[1], "kernel")
    assert list(columns.values()) == reference.described(TABLES["kernel"])["columns"]
    assert columns["start_ns"]["doc"] == "When the kernel began."
    assert columns["start_ns"]["unit"] == "ns"
    assert columns.keys() == {column.name for column in TABLES["kernel"].columns}


def test_a_part_without_a_row_has_all_columns_and_no_row_group(part: Path) -> None:
    """As a trace has dozens, of which each group would have a compressor for each column."""
    empty = part.parents[1] / "memcpy" / "part-000000.parquet"
    about = pq.read_metadata(empty)
    assert (about.num_rows, about.num_row_groups) == (0, 0)
    assert b"cupti_etl.schema_version" in about.metadata
    assert pq.read_table(empty).schema.equals(arrow_schema("memcpy"))
    with duckdb.connect() as con:
        found = con.sql(f"FROM read_parquet('{empty}')")
        assert found.columns == arrow_schema("memcpy").names
        assert found.fetchall() == []


def test_duckdb_reads_what_the_columns_mean(part: Path) -> None:
    with duckdb.connect() as con:
        rows = con.sql(
            """SELECT "table", unnest(columns, recursive := true) FROM read_json(?)""",
            params=[str(part.parents[1] / "schema.json")],
        ).to_arrow_table()
    found = {(row["table"], row["name"]): (row["type"], row["doc"]) for row in rows.to_pylist()}
    assert found == {
        (table.name, column.name): (column.type.sql, column.doc)
        for table in TABLES.values()
        for column in table.columns
    }


def test_encodings(part: Path) -> None:
    group = pq.read_metadata(part).row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    for name in ("start_ns", "end_ns", "correlation_id"):
        assert "DELTA_BINARY_PACKED" in columns[name].encodings, name
    for name in ("name", "stream_id", "process_id"):
        assert "RLE_DICTIONARY" in columns[name].encodings, name
    assert {column.compression for column in columns.values()} == {"ZSTD"}


def test_another_engine_reads_the_declared_types(part: Path) -> None:
    with duckdb.connect() as con:
        rows = con.sql(f"DESCRIBE FROM read_parquet('{part}')").fetchall()
        assert {row[0]: row[1] for row in rows} == {
            column.name: column.type.sql for column in TABLES["kernel"].columns
        }
        mine = con.sql(f"FROM read_parquet('{part}')").fetchall()
    assert mine == [tuple(row.values()) for row in pq.read_table(part).to_pylist()]
    starts = [row[1] for row in mine if row[1] is not None]
    assert len(mine) == 600
    assert starts == sorted(starts)
