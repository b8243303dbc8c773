"""``cupti-etl sample``: PM samples without a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.captures import Capturer, running, table
from support.pm import sampled
from support.waiting import wait_until

import cupti_etl

pytestmark = pytest.mark.slow


def sample_words(capturer: Capturer, out: Path, *options: str) -> tuple[list[str], Any, Path]:
    words, env, _, log = capturer.prepare("13.5.25")
    cupti = str(capturer.fakes.cupti("13.5.25"))
    words = [sys.executable, "-m", "cupti_etl", "sample", "-o", str(out), "--cupti", cupti]
    return [*words, *options], env, log


@pytest.mark.parametrize("name", ["samples", "samples.duckdb"])
def test_sample_without_a_program(capturer: Capturer, tmp_path: Path, name: str) -> None:
    options = ("--duration", "300ms", "--pm", "minimal", "--pm-interval", "20us")
    words, env, log = sample_words(capturer, tmp_path / name, *options)
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    starts = sampled(log)[0].starts
    assert starts  # up to 15,000, by the speed of the machine
    with cupti_etl.open(tmp_path / name) as trace:
        rows = trace.sql("SELECT start_ns, dram_read_pct FROM pm_sample ORDER BY start_ns").arrow()
        assert rows["start_ns"].to_pylist() == starts
        assert rows["dram_read_pct"].null_count == 0
        (facts,) = trace.sql("SELECT source, pm_state, pm_metrics FROM capture")
        assert facts == {"source": "sample", "pm_state": "finished", "pm_metrics": "minimal"}
        (verdict,) = trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
        assert "nothing captured" not in verdict["subject"]
    assert f"{len(starts):,} samples of GPU 0" in done.stderr


def test_sample_until_ctrl_c(capturer: Capturer, tmp_path: Path) -> None:
    words, env, log = sample_words(capturer, tmp_path / "out")
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_until(lambda: table(tmp_path / "out", "pm_sample").num_rows > 0)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    rows = table(tmp_path / "out", "pm_sample").sort_by("start_ns")
    assert rows["start_ns"].to_pylist() == sampled(log)[0].starts


def test_sample_that_is_refused_leaves_nothing(capturer: Capturer, tmp_path: Path) -> None:
    words, env, _ = sample_words(capturer, tmp_path / "out" / "run")
    env["FAKE_CUPTI_FAIL"] = "cuptiPmSamplingEnable=35"
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "NVreg_RestrictProfilingToAdminUsers=0" in done.stderr
    assert not (tmp_path / "out").exists()
