"""Traces of a flight recorder on a disk that fails, and the folder that they are in."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.captures import table

import cupti_etl
from cupti_etl.capture.recorder import Recorder
from cupti_etl.capture.ring import pack
from cupti_etl.capture.span import Span
from cupti_etl.config import FlightOptions, Retain
from cupti_etl.errors import EtlError, TraceError, UsageError
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage import part
from cupti_etl.storage.flight_folder import FlightFolder, held
from cupti_etl.storage.flights import is_flight_folder, is_over, traces_in

HOUR = 3600 * 10**9


def kernels(count: int) -> pa.RecordBatch:
    rows = [{"process_id": 1, "start_ns": at, "end_ns": at + 1, "name": "k"} for at in range(count)]
    return pa.RecordBatch.from_pylist(rows, arrow_schema("kernel"))


class Collector:
    """Stands in for the one of a capture: a process that goes on."""

    traced = (object(),)

    def __init__(self) -> None:
        self.waiting: list[tuple[str, pa.RecordBatch]] = []

    def drain(self) -> bool:
        return False

    def wait(self, timeout_ms: int) -> None:
        pass

    def batches(self, everything: bool, is_last: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        while self.waiting:
            yield self.waiting.pop()

    def restated(self) -> dict[str, list[dict[str, Any]]]:
        return {"process": [{"process_id": 1, "pid": 7, "end_ns": None}], "loss": []}

    def facts(self) -> dict[str, Any]:
        return {}

    def take_ended(self) -> list[Any]:
        return []

    def alive(self) -> list[Any]:
        return []


class Run:
    """A recorder, and the signals that it gets."""

    def __init__(self, folder: Path, after_ns: int = 0) -> None:
        self.collector = Collector()
        self.folder = FlightFolder(folder, is_synced=False)
        self.folder.create()
        self.signals = 0
        self.recorder = Recorder(
            self.collector,  # type: ignore[arg-type]
            self.folder,
            FlightOptions(HOUR, after_ns, 1 << 20, ("signal",)),
            ({"source": "capture", "start_ns": 1}, ["kernel"]),
            lambda: self.signals,
            lambda: None,
            quiet=True,
        )

    def signal(self, rows: int) -> None:
        """Rows come, and then the signal."""
        self.collector.waiting.append(("kernel", kernels(rows)))
        self.signals += 1
        self.recorder.step()


def test_a_disk_that_is_full_when_the_trigger_fires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That trace is not whole, and says so; the next one has all of it."""
    run, real = Run(tmp_path / "run"), part.PartFile.write

    def full(self: part.PartFile, rows: pa.Table) -> None:
        if "001" in str(self.path) and len(rows) > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, rows)

    monkeypatch.setattr(part.PartFile, "write", full)
    run.signal(50)
    run.signal(50)
    with pytest.raises(EtlError, match="No space left on device"):
        run.recorder.finish(0)
    first, second = run.folder.traces
    assert "No space left" in capsys.readouterr().err
    assert [row["cause"] for row in table(first, "loss").to_pylist()] == ["not_written"]
    assert table(second, "kernel").num_rows == 100
    assert table(second, "loss").num_rows == 0
    assert is_over(run.folder.out)


def test_a_disk_that_is_too_slow_for_what_comes_after(tmp_path: Path) -> None:
    span = Span([], 50_000)
    for at in range(100):
        span.add(pack("kernel", kernels(100), at, at))
    written = sum(batch.num_rows for _, batch in span.batches(True, True))
    (loss,) = span.restated()["loss"]
    assert (loss["cause"], loss["table_name"]) == ("not_written", "kernel")
    assert written + loss["records"] == 100 * 100
    assert 0 < written < 100 * 100


def test_what_the_ring_held_leaves_no_more_room_for_what_comes_after() -> None:
    first = [pack("kernel", kernels(100), at, at) for at in range(8)]
    size = first[0].data.size
    span = Span(first, 2 * size)

    def come(count: int) -> None:
        for at in range(count):
            span.add(pack("kernel", kernels(100), at, at))

    def lost() -> int:
        return sum(row["records"] for row in span.restated()["loss"])

    come(2)
    assert sum(batch.num_rows for _, batch in span.batches(True, False)) == 800
    come(2)
    assert lost() == 200
    assert sum(batch.num_rows for _, batch in span.batches(True, False)) == 200
    come(2)
    assert lost() == 200


def test_what_nobody_thought_of_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path / "run")

    def breaks(*_: object) -> None:
        raise ValueError("nobody thought of it")

    monkeypatch.setattr(Span, "restated", breaks)
    run.signal(1)
    with pytest.raises(EtlError, match="the trace cannot be written: nobody thought of it"):
        run.recorder.finish(0)
    assert "001-signal: the trace cannot be written" in capsys.readouterr().err


