"""The trace folder as it is written: parts, rolls, compaction."""

from __future__ import annotations

import errno
import json
import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.slow import few
from support.waiting import wait_until

import cupti_etl
from cupti_etl.errors import UsageError
from cupti_etl.queries.trace_duckdb import write_trace_duckdb
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES, arrow_schema
from cupti_etl.storage import compaction, manifest, parquet
from cupti_etl.storage.compaction import compact
from cupti_etl.storage.exchange import exchange
from cupti_etl.storage.parquet import ParquetFolder
from cupti_etl.storage.parts import Parts


def kernels(starts: list[int], name: str = "k") -> pa.RecordBatch:
    rows = [
        {"process_id": 1, "start_ns": start, "end_ns": start + 5, "name": name} for start in starts
    ]
    batch = pa.RecordBatch.from_pylist(rows, arrow_schema("kernel"))
    text = batch.schema.get_field_index("name")
    # As the decoder gives it.
    return batch.set_column(text, "name", batch.column("name").dictionary_encode())


def readable(sink: ParquetFolder) -> ParquetFolder:
    """Wait until what was rolled is readable."""
    wait_until(lambda: not sink.is_behind())
    return sink


def parts(out: Path, table: str = "kernel") -> list[Path]:
    return sorted((out / table).iterdir())


def test_every_table_is_there_from_the_start(tmp_path: Path) -> None:
    sink = readable(ParquetFolder(tmp_path / "out"))
    described = {
        each["table"]: each for each in json.loads((tmp_path / "out/schema.json").read_text())
    }
    assert described.keys() == TABLES.keys()
    for table in TABLES:
        (part,) = parts(tmp_path / "out", table)
        assert pq.read_metadata(part).num_rows == 0
        schema = pq.read_schema(part)
        assert schema.equals(arrow_schema(table))
        about = described[table]["columns"]
        for field, said, column in zip(schema, about, TABLES[table].columns, strict=True):
            assert field.name == said["name"]
            assert said["doc"] == column.doc
            assert said["unit"] == column.unit
    sink.close()


def test_a_part_says_whose_it_is_and_no_more(tmp_path: Path) -> None:
    """What its columns mean would be most of a small part."""
    sink = readable(ParquetFolder(tmp_path / "out", ["kernel"]))
    (part,) = parts(tmp_path / "out")
    assert pq.read_metadata(part).metadata == {
        b"cupti_etl.table": b"kernel",
        b"cupti_etl.schema_version": str(SCHEMA_VERSION).encode(),
    }
    assert part.stat().st_size < 5000
    sink.close()


def test_a_table_that_comes_later_is_described_with_its_first_part(tmp_path: Path) -> None:
    sink = readable(ParquetFolder(tmp_path / "out", ["capture"]))
    described = tmp_path / "out/schema.json"
    assert [each["table"] for each in json.loads(described.read_text())] == ["capture"]
    sink.write("kernel", kernels([1]))
    sink.roll()
    readable(sink)
    assert {each["table"] for each in json.loads(described.read_text())} == {"capture", "kernel"}
    before = described.read_bytes(), described.stat().st_mtime_ns
    sink.write("kernel", kernels([2]))
    sink.finish()
    sink.close()
    assert (described.read_bytes(), described.stat().st_mtime_ns) == before


def test_types_are_those_that_every_engine_reads(tmp_path: Path) -> None:
    sink = readable(ParquetFolder(tmp_path / "out"))
    allowed = {"INT32", "INT64", "DOUBLE", "BOOLEAN", "BYTE_ARRAY"}
    for table in TABLES:
        (part,) = parts(tmp_path / "out", table)
        schema = pq.ParquetFile(part).schema
        assert {schema.column(i).physical_type for i in range(len(schema))} <= allowed
        assert not [f for f in arrow_schema(table) if pa.types.is_unsigned_integer(f.type)]
    sink.close()


