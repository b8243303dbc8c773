"""How the help of a command looks: its options under headings, in the order of their declaration.

    _part = functools.partial(click.option, cls=Option, section="Part of the trace")

    @click.command(cls=Command)
    @_part("--steps")

Options without a section come first, under "Options".
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import Any

import click

HELP_OPTIONS = ["-h", "--help"]


class Option(click.Option):
    """An option that the help shows under a heading.

    Args:
        section: the heading.
    """

    def __init__(self, *declarations: Any, section: str = "", **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.section = section


class Command(click.Command):
    """A command whose help has a heading for each section of its options."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """``-h``, too, also without the program around it.

        click keeps the option as it was first asked for.
        """
        ctx.help_option_names = HELP_OPTIONS
        return super().get_help_option_names(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those without a section first."""
        sections: dict[str, list[tuple[str, str]]] = {"": []}
        for param in self.get_params(ctx):
            # Arguments stand in the line of usage.
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(param, "section", ""), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title or "Options"):
                    formatter.write_dl(records)


# Lines to copy.
_WHOLE = ("Example:", "In SQL:", "cupti-etl query ")


def fitted(text: str) -> str:
    """Text whose lines fit the terminal, if it goes to one, and go on under their columns."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(_folded(line, width) for line in text.split("\n"))


def _folded(line: str, width: int) -> str:
    # The headings of a table are bold, which takes no room.
    if len(click.unstyle(line)) <= width or line.lstrip().startswith(_WHOLE):
        return line
    name = re.match(r"  \S+  +", line)
    indent = min(len(name[0]) if name else 2, width // 2)
    return textwrap.fill(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
