"""Samples of an H200 beside the records of what ran: kernels moved the bytes that they count.

tests/data/pm_h200: three quarters of a second of scripts/gpu/truth.cu with the preset overview at
50 us, 30 runs of each kernel of up to a millisecond, as scripts/gpu/pm_truth.py left it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import cupti_etl
from cupti_etl.cli import cli

pytestmark = pytest.mark.slow

DATA = Path(__file__).resolve().parents[1] / "data" / "pm_h200"
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "gpu"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace as it was captured: a recording has records, and the samples are parts."""
    path = tmp_path_factory.mktemp("h200") / "trace"
    done = CliRunner().invoke(cli, ["replay", str(DATA / "recording.etlrec"), "-o", str(path)])
    assert done.exit_code == 0, done.output
    for table in ("pm_sample", "pm_metric"):
        shutil.copy(DATA / f"{table}.parquet", path / table / "part-recorded.parquet")
    return path


def compared(trace: Path, counted: dict[str, Any]) -> list[dict[str, Any]]:
    sys.path.insert(0, str(SCRIPTS))
    from truth_compare import compare

    report = compare(trace, counted)
    assert report["problems"] == []
    rows: list[dict[str, Any]] = report["rows"]
    return rows


def test_kernels_moved_the_bytes_that_they_count(trace: Path) -> None:
    rows = compared(trace, json.loads((DATA / "counted.json").read_text()))
    judged = [row for row in rows if row["verdict"] != "abstained"]
    assert len(judged) > 30
    assert {row["verdict"] for row in judged} == {"within"}
    long = [row for row in judged if row["mean_us"] > 500 and row["counted"]]
    assert long
    assert all(abs(row["off_pct"]) < 1 for row in long)


def test_a_wrong_count_is_seen(trace: Path) -> None:
    counted = json.loads((DATA / "counted.json").read_text())
    for phase in counted["phases"]:
        phase["read_bytes"] *= 1.12
    off = [row for row in compared(trace, counted) if row["verdict"].startswith("off")]
    assert {row["quantity"] for row in off} == {"read_bytes"}
    assert len({(row["kernel"], row["grid"]) for row in off}) > 8


def test_samples_and_records_are_of_one_time(trace: Path) -> None:
    with cupti_etl.open(trace) as opened:
        (lag,) = opened.query("pm_alignment")
        (rows,) = opened.sql("SELECT count(*) AS n, sum(end_ns - start_ns) AS ns FROM pm_sample")
    assert lag["correlation"] > 0.8
    assert abs(lag["lag_ns"]) < 20_000
    assert rows["n"] == 14_170
    assert rows["ns"] == pytest.approx(14_170 * 50_000, rel=1e-3)
