"""What the command line costs before anything is captured."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import median, rounded, timed
from cupti_etl.errors import NoCudaError


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=21)


def _ms(words: list[str], expected: int = 0) -> float:
    def call() -> None:
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == expected, done.stderr

    return timed(call) * 1e3


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    etl = [sys.executable, "-m", "cupti_etl"]
    python, helps, plain, captured = [], [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(arguments.rounds):
            out = Path(scratch) / str(turn)
            python.append(_ms([sys.executable, "-c", "pass"]))
            helps.append(_ms([*etl, "--help"]))
            plain.append(_ms(["/bin/true"]))
            words = [*etl, "capture", "-o", str(out), "--", "/bin/true"]
            captured.append(_ms(words, expected=NoCudaError.exit_code))
    return {
        "help_ms": rounded(median(helps)),
        "capture_true_ms": rounded(median(captured) - median(plain)),
        "capture_true_best_ms": rounded(min(captured) - min(plain)),
        "python_alone_ms": rounded(median(python)),
        "rounds": arguments.rounds,
    }
