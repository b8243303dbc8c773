"""Columns that a capture adds to pm_sample: in every form of a trace, and in several at once."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command import etl
from support.trace import add_part, assert_rows, described, write_trace

import cupti_etl
from cupti_etl.render.duckdb_file import convert, export_duckdb
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage.parquet import ParquetFolder
from cupti_etl.storage.stream import ArrowStream

FIXED = ["device_uuid", "start_ns", "end_ns"]
# A metric can be asked for by its own name.
BY_NAME = "sm__cycles_active.avg"


def samples(first: int, count: int) -> pa.RecordBatch:
    more = [
        pa.field("sm_active_pct", pa.float64(), metadata={"doc": "Busy SMs.", "unit": "%"}),
        pa.field(BY_NAME, pa.float64(), metadata={"doc": "Cycles.", "unit": "1"}),
    ]
    schema = pa.schema([*arrow_schema("pm_sample"), *more])
    starts = [first + 50 * at for at in range(count)]
    columns = [
        ["GPU-1"] * count,
        starts,
        [start + 50 for start in starts],
        [start / 2 for start in starts],
        [None] * count,
    ]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def test_parts_of_a_folder_carry_and_explain_them(tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "run")
    for first in (5000, 0):
        sink.write("pm_sample", samples(first, 100))
        sink.roll()
    sink.finish()
    sink.close()
    (part,) = (tmp_path / "run/pm_sample").iterdir()
    rows = pq.read_table(part)
    assert rows.column_names == [*FIXED, "sm_active_pct", BY_NAME]
    assert rows["start_ns"].to_pylist() == list(range(0, 10000, 50))
    assert rows["sm_active_pct"].to_pylist() == [start / 2 for start in range(0, 10000, 50)]
    columns = described(tmp_path / "run", "pm_sample")
    assert list(columns) == rows.column_names
    assert (columns["sm_active_pct"]["doc"], columns["sm_active_pct"]["unit"]) == ("Busy SMs.", "%")
    assert (columns[BY_NAME]["doc"], columns[BY_NAME]["unit"]) == ("Cycles.", "1")


@pytest.mark.parametrize("rows", [0, 3])
def test_a_stream_has_the_columns_of_the_first_rows(tmp_path: Path, rows: int) -> None:
    out = tmp_path / "out.arrows"
    sink = ArrowStream(os.open(out, os.O_CREAT | os.O_WRONLY), "pm_sample", "out")
    if rows:
        sink.write("pm_sample", samples(0, rows))
    sink.finish()
    sink.close()
    table = pa.ipc.open_stream(out).read_all()
    assert table.column_names == FIXED + (["sm_active_pct", BY_NAME] if rows else [])
    assert len(table) == rows


SAMPLES = "device_uuid start_ns end_ns {column}\n GPU-{at} 0 50 {at}\n GPU-{at} 50 100 -"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two captures with other metrics, as their folders look while they grow."""
    paths = []
    for at, column in ((1, "sm_active_pct"), (2, '"sm__x y.avg"')):
        path = write_trace(tmp_path / f"run{at}", capture=f"capture_id\n {at}")
        add_part(path, "pm_sample", SAMPLES.format(column=column, at=at))
        paths.append(path)
    return paths


def in_file(folder: Path) -> Path:
    out = folder.with_suffix(".duckdb")
    convert(folder, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("form", ["folders", "files", "both"])
def test_several_captures_have_the_columns_of_all(runs: list[Path], form: str) -> None:
    given = {
        "folders": lambda: runs,
        "files": lambda: map(in_file, runs),
        "both": lambda: [runs[0], in_file(runs[1])],
    }[form]()
    with cupti_etl.open(*given) as trace:
        result = trace.sql("FROM pm_sample ORDER BY device_uuid, start_ns")
        assert list(result.columns) == [*FIXED, "sm_active_pct", "sm__x y.avg"]
        assert_rows(
            result,
            """
            device_uuid start_ns sm_active_pct "sm__x y.avg"
            GPU-1       0        1             -
            GPU-1       50       -             -
            GPU-2       0        -             2
            GPU-2       50       -             -
            """,
        )


@pytest.mark.slow
def test_a_file_is_exported_from_a_file(runs: list[Path], tmp_path: Path) -> None:
    with cupti_etl.open(*map(in_file, runs)) as trace:
        assert export_duckdb(trace, tmp_path / "again.duckdb") == []
    with cupti_etl.open(tmp_path / "again.duckdb") as trace:
        result = trace.sql('SELECT sum(sm_active_pct) AS a, sum("sm__x y.avg") AS b FROM pm_sample')
        assert_rows(result, "a b\n 1 2")


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_tables_are_exported_with_them(runs: list[Path], tmp_path: Path, form: str) -> None:
    out = tmp_path / f"samples.{form}"
    words = ["export", str(runs[1]), "--table", "pm_sample", "--to", form, str(out)]
    done = etl(*words)
    assert done.returncode == 0, done.stderr
    path = out if out.is_file() else next(out.iterdir())
    if form == "csv":
        header = path.read_text().splitlines()[0]
        assert header == "device_uuid,start_ns,end_ns,sm__x y.avg"
    elif form == "parquet":
        assert pq.read_table(path)["sm__x y.avg"].to_pylist() == [2.0, None]
    else:
        assert pa.ipc.open_stream(path).read_all()["sm__x y.avg"].to_pylist() == [2.0, None]


def test_without_samples_there_are_the_columns_of_every_trace(tmp_path: Path) -> None:
    with cupti_etl.open(write_trace(tmp_path / "run")) as trace:
        assert list(trace.sql("FROM pm_sample").columns) == FIXED
