"""A trace whose collector was killed is made whole again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.captures import Capturer, table

import cupti_etl
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage.part import write_part


def recover(trace: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cupti_etl", "recover", str(trace)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_killed_collector(capturer: Capturer, tmp_path: Path) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    words, env, trace, _ = capturer.prepare("13.5.25", launches=500, ready=ready, until=until)
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not ready.exists() or table(trace, "kernel").num_rows < 500:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        busy = recover(trace)
        assert busy.returncode == 2
        assert "being written by another process" in busy.stderr
        process.send_signal(signal.SIGKILL)
        until.touch()
    (trace / "kernel" / "part-000099.tmp").write_bytes(b"half")
    (trace / ".memcpy.compacting").mkdir()

    done = recover(trace)
    assert done.returncode == 0, done.stderr
    assert "whole again; 1 process was being traced" in done.stderr
    assert [path.name for path in (trace / "kernel").iterdir()] == ["part-000000.parquet"]
    assert (trace / "trace.duckdb").exists()
    assert not (trace / ".memcpy.compacting").exists()
    with cupti_etl.open(trace) as opened:
        (loss,) = opened.sql("FROM loss").arrow().to_pylist()
        (process_row,) = opened.sql("FROM process").arrow().to_pylist()
        (capture,) = opened.sql("FROM capture").arrow().to_pylist()
        last = opened.sql("SELECT max(end_ns) AS ns FROM kernel").arrow().to_pylist()[0]["ns"]
    assert table(trace, "kernel").num_rows == 500
    assert loss["cause"] == "collector_killed"
    assert loss["records"] is None
    assert loss["process_id"] == process_row["process_id"]
    assert loss["start_ns"] >= last - 1_000_000_000
    assert process_row["state"] == "lost"
    assert capture["end_ns"] is not None

    again = recover(trace)
    assert again.returncode == 0
    assert "finished already" in again.stderr


def test_what_is_no_trace(tmp_path: Path) -> None:
    done = recover(tmp_path)
    assert done.returncode == 1
    assert "is not a trace" in done.stderr


@pytest.mark.parametrize("killed_after", ["making a folder", "its first part"])
def test_a_collector_killed_before_it_wrote_anything(tmp_path: Path, killed_after: str) -> None:
    (tmp_path / "capture").mkdir()
    if killed_after == "its first part":
        nothing = arrow_schema("capture").empty_table()
        write_part(tmp_path / "capture" / "part-000000.parquet", "capture", nothing)
    done = recover(tmp_path)
    assert done.returncode == 1
    assert "holds nothing" in done.stderr
    assert "capture again" in done.stderr
