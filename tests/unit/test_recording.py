"""Recordings: replayed whole, and damaged ones said to be so."""

from __future__ import annotations

import json
import random
import struct
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.slow import few

import cupti_etl
from cupti_etl.capture import segment
from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.recording import MAGIC, RecordingWriter, read_recording
from cupti_etl.capture.segment import Process
from cupti_etl.cli import cli
from cupti_etl.commands._writing import convert
from cupti_etl.errors import EtlError, RecordingError, UsageError
from cupti_etl.imports.run import import_recording
from cupti_etl.schema.kinds import KINDS

RECORDING = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"


def replay(recording: Path, out: Path, table: str = "") -> int:
    return import_recording(recording, out, table, convert)


@pytest.mark.slow
def test_replay_of_the_shipped_recording(tmp_path: Path) -> None:
    rows = replay(RECORDING, tmp_path / "trace")
    with cupti_etl.open(tmp_path / "trace") as trace:
        (process,) = trace.sql("FROM process").arrow().to_pylist()
        counted = trace.sql("SELECT count(*) AS n FROM kernel").arrow().to_pylist()[0]["n"]
        (verdict,) = (
            trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
            .arrow()
            .to_pylist()
        )
    assert process["state"] == "finished"
    assert process["emitted"] == process["stored"] == rows
    assert counted == 5947
    assert verdict["subject"] == "complete"


@pytest.mark.slow
def test_replay_goes_wherever_a_capture_goes(tmp_path: Path) -> None:
    replay(RECORDING, tmp_path / "run.duckdb")
    assert [path.name for path in tmp_path.iterdir()] == ["run.duckdb"]
    with cupti_etl.open(tmp_path / "run.duckdb") as trace:
        assert trace.sql("SELECT count(*) AS n FROM kernel").arrow()["n"].to_pylist() == [5947]
    replay(RECORDING, tmp_path / "kernels.arrows", "kernel")
    with pa.ipc.open_stream(tmp_path / "kernels.arrows") as reader:
        assert len(reader.read_all()) == 5947
    with pytest.raises(UsageError, match="takes one table"):
        replay(RECORDING, tmp_path / "all.arrows")


@pytest.mark.slow
def test_a_truncated_recording_keeps_what_came_before(tmp_path: Path) -> None:
    cut = tmp_path / "cut.etlrec"
    cut.write_bytes(RECORDING.read_bytes()[:150_000])
    with pytest.raises(RecordingError, match="truncated or damaged") as raised:
        replay(cut, tmp_path / "trace")
    assert "before the damage" in raised.value.hint
    with cupti_etl.open(tmp_path / "trace") as trace:
        (row,) = trace.sql("SELECT count(*) AS n FROM kernel").arrow().to_pylist()
    assert 0 < row["n"] < 5947


@pytest.mark.slow
def test_flipped_bits_end_in_an_error_of_ours_or_in_a_trace(tmp_path: Path) -> None:
    """zstd notices most of them; what it does not must not crash the decoder."""
    whole = RECORDING.read_bytes()
    dice = random.Random(5)
    errors = 0
    for i in range(25):
        bits = bytearray(whole)
        for _ in range(3):
            bits[dice.randrange(len(bits))] ^= 1 << dice.randrange(8)
        damaged = tmp_path / f"{i}.etlrec"
        damaged.write_bytes(bits)
        try:
            replay(damaged, tmp_path / f"trace{i}")
        except EtlError:
            errors += 1
    assert errors > 0


