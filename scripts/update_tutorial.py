"""Run the commands of the tutorial, the README and others, and put what they print into them.

    python scripts/update_tutorial.py [--check]

There a ``console`` block begins with ``$`` and a command, which
ends where its quotes are closed; the rest of the block is output.  All commands run in a
folder with the traces of ``example_traces.py``.  With ``--check`` nothing is written, and the
status is 1 if something would be.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

from cupti_etl.cli import cli

sys.path.insert(0, str(Path(__file__).resolve().parent))
from example_traces import example_traces
from support.opened_once import opened_once

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "tutorial" / "first-trace.md",
    ROOT / "docs" / "tutorial" / "slow-step.md",
    ROOT / "docs" / "howto" / "reading-answers.md",
    ROOT / "docs" / "reference" / "answers.md",
)
_BLOCK = re.compile(r"^```console\n\$ (.*?)^```$", re.MULTILINE | re.DOTALL)


def command_of(block: str) -> str:
    """The command at the beginning of a block."""
    command = ""
    for line in block.splitlines(keepends=True):
        command += line
        try:
            shlex.split(command)
        except ValueError:  # a quote is still open
            continue
        return command.rstrip("\n")
    raise ValueError(f"a quote is not closed: {block}")


def run(command: str, folder: Path) -> str:
    """What a call of cupti-etl prints."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False)
    if done.exit_code != 0:
        raise SystemExit(f"{command}: {done.output}")
    return done.stdout.strip("\n")


def with_output(text: str, folder: Path) -> str:
    """The page with the output of its commands as it is now."""

    def replace(match: re.Match[str]) -> str:
        command = command_of(match[1])
        return f"```console\n$ {command}\n{run(command, folder)}\n```"

    return _BLOCK.sub(replace, text)


def main(arguments: list[str]) -> int:
    """Entry point."""
    before = {page: page.read_text() for page in PAGES}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        example_traces(folder)
        with opened_once():
            after = {page: with_output(text, folder) for page, text in before.items()}
    stale = [page for page in PAGES if after[page] != before[page]]
    for page in stale:
        if "--check" in arguments:
            print(f"{page.name}: run scripts/update_tutorial.py", file=sys.stderr)
        else:
            page.write_text(after[page])
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
