"""What messages tell people to run is a command that there is, with options that it has."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

import cupti_etl
from cupti_etl.cli import cli

HOME = Path(cupti_etl.__file__).parent
_COMMAND = re.compile(r"`cupti-etl (\w[^`]*)`")
# What a message leaves to the reader.
_LEFT_OUT = ("Missing argument", "Missing option", "requires an argument", "is not a valid process")


def _text(node: ast.AST) -> str:
    """A string of the source, in which each value that is put in is a word."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return "1"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _named() -> set[str]:
    """The commands in messages, help texts and docstrings."""
    sources = (ast.parse(path.read_text()) for path in HOME.rglob("*.py"))
    texts = {_text(node) for source in sources for node in ast.walk(source)}
    return {" ".join(words.split()) for text in texts for words in _COMMAND.findall(text)}


@pytest.mark.parametrize("words", sorted(_named()))
def test_a_command_that_a_message_names_is_one(words: str) -> None:
    name, *rest = shlex.split(words)
    command = cli.get_command(click.Context(cli), name)
    assert command, f"there is no command {name}"
    if isinstance(command, click.Group):
        if not rest:
            return
        _, command, rest = command.resolve_command(click.Context(command), rest)
        assert command
    wrong = ""
    try:
        command.make_context(name, rest)
    except click.exceptions.Exit:  # --help
        pass
    except click.UsageError as error:
        wrong = error.format_message()
    assert not wrong or any(each in wrong for each in _LEFT_OUT)