@pytest.mark.parametrize("content", [b"", b"PAR1", MAGIC, MAGIC[:-1] + b"0"])
def test_a_file_that_is_no_recording_leaves_no_trace(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(RecordingError):
        replay(file, tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file"):
        replay(tmp_path / "nothing", tmp_path / "trace")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        replay(RECORDING, tmp_path / "trace")
    (tmp_path / "record").touch()
    with pytest.raises(UsageError, match="exists already"):
        RecordingWriter(tmp_path / "record")


@pytest.mark.parametrize("name", ["", "gone"])
def test_dump_says_what_it_prints(tmp_path: Path, name: str) -> None:
    result = CliRunner().invoke(cli, ["dump", str(tmp_path / name)], standalone_mode=False)
    assert isinstance(result.exception, RecordingError)
    assert "capture --save-raw" in result.exception.hint


def test_dump_prints_what_a_replay_stores(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["dump", str(RECORDING), "--table", "kernel"])
    assert result.exit_code == 0
    lines = [line for line in result.output.splitlines() if line.startswith("  kernel ")]
    assert len(lines) == 5947
    assert "name=" in lines[0]
    assert "start_ns=" in lines[0]
    headers = CliRunner().invoke(cli, ["dump", str(RECORDING), "--headers"]).output.splitlines()
    assert headers[0].startswith("process ")
    assert sum(line.startswith("slot ") for line in headers) == sum(
        frame.tag == b"SLOT" for frame in read_recording(RECORDING)
    )


def frame(tag: bytes, payload: bytes = b"") -> bytes:
    return struct.pack("<4sIQQ", tag, 0, 7, len(payload)) + payload


def head_of(damage: dict[str, object]) -> bytes:
    """A recording of one process, some of whose description is replaced."""
    whole = next(f for f in read_recording(RECORDING) if f.tag == b"HEAD").description()
    text = json.dumps({**whole, **damage}).encode()
    return MAGIC + pa.compress(frame(b"HEAD", text) + frame(b"DONE"), "zstd", asbytes=True)


WINDOW = {
    "start_ns": 5,
    "end_ns": 6,
    "opened_by": "process",
    "closed_by": "process",
    "switch_on_ns": 1,
    "switch_off_ns": 1,
}


def test_a_description_that_is_whole_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(head_of({"windows": [WINDOW]}))
    replay(tmp_path / "file", tmp_path / "trace")
    with cupti_etl.open(tmp_path / "trace") as trace:
        (row,) = trace.sql("SELECT start_ns FROM capture_window").arrow().to_pylist()
    assert row["start_ns"] == 5


def test_windows_of_which_no_more_is_known(tmp_path: Path) -> None:
    unknown = dict.fromkeys(("opened_by", "closed_by", "switch_on_ns", "switch_off_ns"))
    (tmp_path / "file").write_bytes(head_of({"windows": [{**WINDOW, **unknown, "windows": 5000}]}))
    replay(tmp_path / "file", tmp_path / "trace")
    with cupti_etl.open(tmp_path / "trace") as trace:
        (row,) = trace.sql("SELECT opened_by, windows FROM capture_window").arrow().to_pylist()
    assert row == {"opened_by": None, "windows": 5000}


def test_a_description_may_be_larger_than_a_slot(tmp_path: Path) -> None:
    windows = [{**WINDOW, "start_ns": start} for start in range(20_000)]
    (tmp_path / "file").write_bytes(head_of({"windows": windows}))
    replay(tmp_path / "file", tmp_path / "trace")
    with cupti_etl.open(tmp_path / "trace") as trace:
        (row,) = trace.sql("SELECT count(*) AS n FROM capture_window").arrow().to_pylist()
    assert row["n"] == 20_000


def test_a_column_that_was_called_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chosen fields are found under the names that they had in the recording."""
    was = {"name": (("symbol", 2),), "stream_id": (("name", 2),)}
    kinds = tuple(
        replace(kind, columns=tuple(replace(c, was=was.get(c.name, ())) for c in kind.columns))
        if kind.table == "kernel"
        else kind
        for kind in KINDS
    )
    monkeypatch.setattr(segment, "KINDS", kinds)
    whole = next(f for f in read_recording(RECORDING) if f.tag == b"HEAD").description()
    selected = {"info": {**whole["info"], "is_selected": 1}}
    places = {"symbol": [8, 8, 0], "name": [16, 4, 0], "start_ns": [24, 8, 0]}
    now = {"name": [8, 8, 0], "stream_id": [16, 4, 0], "start_ns": [24, 8, 0]}
    for version, found, given in ((1, now, places), (2, now, now)):
        description = {**whole, **selected, "places": {"kernel": given}, "schema_version": version}
        process = Process.loaded(Decoder(), description)
        assert process.description()["places"] == {"kernel": found}
    # Recordings said so only later.
    description = {**whole, **selected, "places": {"kernel": places}}
    assert Process.loaded(Decoder(), description).description()["places"] == {"kernel": now}


@pytest.mark.parametrize(
    "damage",
    few(
        4,
        [
            {"info": None},
            {"info": {"pid": 2**40}},
            {"strides": {"500": 1}},
            {"strides": {"1": -1}},
            {"ring_full": [1]},
            {"windows": 5},
            {"windows": [{**WINDOW, "start_ns": "soon"}]},
            {"windows": [{**WINDOW, "start_ns": 2**70}]},
            {"windows": [{**WINDOW, "opened_by": 5}]},
            {"windows": [{**WINDOW, "windows": 2.5}]},
            {"windows": [{**WINDOW, "windows": 1, "opened_by": None}]},
            {"windows": [{**WINDOW, "opened_by": "\ud800"}]},
            {"windows": [{"start_ns": 5}]},
            {"places": [1]},
            {"places": {"kernel": {"name": [1, 2, 3, 4, 5]}}},
            {"places": {"kernel": {"name": ["a"]}}},
            {"places": {"kernel": {"name": [-1, 8, 0]}}},
            {"places": {"kernel": 5}},
        ],
    ),
)
def test_a_damaged_description_is_an_error_of_ours(
    tmp_path: Path, damage: dict[str, object]
) -> None:
    (tmp_path / "file").write_bytes(head_of(damage))
    with pytest.raises(EtlError, match="damaged"):
        replay(tmp_path / "file", tmp_path / "trace")