def test_a_roll_makes_rows_readable_and_compaction_sorts_them(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    starts = list(range(1000))
    random.Random(1).shuffle(starts)
    for i in range(0, 1000, 100):
        sink.write("kernel", kernels(starts[i : i + 100], f"k{i}"))
        sink.roll()
    readable(sink)
    assert len(parts(tmp_path / "out")) == 11
    sink.finish()
    sink.close()
    (part,) = parts(tmp_path / "out")
    table = pq.read_table(part)
    assert table.column("start_ns").to_pylist() == list(range(1000))
    assert len(set(table.column("name").to_pylist())) == 10
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []


def test_parts_that_are_large_already_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "PART_ROWS", 100)
    sink = ParquetFolder(tmp_path / "out")
    for i in range(4):
        sink.write("kernel", kernels(list(range(i * 150, i * 150 + 150))))
        sink.roll()
    readable(sink)
    before = {path.stat().st_ino for path in parts(tmp_path / "out")}
    sink.finish()
    sink.close()
    after = parts(tmp_path / "out")
    assert len({path.stat().st_ino for path in after} & before) >= 3
    assert sum(pq.read_metadata(path).num_rows for path in after) == 600


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(compaction, "PART_ROWS", 100)
    monkeypatch.setattr("os.link", refuse)
    sink = ParquetFolder(tmp_path / "out")
    for i in range(4):
        sink.write("kernel", kernels(list(range(i * 150, i * 150 + 150))))
        sink.roll()
    sink.finish()
    sink.close()
    rows = pq.read_table(tmp_path / "out" / "kernel")
    assert rows.column("start_ns").to_pylist() == list(range(600))


def test_compacting_again_changes_nothing(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.write("kernel", kernels([3, 1, 2]))
    sink.finish()
    sink.close()
    (before,) = parts(tmp_path / "out")
    content = before.read_bytes()
    named = manifest.read(tmp_path / "out")
    assert named is not None
    compact(Parts(tmp_path / "out", named), ["kernel"])
    assert before.read_bytes() == content


@pytest.mark.parametrize("limit", ["_GROUP_ROWS", "_GROUP_BYTES"])
def test_rows_that_were_compressed_already_stay_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Also where no part was finished before: many rows, or few of long texts."""
    monkeypatch.setattr(parquet, limit, 1000)
    sink = ParquetFolder(tmp_path / "run", ["kernel"])
    rows = kernels(list(range(1200)) if limit == "_GROUP_ROWS" else [1, 2], "n" * 600)
    sink.write("kernel", rows)
    sink.write("kernel", kernels([5000]))
    sink.finish()
    sink.close()
    stored = sum(pq.ParquetFile(part).metadata.num_rows for part in parts(tmp_path / "run"))
    assert stored == len(rows) + 1


def test_a_small_table_is_replaced_whole(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.replace("loss", [{"cause": "killed"}])
    sink.replace("loss", [{"cause": "ring_full", "records": 5}, {"cause": "killed"}])
    sink.roll()
    readable(sink)
    (part,) = parts(tmp_path / "out", "loss")
    rows = pq.read_table(part).to_pylist()
    assert [row["cause"] for row in rows] == ["ring_full", "killed"]
    assert rows[0]["records"] == 5
    assert rows[1]["records"] is None
    sink.close()


def test_an_output_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        ParquetFolder(tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be created"):
        ParquetFolder(tmp_path / "file" / "out")
    for name, why in (("a?b", r"has a \? in it"), ("a\\b", "in it"), ("\udcff", "UTF-8")):
        with pytest.raises(UsageError, match=why):
            ParquetFolder(tmp_path / name)


@pytest.mark.parametrize(
    "name", few(3, ["it's [a]*", 'quo"te', "%h", "ünï", "-dash", "{a,b}", "x.csv"])
)
def test_odd_names(tmp_path: Path, name: str) -> None:
    sink = ParquetFolder(tmp_path / name)
    sink.write("kernel", kernels([1, 2, 3]))
    sink.finish()
    sink.close()
    with cupti_etl.open(tmp_path / name) as trace:
        assert trace.sql("FROM kernel").count() == 3
    with duckdb.connect(write_trace_duckdb(tmp_path / name), read_only=True) as con:
        assert len(con.sql("FROM kernel").fetchall()) == 3


@pytest.mark.parametrize("atomic", [True, False])
def test_exchange(tmp_path: Path, atomic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for folder in (a, b):
        folder.mkdir()
        (folder / folder.name).touch()
    if not atomic:
        monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    exchange(a, b)
    assert (a / "b").exists()
    assert (b / "a").exists()
