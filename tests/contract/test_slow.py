"""Slow tests are left out, and it is said how many they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# All tests of this file are slow.
SLOW = "tests/contract/test_wheel.py"


def collect(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        # What somebody has there, such as -v, would change what is said.
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode in (0, 5), done.stderr  # 5: no tests
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_it_is_said_how_many_are_left_out(processes: str) -> None:
    said = collect(SLOW, processes, *(["--collect-only"] if processes == "-n0" else []))
    assert "4 slow tests were left out: `make test ALL=1` runs them" in said


@pytest.mark.parametrize(
    "words", [[SLOW, "--slow"], [SLOW, "-m", "slow"], [f"{SLOW}::test_native_wheel"]]
)
def test_they_can_be_asked_for(words: list[str]) -> None:
    said = collect("--collect-only", *words)
    assert "test_wheel.py::test_native_wheel" in said
    assert "left out" not in said


def test_ci_runs_what_readme_says_and_all_of_it() -> None:
    ci = (ROOT / ".ci/run").read_text()
    assert "make test    # run the tests" in (ROOT / "README.md").read_text()
    assert re.search(r"^make test ALL=1$", ci, re.MULTILINE)
    assert re.search(r"^make lint$", ci, re.MULTILINE)
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    for part in ("ruff format --check", "ruff check", "mypy", "tools.codegen --check"):
        assert part in recipe[1]
