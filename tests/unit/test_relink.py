"""trace.duckdb of a trace that is being written: made beside it, by a process that never stays."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from support.trace import add_part, write_trace
from support.waiting import wait_until

from cupti_etl.storage import manifest, relink
from cupti_etl.storage.destination import Destination
from cupti_etl.storage.relink import Relink


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", kernel="start_ns end_ns name\n 0 10 a")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Something quicker in its place; what each is called with, and its process."""
    log = tmp_path / "calls"
    log.touch()
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\necho "$$ $*" >> {log}\n. {tmp_path}/then\n')
    script.chmod(0o700)
    (tmp_path / "then").write_text("exit 0\n")
    monkeypatch.setattr(sys, "executable", str(script))
    return log


def begun(run: Path, calls: Path) -> Relink:
    (run / manifest.NAME).touch()
    made = Relink(Destination(run))
    made.begin()
    wait_until(calls.read_text)
    return made


def test_the_file_is_there_in_the_end(run: Path) -> None:
    (run / manifest.NAME).touch()
    made = Relink(Destination(run))
    made.begin()
    made.finish()
    made.close()
    assert (run / "trace.duckdb").stat().st_size > 0


def test_it_waits_for_the_tables_and_is_made_once(run: Path, calls: Path) -> None:
    made = Relink(Destination(run))
    made.begin()
    made.finish()
    assert calls.read_text() == ""
    made = begun(run, calls)
    made.begin()
    made.finish()
    made.close()
    (call,) = calls.read_text().splitlines()
    assert call.endswith(f" -m cupti_etl relink {run}")


def test_a_run_that_is_over_at_once_has_the_file_too(run: Path) -> None:
    (run / manifest.NAME).touch()
    made = Relink(Destination(run))
    made.finish()
    made.close()
    assert (run / "trace.duckdb").stat().st_size > 0


def test_other_tables_in_the_end(run: Path, calls: Path) -> None:
    made = begun(run, calls)
    (run / "brand_new").mkdir()
    (add_part(run, "memset")).rename(run / "brand_new" / "part-000000.parquet")
    made.finish()
    made.close()
    assert len(calls.read_text().splitlines()) == 2


def test_what_cannot_be_made_is_said(
    run: Path, calls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (calls.parent / "then").write_text("echo 'cupti-etl: no room' >&2; exit 1\n")
    made = begun(run, calls)
    made.finish()
    made.close()
    said = capsys.readouterr().err
    assert said == (
        f"cupti-etl: trace.duckdb could not be made: no room\n  later: cupti-etl relink {run}\n"
    )


@pytest.mark.parametrize("is_finished", [True, False])
def test_one_that_hangs_does_not_outlive_the_capture(
    run: Path,
    calls: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_finished: bool,
) -> None:
    monkeypatch.setattr(relink, "_PATIENCE_S", 0.1)
    (calls.parent / "then").write_text("exec sleep 600\n")
    made = begun(run, calls)
    begin = time.monotonic()
    if is_finished:
        made.finish()
        assert "that takes longer" in capsys.readouterr().err
    made.close()
    assert time.monotonic() - begin < 60
    pid = int(calls.read_text().split()[0])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_cannot_be_started_stops_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    (run / manifest.NAME).touch()
    made = Relink(Destination(run))
    made.begin()
    made.begin()
    made.finish()
    made.close()
    assert "could not be made: [Errno 2]" in capsys.readouterr().err
