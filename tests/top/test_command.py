"""``cupti-etl top`` without a terminal: one reading, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import etl
from support.trace import write_trace

S = 10**9
NO_TEXTUAL = """
import sys
sys.modules["textual"] = None
from cupti_etl.cli import main
main(sys.argv[1:])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_trace(
        tmp_path / "run",
        capture=f"start_ns end_ns\n0 {4 * S}",
        device="process_id device_id device_uuid name\n1 0 GPU-a H200",
        kernel="process_id device_id start_ns end_ns name\n"
        f"1 0 0 {S} a\n1 0 {S} {3 * S} 'b\x1b[0m'",
    )


def test_one_reading_as_json(path: Path) -> None:
    done = etl("top", path, "--once", "--format", "json")
    assert done.returncode == 0
    reading = json.loads(done.stdout)
    assert (reading["state"], reading["age_ns"], reading["now_ns"]) == ("finished", 4 * S, None)
    assert [(row["name"], row["total_ns"]) for row in reading["kernels"]] == [
        ("b\x1b[0m", 2 * S),
        ("a", S),
    ]
    assert "\x1b" not in done.stdout
    (gpu,) = reading["gpus"]
    assert (gpu["gpu"], gpu["busy_pct"], gpu["metrics"]) == (0, 100, {})


def test_one_reading_as_text(path: Path) -> None:
    done = etl("top", path, "--once")
    assert done.returncode == 0
    words = [line.split() for line in done.stdout.splitlines()]
    assert words[0][-3:] == ["after", "4.00", "s"]
    assert ["0", "100.0", "%", "2", "H200"] in words
    assert ["33.3", "%", "1.00", "s", "1", "1.00", "s", "a"] in words
    assert "\x1b" not in done.stdout


@pytest.mark.slow
def test_how_many_kernels(tmp_path: Path) -> None:
    rows = "\n".join(f"1 0 0 {n + 1} k{n}" for n in range(50))
    path = write_trace(
        tmp_path / "run", kernel=f"process_id device_id start_ns end_ns name\n{rows}"
    )
    assert etl("top", path, "--once").stdout.splitlines()[-1] == "10 more kernels"
    assert etl("top", path, "--once", "--all").stdout.splitlines()[-1].split()[-1] == "k0"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which trace?"),
        (["a", "b"], "which trace?"),
        (["nowhere", "--once"], "there is no trace nowhere"),
        (["x", "-o", "y"], "-o and --overwrite go with a command"),
        (["--once", "--", "true"], "--once reads a trace"),
        (["x", "--pm"], "--pm"),
        (["x"], "this is no terminal"),
        (["--", "true"], "this is no terminal"),
    ],
)
def test_refusals(words: list[str], said: str) -> None:
    done = etl("top", *words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert done.stdout == ""


def without_textual(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", NO_TEXTUAL, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_without_the_extra(path: Path) -> None:
    refused = without_textual("top", str(path))
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "cupti-etl: textual is not installed",
        "  pip install 'cupti-etl[top]'; --once does without",
    ]
    assert without_textual("top", str(path), "--once").returncode == 0
