"""The reference pages that are made from the program itself: its commands and its
environment.

``make generate`` writes them to ``docs/reference/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from cupti_etl.cli import cli
from cupti_etl.config import CUDA_INJECTION, ENVIRONMENT, NVTX_INJECTION, USER_ENVIRONMENT

_WIDTH = 80

_CLI_INTRODUCTION = """\
# Commands

Made from the commands' own help by `make generate`; do not edit.
"""

_ENVIRONMENT_INTRODUCTION = """\
# Environment variables

Made from `cupti_etl/config.py` by `make generate`; do not edit.
"""
_USER = """\
## Set by you
"""
_LAUNCHER = """\
## Set for the traced program

`cupti-etl capture` sets these in the environment of the command that it starts, and the library
that is loaded into the program reads them; an empty one counts as not set. They are no way to
configure a capture: the options of `cupti-etl capture` are, and they replace values that stand here
already. A process is captured only if they reach it: `sudo`, `ssh` and containers drop them.
"""


def cli_markdown() -> str:
    """The reference of all commands, with each command's help at 80 columns."""
    helps = list(_helps(cli, context_of(cli, "cupti-etl", None)))
    links = "".join(f"* [{title}](#{title.replace(' ', '-')})\n" for title, _ in helps[1:])
    pages = (f"## {title}\n\n```text\n{text}\n```\n" for title, text in helps)
    return "\n".join([_CLI_INTRODUCTION, links, *pages])


def context_of(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    """The context in which click would run the command, on a terminal of a fixed width."""
    settings = {"terminal_width": _WIDTH, **command.context_settings}
    return click.Context(command, parent=parent, info_name=name, **settings)


def _helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Name and help of a command, and of those below it."""
    lines = command.get_help(context).splitlines()
    yield context.command_path, "\n".join(line.rstrip() for line in lines)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _helps(below, context_of(below, name, context))


def environment_markdown() -> str:
    """The reference of all environment variables."""
    loads = "the library that {} loads into the program; a capture refuses to replace another's"
    launched = [
        (CUDA_INJECTION, loads.format("CUDA")),
        (NVTX_INJECTION, loads.format("NVTX")),
        *ENVIRONMENT.values(),
    ]
    parts = [_ENVIRONMENT_INTRODUCTION, _USER, _table(USER_ENVIRONMENT.items())]
    return "\n".join([*parts, _LAUNCHER, _table(launched)])


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = ["| Variable | Meaning |", "| --- | --- |"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in rows]
    return "\n".join(lines) + "\n"
