"""Runs commands for the acceptance: with a time limit, output into one log file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PYTHON = sys.executable
CUPTI_ETL = (PYTHON, "-m", "cupti_etl")


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
        folder: working folder of the commands, and place of their files.
        log: file that all output is appended to.
        seconds: time for everything; a command that would begin later is not run.
    """

    def __init__(self, folder: Path, log: Path, seconds: float) -> None:
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
