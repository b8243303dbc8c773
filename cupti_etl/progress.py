"""Lines on stderr."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from typing import TextIO

import click


def printable(text: str, keep: str = "") -> str:
    """The text with escapes such as ``\\x1b`` for what is not to be seen.

    These are control characters, also those that turn the direction of writing, and halves of
    characters.

    Args:
        text: from anywhere.
        keep: characters that are left as they are, such as the ends of our own lines.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode()
        for char in text
    )


def say(text: str) -> None:
    """A line on stderr.  A terminal or a reader that has gone away is no reason to fail.

    What is said may be of a trace: nothing in it steers the terminal.
    """
    with suppress(OSError):
        click.echo(printable(text, keep="\n"), err=True)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody reads it.  A program may run without standard streams at all."""
    return stream is not None and stream.isatty()


class Line:
    """A line on stderr that says how it goes, where that is a terminal.

    Args:
        is_wanted: whether to say it at all.
    """

    def __init__(self, *, is_wanted: bool = True) -> None:
        self.is_on = is_wanted and is_terminal(sys.stderr)
        self._shown = False

    def show(self, text: str) -> None:
        """Show this, in place of what was shown before."""
        if self.is_on:
            self._shown = True
            # A second line would stay.
            width = shutil.get_terminal_size().columns - 1
            self._write(f"\r\x1b[K{printable(text)[:width]}")

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # the terminal has gone away; the work may well go on
            self.is_on = self._shown = False
