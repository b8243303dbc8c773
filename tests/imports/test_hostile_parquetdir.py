"""Folders of Parquet files that no nsys has written: an error that says what is wrong, or NULL."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.slow import few
from support.trace import assert_rows

import cupti_etl
from cupti_etl.errors import ForeignError
from cupti_etl.imports.run import import_traces

pytestmark = pytest.mark.usefixtures("without_trace_duckdb")

_TID = (1 << 48) | 11 << 24
_PID = 11
_TABLES: dict[str, dict[str, list[Any]]] = {
    "META_DATA_EXPORT": {"name": ["EXPORT_SCHEMA_VERSION"], "value": ["3.25.0"]},
    "StringIds": {"id": [1, 2], "value": ["gemm", "worker"]},
    "CUPTI_ACTIVITY_KIND_KERNEL": {
        "start": [100, 200],
        "end": [150, 250],
        "deviceId": [0, 0],
        "globalPid": [_TID, _TID],
        "demangledName": [1, 1],
    },
    "ThreadNames": {"globalTid": [_TID + 7], "nameId": [2]},
    "PROCESSES": {"globalPid": [_TID], "name": ["train"]},
    "TARGET_INFO_SYSTEM_ENV": {"name": ["Hostname"], "value": ["node"]},
    "TARGET_INFO_GPU": {"id": [3], "name": ["H100"], "uuid": ["GPU-a"], "smCount": [132]},
    "TARGET_INFO_CUDA_DEVICE": {"gpuId": [3], "cudaId": [0], "pid": [_PID], "uuid": ["GPU-a"]},
    "TARGET_INFO_CUDA_STREAM": {"processId": [_PID], "contextId": [1], "streamId": [7]},
}


def _folder(path: Path, **tables: pa.Table) -> Path:
    """The tables above as an export, some of them replaced."""
    path.mkdir()
    for name, columns in _TABLES.items():
        pq.write_table(tables.get(name, pa.table(columns)), path / f"{name}.parquet")
    return path


def _with(table: str, column: str, values: pa.Array) -> dict[str, pa.Table]:
    rows = pa.table(_TABLES[table])
    return {table: rows.set_column(rows.schema.get_field_index(column), column, values)}


def _fails(folder: Path, says: str) -> None:
    """The import ends with an error, and leaves nothing behind."""
    with pytest.raises(ForeignError, match=says):
        import_traces([folder], folder.with_name("out"), 1)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("again", ["deviceId", "DEVICEID"])
def test_a_column_that_is_there_twice(tmp_path: Path, again: str) -> None:
    rows = pa.table(_TABLES["CUPTI_ACTIVITY_KIND_KERNEL"])
    rows = rows.append_column(again, pa.array([1, 1]))
    folder = _folder(tmp_path / "t", CUPTI_ACTIVITY_KIND_KERNEL=rows)
    _fails(folder, "CUPTI_ACTIVITY_KIND_KERNEL.parquet is damaged: it has two columns deviceid")


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    other = _with("CUPTI_ACTIVITY_KIND_KERNEL", "start", pa.array(["a", "b"]))
    _fails(_folder(tmp_path / "t", **other), "KERNEL.parquet is damaged: column start: ")


def test_text_that_is_none(tmp_path: Path) -> None:
    other = _with("PROCESSES", "name", pa.array([b"\xff"], pa.binary()).view(pa.string()))
    _fails(_folder(tmp_path / "t", **other), "PROCESSES.parquet is damaged: 'utf-8'")


@pytest.mark.parametrize(
    ("table", "column", "value", "asked"),
    few(
        3,
        [
            ("ThreadNames", "nameId", 1 << 63, "SELECT name FROM name WHERE thread_id = 7"),
            ("TARGET_INFO_CUDA_STREAM", "streamId", "", "SELECT stream_id FROM stream"),
            ("TARGET_INFO_CUDA_STREAM", "streamId", 1 << 31, "SELECT stream_id FROM stream"),
            ("TARGET_INFO_GPU", "name", 5, "SELECT name FROM device"),
            ("TARGET_INFO_GPU", "smCount", math.inf, "SELECT multiprocessors FROM device"),
            ("TARGET_INFO_CUDA_DEVICE", "gpuId", [3], "SELECT name FROM device"),
            ("PROCESSES", "name", 5, "SELECT argv FROM process"),
            ("PROCESSES", "globalPid", {"a": 1}, "SELECT argv FROM process"),
            ("TARGET_INFO_SYSTEM_ENV", "value", 5, "SELECT host FROM process"),
        ],
    ),
)
def test_a_value_that_does_not_fit_is_not_known(
    tmp_path: Path, table: str, column: str, value: Any, asked: str
) -> None:
    kind = pa.uint64() if value == 1 << 63 else None
    import_traces(
        [_folder(tmp_path / "t", **_with(table, column, pa.array([value], kind)))],
        tmp_path / "out",
        1,
    )
    with cupti_etl.open(tmp_path / "out") as trace:
        assert [list(row.values()) for row in trace.sql(asked)] == [[None]]
        assert trace.sql("FROM kernel").count() == 2


def test_a_stream_of_a_process_that_is_no_number(tmp_path: Path) -> None:
    other = _with("TARGET_INFO_CUDA_STREAM", "processId", pa.array([math.inf]))
    import_traces([_folder(tmp_path / "t", **other)], tmp_path / "out", 1)
    with cupti_etl.open(tmp_path / "out") as trace:
        assert trace.sql("FROM stream").count() == 0
        assert [dict(row) for row in trace.sql("SELECT name FROM device")] == [{"name": "H100"}]


def test_rows_of_which_no_column_is_known_are_counted(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "t")
    pq.write_table(pa.table({"a": [1, 2, 3]}), folder / "CUPTI_ACTIVITY_KIND_RUNTIME.parquet")
    import_traces([folder], tmp_path / "out", 1)
    with cupti_etl.open(tmp_path / "out") as trace:
        assert trace.sql("FROM kernel").count() == 2
        assert_rows(
            trace.sql("FROM import_skipped WHERE category = 'unsupported'"),
            """
            what                        events detail
            CUPTI_ACTIVITY_KIND_RUNTIME 3      "none of its columns is known"
            """,
        )


def test_a_folder_is_wanted_and_not_one_of_its_files(tmp_path: Path) -> None:
    file = _folder(tmp_path / "t") / "StringIds.parquet"
    with pytest.raises(ForeignError, match="is one file of Parquet"):
        import_traces([file], tmp_path / "out", 1)
    assert not (tmp_path / "out").exists()


def test_a_trace_in_one_file_is_there_to_be_asked(tmp_path: Path) -> None:
    file = tmp_path / "run42.duckdb"
    duckdb.connect(file).close()
    written = file.read_bytes()
    # It begins with a checksum.
    for first in (b"", b"{", b" ["):
        file.write_bytes(first + written[len(first) :])
        with pytest.raises(ForeignError, match="is of DuckDB; .* ask it with `cupti-etl sql`"):
            import_traces([file], tmp_path / "out", 1)


def test_the_files_of_a_log_folder_are_named(tmp_path: Path) -> None:
    # As torch.profiler's tensorboard_trace_handler writes them.
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "host_1.pt.trace.json").write_text("{}")
    with pytest.raises(ForeignError, match="is a folder without Parquet files") as raised:
        import_traces([tmp_path / "log"], tmp_path / "trace", 1)
    assert raised.value.hint == f"give its files: cupti-etl import {tmp_path}/log/*.json -o OUT"
