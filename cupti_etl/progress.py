"""Lines on stderr."""

from __future__ import annotations

from contextlib import suppress

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
