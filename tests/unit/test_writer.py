"""The writer's thread: order, back-pressure, and what a failing sink does to the rest."""

from __future__ import annotations

import errno
import threading
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.driver import Writer
from cupti_etl.storage.parquet import ParquetFolder


def writer(out: Path) -> Writer:
    made = Writer(partial(ParquetFolder, out, TABLES))
    made.start()
    return made


def over(made: Writer) -> None:
    """Let it do what waits, and let go of the folder."""
    made.finish()
    made.salvage({})


def never() -> None:
    raise AssertionError("the queue is full, and nobody empties it")


def test_work_is_done_in_order_and_all_of_it(tmp_path: Path) -> None:
    done: list[int] = []
    made = writer(tmp_path / "out")
    for i in range(200):
        made.put(lambda _, i=i: done.append(i), lambda: None)  # type: ignore[misc]
    over(made)
    assert done == list(range(200))
    assert made.failure is None


def test_while_the_sink_is_slow_the_caller_goes_on_with_something_else(tmp_path: Path) -> None:
    gate = threading.Event()
    calls: list[int] = []

    def meanwhile() -> None:
        calls.append(1)
        if len(calls) == 3:
            gate.set()

    made = writer(tmp_path / "out")
    for _ in range(40):
        made.put(lambda _: gate.wait(10), meanwhile)  # type: ignore[arg-type, return-value]
    over(made)
    assert len(calls) >= 3
    assert made.failure is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (pa.ArrowInvalid("bad batch\nin some function"), "bad batch"),
    ],
    ids=["full disk", "arrow"],
)
def test_after_a_failure_nothing_is_written_and_nobody_waits(
    tmp_path: Path, error: Exception, told: str
) -> None:
    after: list[int] = []

    def fail(_: ParquetFolder) -> None:
        raise error

    made = writer(tmp_path / "out")
    made.put(fail, never)
    for _ in range(500):
        made.put(lambda _: after.append(1), lambda: None)
    over(made)
    assert made.failure is not None
    assert made.failure.message == f"the trace cannot be written: {told}"
    assert after == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    made = writer(tmp_path / "out")
    for _ in range(100):
        made.put(lambda _: None, lambda: None)
    over(made)
    assert made.failure is not None
    assert "exists already" in made.failure.message


def test_a_mistake_of_ours_does_not_hold_up_the_program(tmp_path: Path) -> None:
    def mistake(_: ParquetFolder) -> None:
        raise KeyError("a bug")

    waits: list[int] = []

    def meanwhile() -> None:
        waits.append(1)
        if len(waits) > 20:
            never()

    made = writer(tmp_path / "out")
    for _ in range(100):
        made.put(mistake, meanwhile)
    over(made)
    assert made.failure is not None
