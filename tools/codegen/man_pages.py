"""Manual pages (man 1), made from the help of the commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from cupti_etl import __version__
from cupti_etl.cli import cli
from tools.codegen.program_pages import context_of


def man_pages() -> dict[str, str]:
    """Text of each page by its file name, such as ``cupti-etl-capture.1``."""
    return {f"{name}.1": text for name, text in _pages(cli, context_of(cli, "cupti-etl", None))}


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    name = context.command_path.replace(" ", "-")
    below = []
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            found = command.get_command(context, word)
            if found is not None and not found.hidden:
                below.append((found, context_of(found, word, context)))
    yield name, "".join(line + "\n" for line in _page(name, command, context, below))
    for found, inner in below:
        yield from _pages(found, inner)


def _page(
    name: str,
    command: click.Command,
    context: click.Context,
    below: list[tuple[click.Command, click.Context]],
) -> Iterator[str]:
    short = command.get_short_help_str(1000).rstrip(".")
    yield f'.TH "{name.upper()}" "1" "" "cupti-etl {__version__}" "cupti-etl"'
    yield from (".SH NAME", f"{_text(name)} \\- {_text(short)}")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (".SH SYNOPSIS", f".B {_text(context.command_path)}", _line(usage))
    yield ".SH DESCRIPTION"
    # Docstrings are indented before Python 3.13.
    yield from _paragraphs(inspect.cleandoc(command.help or ""))
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(context):
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record:
            sections.setdefault(getattr(param, "section", "") or "Options", []).append(record)
    commands = [(inner.command_path, found.get_short_help_str(1000)) for found, inner in below]
    for title, records in {**sections, "Commands": commands}.items():
        if records:
            yield f'.SH "{title.upper()}"'
        for words, meaning in records:
            yield from (".TP", f".B {_text(words)}", _line(meaning))
    if context.parent or below:
        others = [inner.command_path for _, inner in below]
        if context.parent:
            others = [context.parent.command_path]
        yield ".SH SEE ALSO"
        yield ",\n".join(f".BR {_text(other.replace(' ', '-'))} (1)" for other in others)


def _paragraphs(text: str) -> Iterator[str]:
    """A help text, in which ``\\b`` begins a paragraph whose lines stay as they are."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.partition("\f")[0].strip())):
        lines = paragraph.splitlines()
        if lines[0].strip() == "\b":
            yield from (".PP", ".nf", *(_line(line) for line in lines[1:]), ".fi")
        else:
            if number:
                yield ".PP"
            yield from (_line(line.strip()) for line in lines)


def _line(text: str) -> str:
    """A line of text, which must not be taken for a request."""
    text = _text(text)
    return rf"\&{text}" if text.startswith((".", "'")) else text


def _text(text: str) -> str:
    """With backslashes and hyphens as they are typed; all else as it is, in UTF-8."""
    return text.replace("\\", r"\e").replace("-", r"\-")
