"""The measurement of PM sampling, on the fakes: its numbers, and that it can say no."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from support.fakes import Fakes

pytestmark = pytest.mark.slow

RELEASE = "13.5.25"


@pytest.fixture
def measure(fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the script's main against the fakes; its status and what it wrote."""
    import pm

    def run(*options: str, **fake: int | str) -> tuple[int, dict[str, Any]]:
        for name, value in fakes.env(RELEASE, **fake).items():
            monkeypatch.setenv(name, value)
        out = tmp_path / "out"
        cupti = str(fakes.cupti(RELEASE))
        status = pm.main(["--out", str(out), "--seconds", "0.5", "--cupti", cupti, *options])
        report: dict[str, Any] = json.loads((out / "pm.json").read_text())
        return status, report

    return run


def test_presets_and_intervals(measure: Any) -> None:
    status, report = measure("--presets", "overview,minimal", "--intervals", "100us,50us")
    assert status == 0
    rows = report["sweep"]
    found = [(row["preset"], row["interval"]) for row in rows]
    assert found == [(p, i) for p in ("overview", "minimal") for i in ("100us", "50us")]
    for row in rows:
        (gpu,) = row["gpus"]
        assert row["failure"] is None
        assert gpu["samples"] > 4000
        assert gpu["missing"] == sum(row["missing"].values())
        assert (
            0
            < row["cores"]
            == pytest.approx(gpu["decode_cores"] + gpu["evaluate_cores"], abs=0.002)
        )
        assert row["process_cpu_s"] > 0
        assert gpu["image_mib"] == pytest.approx(gpu["bytes_a_sample"] * 1500 / 2**20, abs=0.1)
    assert rows[0]["gpus"][0]["bytes_a_sample"] > rows[2]["gpus"][0]["bytes_a_sample"]


def test_what_is_missing_is_counted(measure: Any) -> None:
    status, report = measure("--presets", "minimal", "--intervals", "100us", pm_overflow_at=3)
    assert status == 0
    (row,) = report["sweep"]
    assert row["missing"]["pm_overflow"] > 0
    assert row["gpus"][0]["restarts"] >= 1


def test_a_refusal_is_a_failure(measure: Any) -> None:
    status, report = measure(
        "--presets", "minimal", "--intervals", "100us", fail="cuptiPmSamplingEnable=35"
    )
    assert status == 1
    assert "administrators" in report["sweep"][0]["failure"]


def test_the_launch_loop_in_rounds(measure: Any, tmp_path: Path) -> None:
    """The loop is faster the more launches it is asked for, so that nothing but it is timed."""
    loop = tmp_path / "loop"
    loop.write_text(
        '#!/bin/sh\nsleep 0.3\necho "{\\"enqueue_ns_per_launch\\": $(wc -l < "$0".n)}" > "$1"\n'
        'echo >> "$0".n\n'
    )
    loop.chmod(loop.stat().st_mode | stat.S_IXUSR)
    Path(f"{loop}.n").write_text("")
    options = ("--presets", "minimal", "--intervals", "100us", "--rounds", "2")
    status, report = measure(*options, "--launch-loop", str(loop))
    assert status == 0
    found = report["launch_loop"]
    # Alternating: the counter says in which order they ran.
    assert found["ns_a_launch"] == {"plain": [0, 3], "drained": [1, 4], "sampled": [2, 5]}
    assert found["sampled_minus_drained"] == 1
    assert os.environ["FAKE_DRIVER_VERSION"] == "13050"
