"""A capture that is a copy of a process says what a process of its own says."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from support import copied
from support.captures import Capturer
from support.fakes import CUPTI_13


@pytest.mark.parametrize(
    ("options", "command", "status"),
    [
        ((), ["sh", "-c", "cat; echo said >&2; exit 7"], 7),
        (("--no-such-option",), ["true"], 2),
        ((), ["sh", "-c", "kill -9 $PPID"], -9),
    ],
)
def test_a_copy_ends_as_a_process_does(
    capturer: Capturer, options: tuple[str, ...], command: list[str], status: int
) -> None:
    words, env, trace, _ = capturer.prepare(CUPTI_13, options, command=command)
    copy = copied.run(words[3:], env, "given")
    shutil.rmtree(trace, ignore_errors=True)
    alone = subprocess.run(words, env=env, input="given", capture_output=True, text=True)
    assert (copy.returncode, copy.stdout, copy.stderr) == (status, alone.stdout, alone.stderr)
    assert alone.returncode == status


def test_a_copy_that_takes_too_long_is_killed(capturer: Capturer) -> None:
    words, env, *_ = capturer.prepare(CUPTI_13, command=["sh", "-c", "kill -STOP $PPID"])
    with pytest.raises(TimeoutError):
        copied.run(words[3:], env, timeout_s=2)
    assert copied.run(["--version"], env).stdout.startswith("cupti-etl, version")