def test_a_folder_that_cannot_be_finished_is_still_one_of_a_flight_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, real = Run(tmp_path / "run"), Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        if self.name.startswith("flight-recorder"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, content)

    run.signal(1)
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EtlError, match="cannot be finished.*No space left") as caught:
        run.recorder.finish(0)
    assert caught.value.hint is not None
    assert f"cupti-etl recover {run.folder.out}" in caught.value.hint
    assert is_flight_folder(run.folder.out)
    assert not is_over(run.folder.out)
    with held(run.folder.out):
        pass


def test_what_somebody_put_into_the_folder_stays(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    (run.folder.out / "notes").write_text("mine")
    run.recorder.finish(0)
    assert (run.folder.out / "notes").read_text() == "mine"


def test_the_thousandth_trace_comes_after_those_before(tmp_path: Path) -> None:
    for name in ("1000-signal", "999-hang", "001-exit", "1000", "notes"):
        (tmp_path / name).mkdir()
    assert [each.name for each in traces_in(tmp_path)] == ["001-exit", "999-hang", "1000-signal"]


def test_all_that_ended_since_is_counted_from_the_last_row_dropped(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.recorder.ring.span_ns = -1  # all is older
    run.signal(3)
    run.recorder.ring.span_ns = HOUR
    run.signal(4)
    run.recorder.finish(0)
    second = run.folder.traces[1]
    (gone,) = table(second, "discarded").to_pylist()
    assert (gone["rows"], gone["reason"]) == (3, "age")
    assert table(second, "capture")["start_ns"].to_pylist() == [gone["end_ns"]]
    with cupti_etl.open(second) as trace:
        (row,) = trace.sql("SELECT detail FROM run_summary WHERE subject = 'kept'")
        assert row["detail"] == "the end of the run: 3 older rows were not kept"


def test_the_oldest_traces_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path / "run")
    run.signal(5)
    (trace,) = run.folder.traces
    run.folder.retain = Retain(most_bytes=1)
    run.recorder.finish(0)
    assert not trace.exists()
    assert str(run.folder) == "no trace is there"
    assert run.recorder.summary().endswith("; 1 trace removed for --retain")


def test_a_trace_that_is_new_and_small_stays(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.folder.retain = Retain(age_ns=HOUR, most_bytes=10**9)
    run.signal(5)
    run.signal(5)
    run.recorder.finish(0)
    assert all(trace.exists() for trace in run.folder.traces)
    (first, second) = run.folder.traces
    os.utime(first, ns=(1, 1))
    assert run.folder.tidy([first, second]) == [first]
    assert run.folder.tidy([second]) == []
    assert run.folder.tidy([tmp_path / "taken away", second]) == []


def test_a_range_that_is_still_open_is_there_however_old(tmp_path: Path) -> None:
    """Of others that began before, there is only the end, if that is not too old."""
    run = Run(tmp_path / "run")
    run.recorder.ring.span_ns = -1  # all is older

    def markers(*rows: tuple[int, int, str, str | None]) -> None:
        names = ("process_id", "marker_id", "event", "name")
        made = [{**dict(zip(names, row, strict=True)), "timestamp_ns": 5} for row in rows]
        batch = pa.RecordBatch.from_pylist(made, arrow_schema("marker"))
        run.collector.waiting.append(("marker", batch))
        run.signal(0)

    markers((1, 1, "start", "epoch"), (1, 2, "start", "step"), (2, 1, "start", "other"))
    markers((1, 2, "end", None), (1, 3, "instant", "mark"), (2, 1, "end", None))
    run.recorder.ring.span_ns = HOUR
    markers((1, 4, "start", "step"))
    run.recorder.finish(0)
    last = run.folder.traces[-1]
    assert sorted(table(last, "marker")["name"].to_pylist()) == ["epoch", "step"]
    gone = {r["table_name"]: r["rows"] for r in table(last, "discarded").to_pylist()}
    assert gone["marker"] == 5


def test_the_folder_says_what_to_open(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    with pytest.raises(TraceError, match="holds 0 traces"):
        cupti_etl.open(run.folder.out)
    with pytest.raises(UsageError, match="being written"), held(run.folder.out):
        pass
    run.signal(1)
    run.recorder.finish(0)
    with pytest.raises(TraceError, match="holds 1 trace\n") as caught:
        cupti_etl.open(run.folder.out)
    assert caught.value.hint == f"open one of them: {run.folder.out / '001-signal'}"
    with held(run.folder.out):
        pass
