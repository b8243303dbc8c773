"""Parts get their names beside the thread that writes: a slow disk holds nobody up."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.waiting import wait_until

from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage import disk
from cupti_etl.storage.parquet import ParquetFolder


def kernels(first: int) -> pa.RecordBatch:
    rows = [{"process_id": 1, "start_ns": first + i, "name": "k"} for i in range(10)]
    return pa.RecordBatch.from_pylist(rows, arrow_schema("kernel"))


def count(out: Path) -> int:
    return sum(pq.read_metadata(path).num_rows for path in (out / "kernel").glob("*.parquet"))


def test_while_an_fsync_lasts_rows_are_taken_and_nothing_is_rolled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    real = disk._sync
    threads = set()

    def slow(path: Path) -> None:
        threads.add(threading.current_thread())
        assert gate.wait(60)
        real(path)

    monkeypatch.setattr(disk, "_sync", slow)
    sink = ParquetFolder(tmp_path / "out", ["kernel", "capture"])
    for i in range(5):
        sink.write("kernel", kernels(10 * i))
        sink.roll()
        assert sink.is_behind()
    assert count(tmp_path / "out") == 0  # what is not on the disk has no name
    gate.set()
    wait_until(lambda: not sink.is_behind())
    assert count(tmp_path / "out") == 50
    sink.finish()
    sink.close()
    assert count(tmp_path / "out") == 50
    assert threading.main_thread() not in threads or len(threads) > 1


def test_an_fsync_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = ParquetFolder(tmp_path / "out", ["kernel", "capture"])

    def fail(path: Path) -> None:
        raise OSError(5, "Input/output error")

    sink._publisher.wait()
    monkeypatch.setattr(disk, "_sync", fail)
    sink.write("kernel", kernels(0))
    with pytest.raises(OSError, match="Input/output error"):
        sink.finish()
    assert count(tmp_path / "out") == 0
    monkeypatch.undo()
    sink.close()


def test_without_room_for_the_manifest_parts_are_there_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = ParquetFolder(tmp_path / "out", ["kernel", "capture"])
    sink._publisher.wait()

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "write", full)
    sink.write("kernel", kernels(0))
    with pytest.raises(OSError, match="No space"):
        sink.finish()
    assert count(tmp_path / "out") == 10
    monkeypatch.undo()
    sink.close()
