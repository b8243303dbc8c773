"""What a shell offers while a command line is typed, and what that costs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import etl

ETL = Path(sys.executable).with_name("cupti-etl")
SHELLS = ("bash", "zsh", "fish")
# What begins a program that is told its own imports.
_IMPORTS = """
import atexit, sys
from cupti_etl.cli import main
atexit.register(lambda: print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr))
main([])
"""


def complete(line: str) -> tuple[list[str], set[str]]:
    """What is offered for the last word of a line, and the packages that were imported."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_CUPTI_ETL_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    offered = [item.partition(",")[2] for item in done.stdout.splitlines()]
    return offered, set(done.stderr.split())


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("cupti-etl que", ["query"]),
        ("cupti-etl query kernel_wo", ["kernel_worst"]),
        ("cupti-etl query kernel_worst run --ste", ["--steps"]),
        ("cupti-etl schema memcpy_", ["memcpy_p2p"]),
        ("cupti-etl export --table kernel,memcpy_", ["kernel,memcpy_p2p"]),
        ("cupti-etl export run --to arr", ["arrow"]),
        ("cupti-etl metrics des", ["describe"]),
    ],
)
def test_what_is_offered(line: str, offered: list[str]) -> None:
    found, packages = complete(line)
    assert found == offered
    # Somebody waits for each letter.
    assert not packages & {"duckdb", "pyarrow", "numpy"}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_of_that_shell(shell: str, tmp_path: Path) -> None:
    done = etl("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_CUPTI_ETL_COMPLETE={shell}_complete" in done.stdout
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    script = tmp_path / "script"
    script.write_text(done.stdout)
    subprocess.run([found, "-n", str(script)], check=True)


def test_bash_completes() -> None:
    ask = """
        eval "$(cupti-etl completion bash)"
        COMP_WORDS=(cupti-etl query kernel_wo) COMP_CWORD=2
        _cupti_etl_completion cupti-etl kernel_wo query
        echo "${COMPREPLY[@]}"
    """
    path = f"{ETL.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", ask], env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "kernel_worst\n"


def test_another_shell_is_none() -> None:
    assert etl("completion", "tcsh").returncode == 2
