"""The driver: rolls by its clock, what a slow or full disk changes, and the end of a trace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.endings import Hurried, Program, capture, settle
from support.waiting import wait_until

from cupti_etl.errors import EtlError
from cupti_etl.storage import disk
from cupti_etl.storage.destination import Destination
from cupti_etl.storage.driver import Driver, Source


class Hidden(Hurried):
    """A folder at which nobody looks before it is finished."""

    is_watched = False

    def interval_s(self, age_s: float) -> float:
        return float("inf")


def begin(destination: Destination, source: Source, **options: Any) -> Driver:
    destination.create()
    return Driver(source, destination, {"source": "capture"}, ("kernel",), **options)


def kernels(out: Path) -> int:
    return sum(pq.read_metadata(part).num_rows for part in (out / "kernel").glob("*.parquet"))


def the_capture(out: Path) -> dict[str, Any]:
    (row,) = pq.read_table(out / "capture" / "part-000000.parquet").to_pylist()
    return dict(row)


def test_rows_become_readable_without_anybody_asking(tmp_path: Path) -> None:
    program = Program()
    driver = begin(Hurried(tmp_path / "out"), program)
    settle(driver)
    assert the_capture(tmp_path / "out")["end_ns"] is None
    seen = []
    for _ in range(3):
        program.emit()
        driver.step()
        settle(driver)
        seen.append(kernels(tmp_path / "out"))
    assert seen == [50, 100, 150]
    driver.finish(0)
    assert kernels(tmp_path / "out") == 150


def test_intervals_grow_with_the_age(tmp_path: Path) -> None:
    destination = Destination(tmp_path / "out")
    assert [destination.interval_s(age) for age in (0, 5, 40, 600, 6000)] == [1, 1, 4, 60, 60]


def test_a_disk_that_is_behind_gets_no_more_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are taken all the same, and are there when it has caught up."""
    gate = threading.Event()
    real = disk._sync
    program = Program()
    driver = begin(Hurried(tmp_path / "out"), program)
    settle(driver)
    monkeypatch.setattr(disk, "_sync", lambda path: (gate.wait(60), real(path)))
    for _ in range(5):
        program.emit()
        driver.step()
    done = threading.Event()
    driver._put(lambda sink: done.set())
    assert done.wait(60)
    assert kernels(tmp_path / "out") == 0
    gate.set()
    settle(driver)
    program.emit()
    driver.step()
    settle(driver)
    # One part of the first roll, which waited, and one of all that came meanwhile.
    assert len(list((tmp_path / "out" / "kernel").glob("part-*.parquet"))) == 3
    assert kernels(tmp_path / "out") == 300
    driver.finish(0)


def test_what_nobody_looks_at_is_written_once(tmp_path: Path) -> None:
    program = Program()
    driver = begin(Hidden(tmp_path / "out"), program)
    for _ in range(3):
        program.emit()
        driver.step()
        settle(driver)
    assert kernels(tmp_path / "out") == 0
    assert not list((tmp_path / "out" / "process").glob("*.tmp"))
    driver.finish()
    assert [part.name for part in (tmp_path / "out" / "kernel").iterdir()] == [
        "part-000000.parquet"
    ]
    assert kernels(tmp_path / "out") == 150


def test_that_it_ended_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[tuple[str, bool]] = []
    real = disk.rename

    def rename(before: Path, after: Path) -> None:
        if after.name.startswith("part-"):
            rows = pq.read_table(before)
            ends = rows["end_ns"].drop_null() if after.parent.name == "capture" else []
            named.append((after.parent.name, len(ends) > 0))
        real(before, after)

    monkeypatch.setattr(disk, "rename", rename)
    capture(tmp_path / "out")
    assert [ended for _, ended in named].index(True) == len(named) - 1
    assert named[-1][0] == "capture"


def test_it_is_run_until_told_and_waits_only_for_more(tmp_path: Path) -> None:
    waited: list[int] = []
    asked: list[bool] = []

    class Slow(Program):
        def drain(self) -> bool:
            return len(asked) < 3

        def wait(self, timeout_ms: int) -> None:
            waited.append(timeout_ms)

    driver = begin(Hurried(tmp_path / "out"), Slow())

    def watch(more: bool) -> int | None:
        asked.append(more)
        return 7 if len(asked) < 6 else None

    driver.run(watch)
    driver.finish()
    # At first, and while there was more; then there was none.
    assert asked == [True, True, True, False, False, False]
    assert waited == [7, 7]


def test_while_the_writer_is_busy_the_caller_does_something_else(tmp_path: Path) -> None:
    gate = threading.Event()
    calls: list[int] = []

    def meanwhile() -> None:
        calls.append(1)
        if len(calls) == 3:
            gate.set()

    program = Program()
    driver = begin(Hurried(tmp_path / "out"), program, meanwhile=meanwhile)
    driver._put(lambda sink: gate.wait(60))
    for _ in range(5):
        program.emit()
        driver.step()
    assert len(calls) >= 3
    driver.finish(0)
    assert kernels(tmp_path / "out") == 250


class Broken(Program):
    """Gives rows that cannot be written."""

    def batches(self, everything: bool, is_last: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        for table, batch in super().batches(everything, is_last):
            yield table, batch
            yield table, pa.RecordBatch.from_pydict({"no": ["such column"]})


def test_after_a_failure_the_source_is_still_emptied_and_the_loss_is_told(tmp_path: Path) -> None:
    program = Broken()
    driver = begin(Hurried(tmp_path / "out"), program)
    program.emit()
    driver.step()
    wait_until(lambda: driver.step() or driver.failure)
    for _ in range(50):
        program.emit()
        driver.step()
    assert not program._waiting
    with pytest.raises(EtlError) as raised:
        driver.finish(0)
    assert f"what was written before is in {tmp_path / 'out'}" in raised.value.hint
    (loss,) = pq.read_table(tmp_path / "out" / "loss").to_pylist()
    assert loss["cause"] == "not_written"
    assert the_capture(tmp_path / "out")["end_ns"] is None


def test_what_is_given_up_has_no_end(tmp_path: Path) -> None:
    # Tests before this one in the same process may have left theirs.
    before = threading.enumerate()
    program = Program()
    driver = begin(Hurried(tmp_path / "out"), program)
    (writer,) = (
        each
        for each in threading.enumerate()
        if each.name == "cupti-etl-writer" and each not in before
    )
    program.emit()
    driver.step()
    driver.give_up()
    assert the_capture(tmp_path / "out")["end_ns"] is None
    assert not writer.is_alive()


@pytest.mark.parametrize("begins", [0, 1])
def test_a_source_that_fails_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: int
) -> None:
    """Be it at the beginning or at the end; a thread that waits for work would wait for ever."""
    before = threading.enumerate()
    program, real, asked = Program(), Program.restated, []

    def breaks(self: Program) -> dict[str, list[dict[str, Any]]]:
        asked.append(self)
        if len(asked) > begins:
            raise ValueError("nobody thought of it")
        return real(self)

    monkeypatch.setattr(Program, "restated", breaks)
    with pytest.raises(ValueError, match="nobody thought of it"):
        begin(Hurried(tmp_path / "out"), program).finish(0)
    left = [each for each in threading.enumerate() if each not in before]
    assert [each.name for each in left] == []
