"""scripts/gpu/pm_presets.py on the fakes, and that it can fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.captures import PACKAGES
from support.fake_build import metric_facts
from support.fakes import Fakes
from support.inside import Inside

from cupti_etl.pm.catalogue import loads
from cupti_etl.pm.families import FAMILIES
from cupti_etl.pm.presets import PRESETS

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu" / "pm_presets.py"
GH100 = next(family for family in FAMILIES if family.name == "GH100")


def run(
    fakes: Fakes, out: Path, *words: str, release: str = "13.5.25", **options: Any
) -> tuple[int, dict[str, Any], str]:
    env = {**os.environ, **fakes.env(release, **options)}
    env["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), env.get("PYTHONPATH", "")])
    command = [sys.executable, str(SCRIPT), "--out", str(out)]
    command += ["--cupti", str(fakes.cupti(release)), *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    report = out / "pm_presets.json"
    said = json.loads(report.read_text()) if report.exists() else {}
    return done.returncode, said, done.stderr


def test_all_families_and_presets_are_checked(fakes: Fakes, tmp_path: Path) -> None:
    status, report, stderr = run(fakes, tmp_path)
    assert (status, report["bad"]) == (0, []), stderr
    assert report["chip"] == "GH100"
    assert list(report["families"]) == [family.name for family in FAMILIES]
    gh100 = report["families"]["GH100"]["GH100"]
    assert gh100["refused"] == {}
    assert gh100["passes"] == dict.fromkeys(PRESETS, 1)
    assert report["presets"]["overview"]["sample_bytes"] > 0
    # In the fake the plain names cost more, so nothing is exchanged for one.
    assert report["presets"]["overview"]["instead"] == {}
    assert report["presets"]["overview"]["verdicts"]["nvlink_rx_bytes"] == "left out"
    rows = report["aliases"]["sm_active_pct"]
    assert [row["metric"].split(".")[0] for row in rows] == ["TPC", "sm__cycles_active"]
    assert rows[0]["sample_bytes"] < rows[1]["sample_bytes"]
    told = {name for names in metric_facts()["base_metrics"].values() for name in names}
    assert loads((tmp_path / "GH100.json.gz").read_bytes()).types.keys() == told
    assert loads((tmp_path / "GB202.json.gz").read_bytes()).chip == "GB202"


def test_other_names_are_compared_while_a_workload_runs(fakes: Fakes, tmp_path: Path) -> None:
    out = tmp_path / "samples"
    words = ["--workload", "sleep 60", "--seconds", "0.2", "--aliases", "sm_active_pct"]
    status, report, stderr = run(fakes, out, *words)
    assert status == 0, stderr
    rows = report["aliases"]["sm_active_pct"]
    # The fake weighs every name differently: they do not agree, and that is seen.
    assert 0 < rows[1]["apart"] < 1


def test_an_older_cupti_knows_the_plain_names_alone(fakes: Fakes, tmp_path: Path) -> None:
    status, report, stderr = run(fakes, tmp_path, release="12.9.79")
    assert status == 0, stderr
    assert report["families"]["GH100"] == {}
    assert report["families"]["GH100-plain"]["GH100"]["refused"] == {}


def test_a_wrong_name_is_found(fakes: Fakes) -> None:
    import pm_presets

    inside = Inside(fakes)
    wrong = replace(GH100, names={**GH100.names, "l1_pct": "l1tex__invented.sum"})
    said = inside(lambda path: pm_presets.check_family(wrong, "GH100", path))
    assert list(said["refused"]) == ["l1_pct"]
    assert "INVALID_METRIC_NAME" in said["passes"]["memory"]
    assert pm_presets.is_bad(wrong, said)
    optional = replace(wrong, optional=wrong.optional | {"l1_pct"})
    assert not pm_presets.is_bad(optional, {"refused": said["refused"], "passes": {}})
    assert pm_presets.is_bad(GH100, {"refused": {}, "passes": {"overview": 2}})
