"""A capture that is killed, or whose machine fails, between any two changes of its files.

Nothing that is left calls itself complete, all of it opens, and ``recover`` makes a whole trace
of it, which is complete only if nothing is missing; also if ``recover`` is killed in its turn.
"""

from __future__ import annotations

import io
import re
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.endings import ROUNDS, ROWS, Steps, capture, make, verdict_and_kernels

from cupti_etl.errors import TraceError
from cupti_etl.storage.recovery import recover

ALL = ROUNDS * ROWS
PART = re.compile(r"[^\W\d]\w*/part-[^/]*\.parquet")
LOST = "losses: collector_killed ?"


def check_recovered(trace: Path, least: int) -> None:
    done = recover(trace)
    assert done.lost == ()
    verdict, kernels = verdict_and_kernels(trace)
    assert kernels >= least
    assert verdict == LOST or (verdict, kernels) == ("complete", ALL)
    assert recover(trace).was_finished
    assert [path.name for path in trace.rglob("*") if path.name.startswith(".")] == []
    assert list(trace.rglob("*.tmp")) == []


@pytest.mark.slow
@pytest.mark.parametrize("atomic", [True, False], ids=["exchange", "two renames"])
def test_killed_between_any_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    steps = Steps(tmp_path / "trace", monkeypatch, atomic=atomic)

    def begin() -> None:
        steps.into = tmp_path

    capture(tmp_path / "trace", begin)
    steps.into = None
    assert verdict_and_kernels(tmp_path / "trace") == ("complete", ALL)
    assert len(steps.copies) > 20
    *_, last = steps.copies
    for copy in steps.copies:
        # With a table aside it cannot be opened, and so is not complete either.
        if not any(copy.glob(".*.aside")):
            assert verdict_and_kernels(copy) == ("complete so far", ALL)
        check_recovered(copy, ALL)
    # All rows were there, and who had counted them had said so.
    assert verdict_and_kernels(last) == ("complete", ALL)


@pytest.mark.slow
def test_recover_killed_between_any_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(tmp_path / "trace", monkeypatch)
    capture(tmp_path / "trace", lambda: setattr(steps, "into", tmp_path))
    steps.into = None
    trace = steps.copies[0]
    again = Steps(trace, monkeypatch)
    (tmp_path / "again").mkdir()
    again.into = tmp_path / "again"
    recover(trace)
    again.into = None
    assert len(again.copies) > 10
    for copy in again.copies:
        verdict, kernels = verdict_and_kernels(copy)
        assert verdict.endswith(" so far")
        check_recovered(copy, kernels)


@pytest.mark.slow
def test_power_failure_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(tmp_path / "trace", monkeypatch)
    capture(tmp_path / "trace")
    states = {}
    for at in range(len(steps.done) + 1):
        for named in {steps.least_named(at), (steps.least_named(at) + at) // 2, at}:
            for state in steps.after_power_failure(at, named, (0, 0.5)):
                states[tuple(sorted(state.items(), key=str))] = state
    assert len(states) > 100
    read = set()
    for number, state in enumerate(states.values()):
        parts = {
            content
            for path, content in state.items()
            if content is not None and PART.fullmatch(path)
        }
        # Of equal parts, one tells of all.
        for content in parts - read:
            pq.ParquetFile(io.BytesIO(content)).read()
        read |= parts
        # To ask all of them takes long.
        if parts and number % 23 == 0:
            check_asked(make(tmp_path / f"{number}", state))


def check_asked(trace: Path) -> None:
    verdict, kernels = verdict_and_kernels(trace)
    assert verdict != "complete" or kernels == ALL
    if (trace / "capture" / "part-000000.parquet").exists():
        with suppress(TraceError):  # it had not begun
            recover(trace)
            verdict, recovered = verdict_and_kernels(trace)
            assert recovered >= kernels
            assert verdict != "complete" or recovered == ALL
