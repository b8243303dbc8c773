"""``cupti-etl`` in the process of the tests: what it prints, and its status.

A process of its own would spend its time on imports.  Where the process is what is tested
(signals, pipes, full disks, limits), tests start one.
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from cupti_etl.cli import main


def etl(*words: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command line; bytes that are no text are for ``etl_bytes``."""
    done = etl_bytes(*words, stdin=stdin)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def etl_bytes(*words: object, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run a command line."""
    arguments = list(map(str, words))
    out, err = io.BytesIO(), io.BytesIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.TextIOWrapper(out, write_through=True)) as stdout,
        redirect_stderr(io.TextIOWrapper(err, write_through=True)) as stderr,
    ):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as end:
            main(arguments)
    # Else both would be closed with what wraps them.
    stdout.detach()
    stderr.detach()
    assert isinstance(end.value.code, int)
    return subprocess.CompletedProcess(arguments, end.value.code, out.getvalue(), err.getvalue())
