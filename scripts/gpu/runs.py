"""What the programs of the acceptance share: their options, runs with a time limit, reports."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHON = sys.executable
CUPTI_ETL = (PYTHON, "-m", "cupti_etl")


def arguments(doc: str | None, *required: str) -> argparse.ArgumentParser:
    """The options that ``gpu_acceptance.sh`` gives to every program, which adds its own."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    for name in ("--newer-cupti", "--launch-loop"):
        parser.add_argument(name, required=name in required)
    return parser


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    seconds: float
    output: str

    @property
    def last_lines(self) -> list[str]:
        """The end of its output, for a report."""
        return self.output.strip().splitlines()[-12:]


class Runner:
    """Runs commands in a folder that holds no source of cupti-etl.

    Args:
        folder: working folder of the commands, and place of their files; ``traces`` is made in it.
        log: file that all output is appended to; the report is written beside it.
        seconds: time for everything; a command that would begin later is not run.
    """

    def __init__(self, folder: Path, log: Path, seconds: float) -> None:
        for each in (folder / "traces", log.parent):
            each.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._log = log
        self._end = time.monotonic() + seconds

    def run(
        self, command: Sequence[str], *, limit: float = 90, environ: Mapping[str, str] | None = None
    ) -> Done:
        """Run a command; status 124 if it took too long, 125 if there was no time left."""
        left = min(limit, self._end - time.monotonic())
        title = " ".join(map(str, command))
        if left <= 5:
            self._note(f"$ {title}\nnot run: no time left\n")
            return Done(125, 0.0, "not run: no time left")
        begin = time.monotonic()
        with subprocess.Popen(
            list(map(str, command)),
            cwd=self.folder,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A group of its own, so that all of it can be ended at the limit.
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=left)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                status = 124
        seconds = round(time.monotonic() - begin, 2)
        self._note(f"$ {title}\n{output}[status {status}, {seconds} s]\n\n")
        return Done(status, seconds, output)

    def logged(
        self, name: str, command: Sequence[str], log: Path, *, limit: float = 90
    ) -> tuple[dict[str, Any], Any]:
        """Run a program that writes a log: the case, and the log; None if the program failed."""
        done = self.run(command, limit=limit)
        case = {"name": name, "status": done.status, "seconds": done.seconds, "wrong": []}
        if done.status or not log.exists():
            return {**case, "wrong": ["the program failed"], "output": done.last_lines}, None
        return case, json.loads(log.read_text())

    def write(self, report: Mapping[str, Any]) -> None:
        """Write the report, or what there is of it."""
        self._log.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")

    def _note(self, text: str) -> None:
        with self._log.open("a") as file:
            file.write(text)
        print(text, end="", flush=True)


def output_of(command: Sequence[str]) -> str:
    """Output of a small command that asks the machine something; "" if it fails."""
    try:
        return subprocess.run(
            list(command), capture_output=True, text=True, timeout=30, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
