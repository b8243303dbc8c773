"""The example of a workflow for GitHub Actions is one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from cupti_etl.testing import plugin

WORKFLOW = Path(__file__).parents[2] / "docs" / "examples" / "gpu-performance.yml"


def schema_says(workflow: Path) -> str:
    """What GitHub's published schema has against it; "" if nothing."""
    words = ["-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run(
        [sys.executable, *words, workflow], capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode else ""


@pytest.mark.slow
def test_it_follows_the_schema() -> None:
    assert schema_says(WORKFLOW) == ""


@pytest.mark.slow
def test_a_workflow_with_a_fault_does_not(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOW.read_text().replace("runs-on:", "runs_on:"))
    assert "runs_on" in schema_says(broken)


def test_its_options_are_those_of_the_plugin() -> None:
    """And what it keeps is what it gets back."""
    jobs = YAML(typ="safe").load(WORKFLOW)["jobs"]
    (job,) = jobs.values()
    assert "gpu" in job["runs-on"]
    steps = job["steps"]
    said = set(re.findall(r"--cupti-etl-[a-z-]+", WORKFLOW.read_text()))
    assert {"--cupti-etl-baseline", "--cupti-etl-update", "--cupti-etl-add"} <= said
    source = Path(plugin.__file__).read_text()
    assert [option for option in said if f'"{option}"' not in source] == []
    caches = [step["with"] for step in steps if "cache/" in step.get("uses", "")]
    assert len(caches) == 2
    assert caches[0]["path"] == caches[1]["path"]
    assert caches[0]["key"] == caches[1]["key"]
    assert caches[0]["key"].startswith(caches[0]["restore-keys"])
