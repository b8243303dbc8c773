"""A trace that grows and of which only the newest is kept: bounded, openable, and honest."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.captures import table
from support.endings import verdict_and_kernels

import cupti_etl
from cupti_etl.commands._capture_values import check_retain
from cupti_etl.config import Retain
from cupti_etl.errors import UsageError
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage import manifest, parts
from cupti_etl.storage.parquet import ParquetFolder
from cupti_etl.storage.recovery import recover
from cupti_etl.storage.retention import Retention

S = 10**9
TABLES = ("kernel", "device", "clock", "capture", "process", "loss", "row_count", "discarded")


class Growing:
    """A trace to which a minute comes at a time: 100 kernels, each named after its minute."""

    def __init__(self, out: Path, retain: Retain) -> None:
        self.out = out
        self.minute = 0
        self.retention = Retention(retain, lambda: self.minute * 60 * S)
        self.target = ParquetFolder(out, TABLES, is_synced=False, retention=self.retention)
        self.target.replace("capture", [{"capture_id": 1}])
        self.write("device", [{"process_id": 1, "device_id": 0}])

    def write(self, name: str, rows: list[dict[str, object]]) -> None:
        self.target.write(name, pa.RecordBatch.from_pylist(rows, arrow_schema(name)))

    def go_on(self, minutes: int, rows: int = 100) -> None:
        for _ in range(minutes):
            at = self.minute * 60 * S
            self.minute += 1
            row = {"process_id": 1, "start_ns": at, "end_ns": at + 59 * S}
            self.write("kernel", [{**row, "name": f"k{self.minute - 1}"}] * rows)
            self.write("clock", [{"realtime_ns": at}])
            self.target.roll()

    def parts(self, name: str) -> int:
        return len(list((self.out / name).glob("part-*.parquet")))

    def minutes(self) -> list[int]:
        """The minutes of which kernels are there."""
        names = set(table(self.out, "kernel")["name"].to_pylist())
        return sorted(int(name[1:]) for name in names)


def gone(out: Path) -> dict[tuple[str, str], int]:
    rows = table(out, "discarded").to_pylist()
    return {(row["table_name"], row["reason"]): row["rows"] for row in rows}


@pytest.mark.slow
def test_what_is_older_goes_and_is_said(tmp_path: Path) -> None:
    trace = Growing(tmp_path / "trace", Retain(age_ns=3600 * S))
    for _ in range(4):
        trace.go_on(60)
        assert trace.parts("kernel") <= 64
        assert trace.minute - 60 >= trace.minutes()[0] - 1
        # It can be opened and asked at any time.
        with cupti_etl.open(trace.out) as opened:
            there = opened.sql("FROM kernel").count()
        assert there + gone(trace.out).get(("kernel", "age"), 0) == trace.minute * 100
    # No more than an eighth of the age, and what has just come, is there too long.
    assert trace.minutes()[0] >= 240 - 60 - 10
    assert trace.minutes() == list(range(trace.minutes()[0], 240))
    row = next(r for r in table(trace.out, "discarded").to_pylist() if r["table_name"] == "kernel")
    # What ended later is all there.
    assert row["end_ns"] == trace.minutes()[0] * 60 * S
    assert row["detail"] == "older than the 1 h that --retain keeps"
    # What the rest needs is never too old.
    assert table(trace.out, "device").num_rows == 1
    trace.target.finish()
    trace.target.close()


@pytest.mark.slow
def test_a_size(tmp_path: Path) -> None:
    most = 100_000
    trace = Growing(tmp_path / "trace", Retain(most_bytes=most))
    for _ in range(5):
        trace.go_on(40)
        named = manifest.read(trace.out)
        assert named is not None
        # And what cannot go: the last part of each table, and the tables about the trace.
        bytes_there = sum(entry.bytes for each in named.values() for entry in each.values())
        assert bytes_there <= most + 30_000
    assert ("kernel", "size") in gone(trace.out)
    assert trace.minutes()[-1] == 199
    rows = table(trace.out, "kernel").num_rows
    assert rows + gone(trace.out)["kernel", "size"] == 200 * 100
    assert trace.target.rows()["kernel"] == rows
    trace.target.close()


def test_what_goes_is_said_before_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in between, recovery counts what is there, and nothing is missing."""
    trace = Growing(tmp_path / "trace", Retain(age_ns=600 * S))
    trace.go_on(5)

    def killed(self: parts.Parts, names: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(parts.Parts, "drop", killed)
    with pytest.raises(KeyboardInterrupt):
        trace.go_on(20)
    assert gone(trace.out)["kernel", "age"] == 100
    trace.target.close()
    recover(trace.out)
    verdict, kernels = verdict_and_kernels(trace.out)
    assert kernels == trace.minute * 100
    assert "missing" not in verdict
    assert "not kept: age" in verdict


@pytest.mark.slow
def test_a_part_that_is_large_is_not_written_again(tmp_path: Path) -> None:
    trace = Growing(tmp_path / "trace", Retain(age_ns=24 * 3600 * S))
    trace.go_on(33, rows=70_000)
    inodes = {path.stat().st_ino for path in (trace.out / "kernel").iterdir()}
    trace.go_on(33, rows=10)
    # But the first, which is merged with the part of no rows that a trace begins with.
    assert len(inodes & {path.stat().st_ino for path in (trace.out / "kernel").iterdir()}) >= 31
    trace.target.close()


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["24"], "--retain 24 has no unit"),
        (["0h"], "--retain 0h would keep nothing"),
        (["0B"], "--retain 0B would keep nothing"),
        (["5 weeks"], "--retain '5 weeks' is neither an age nor a size"),
        (["10QB"], "--retain '10QB' is neither an age nor a size"),
        (["10G"], "--retain '10G' is neither an age nor a size"),
        (["1h", "2h"], "--retain takes one age and one size"),
    ],
)
def test_nonsense(texts: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as raised:
        check_retain(texts)
    assert raised.value.hint


def test_an_age_and_a_size() -> None:
    assert check_retain(["7d", "10GB"]) == Retain(7 * 24 * 3600 * S, 10**10)
    assert check_retain([]) is None
