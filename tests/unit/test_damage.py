"""Parts that are damaged or gone: ``recover`` passes over them, says so, and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.endings import ROUNDS, ROWS, capture, verdict_and_kernels
from support.trace import described

import cupti_etl
from cupti_etl.errors import TraceError
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES, arrow_schema
from cupti_etl.storage import manifest
from cupti_etl.storage.part import part_writer
from cupti_etl.storage.recovery import recover

ALL = ROUNDS * ROWS
KERNELS = "kernel/part-000000.parquet"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A finished trace."""
    capture(tmp_path / "trace")
    return tmp_path / "trace"


def running(trace: Path) -> Path:
    """The trace as if its collector had been killed before the end."""
    path = trace / "capture" / "part-000000.parquet"
    rows = pq.ParquetFile(path).read().drop(["end_ns", "exit_status"])
    pq.write_table(rows, path)
    return trace


def flip(path: Path) -> None:
    """Another bit in the middle of a file, which Parquet's readers need not notice."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_the_manifest_is_true_of_every_part(trace: Path) -> None:
    named = manifest.read(trace)
    assert named is not None
    parts = {f"{path.parent.name}/{path.name}": path for path in trace.glob("*/part-*.parquet")}
    assert {f"{table}/{name}" for table in named for name in named[table]} == set(parts)
    for part, path in parts.items():
        table, name = part.split("/")
        assert named[table][name].is_of(path)
        assert named[table][name].rows == pq.read_metadata(path).num_rows
    assert str(trace) not in (trace / manifest.NAME).read_text()


@pytest.mark.parametrize("is_running", [False, True], ids=["finished", "killed"])
@pytest.mark.parametrize("damage", ["a bit", "cut", "deleted"])
def test_a_damaged_part(trace: Path, damage: str, is_running: bool) -> None:
    if is_running:
        running(trace)
    if damage == "a bit":
        flip(trace / KERNELS)
    elif damage == "cut":
        (trace / KERNELS).write_bytes((trace / KERNELS).read_bytes()[:100])
    else:
        (trace / KERNELS).unlink()

    done = recover(trace)
    assert done.lost == (KERNELS,)
    verdict, kernels = verdict_and_kernels(trace)
    assert kernels == 0
    assert f"part_lost {ALL}" in verdict
    assert "missing" not in verdict
    with cupti_etl.open(trace) as opened:
        (loss,) = opened.sql("FROM loss WHERE cause = 'part_lost'")
    assert (loss["table_name"], loss["detail"]) == ("kernel", f"{KERNELS} is damaged or gone")

    again = recover(trace)
    assert again.was_finished
    assert verdict_and_kernels(trace) == (verdict, 0)


@pytest.mark.slow
def test_an_older_trace_has_no_manifest(trace: Path) -> None:
    (running(trace) / manifest.NAME).unlink()
    assert recover(trace).lost == ()
    assert verdict_and_kernels(trace) == ("losses: collector_killed ?", ALL)


def test_recovery_keeps_what_explains_the_columns(trace: Path) -> None:
    before = (trace / "schema.json").read_bytes()
    (running(trace) / ".schema.json.tmp").write_bytes(before[:100])
    recover(trace)
    assert (trace / "schema.json").read_bytes() == before
    assert not (trace / ".schema.json.tmp").exists()


@pytest.mark.parametrize("there_is", ["nothing", "a half", "one of another schema"])
def test_what_explains_the_columns_is_made_again(trace: Path, there_is: str) -> None:
    """Parts of an older trace explain themselves; merged, they do not any more."""
    more = pa.field("sm_active_pct", pa.float64(), metadata={"unit": "%", "doc": "Busy SMs."})
    schema = pa.schema([*arrow_schema("pm_sample"), more])
    for number in (0, 1):
        path = trace / "pm_sample" / f"part-{number:06d}.parquet"
        with part_writer(path, "pm_sample", schema, schema) as writer:
            writer.write_table(schema.empty_table())
    (running(trace) / manifest.NAME).unlink()
    content = (trace / "schema.json").read_text()
    (trace / "schema.json").unlink()
    if there_is == "a half":
        (trace / "schema.json").write_text(content[:1000])
    elif there_is == "one of another schema":
        version = f'"schema_version": {SCHEMA_VERSION}'
        older = content.replace(version, '"schema_version": 0').replace(
            "When the kernel began", "At"
        )
        assert older.count("At.") == 1
        (trace / "schema.json").write_text(older)
    recover(trace)
    kernel, samples = described(trace, "kernel"), described(trace, "pm_sample")
    assert {name: (column["unit"], column["doc"]) for name, column in kernel.items()} == {
        column.name: (column.unit, column.doc) for column in TABLES["kernel"].columns
    }
    assert samples["sm_active_pct"]["unit"] == "%"
    assert samples["sm_active_pct"]["doc"] == "Busy SMs."


def test_without_a_manifest_a_part_is_read_to_its_end(trace: Path) -> None:
    (running(trace) / manifest.NAME).write_text("{")
    (trace / KERNELS).write_bytes(b"PAR1 is how it begins")
    assert recover(trace).lost == (KERNELS,)
    assert verdict_and_kernels(trace)[0].endswith("losses: collector_killed ?, part_lost ?")


def test_a_damaged_row_of_the_capture(trace: Path) -> None:
    flip(trace / "capture" / "part-000000.parquet")
    (trace / "capture" / "part-000000.parquet").write_bytes(b"")
    assert recover(trace).lost == ("capture/part-000000.parquet",)
    verdict, kernels = verdict_and_kernels(trace)
    assert verdict == "losses: collector_killed ?, part_lost 1"
    assert kernels == ALL


def test_rows_of_another_type(trace: Path) -> None:
    rows = pa.table({"end_ns": ["never"], "capture_id": [None]})
    pq.write_table(rows, trace / "process" / "part-000000.parquet")
    running(trace)
    with pytest.raises(TraceError, match="other columns than ours"):
        recover(trace)


@pytest.mark.parametrize("name", ["../../stolen", "part-1.parquet/..", "part-000000.parquet.tmp"])
def test_a_manifest_of_a_stranger_renames_nothing(trace: Path, name: str) -> None:
    half = running(trace) / "kernel" / "0.tmp"
    half.write_bytes(b"mine")
    entry = {"rows": 1, "bytes": 4, "crc32": manifest.checksum(half)}
    content = json.loads((trace / manifest.NAME).read_text())
    content["parts"]["kernel"][name] = entry
    (trace / manifest.NAME).write_text(json.dumps(content))
    recover(trace)
    assert not half.exists()
    assert not (trace.parent / "stolen").exists()
    assert verdict_and_kernels(trace)[1] == ALL
