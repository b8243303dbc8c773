"""What --help shows: each option once, under its heading; each command with a whole sentence."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import click
import pytest
from support.on_terminal import OnTerminal

from cupti_etl.cli import _SECTIONS, cli, main
from cupti_etl.render.help import Command, Option, fitted


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} ")


ALL = dict(commands(cli))


def help_of(command: click.Command) -> str:
    # click keeps the option --help of a command as it was first asked for.
    names = ["-h", "--help"]
    return command.get_help(click.Context(command, terminal_width=80, help_option_names=names))


def test_a_command_by_itself_has_a_short_option_for_its_help() -> None:
    command = Command("alone", help="Do it.")
    assert "-h, --help" in command.get_help(click.Context(command))


@pytest.mark.parametrize("path", ALL)
def test_each_option_is_shown_once(path: str) -> None:
    text = help_of(ALL[path]).partition("\nOptions:")[2]
    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)
    options = [each for each in ALL[path].params if isinstance(each, click.Option)]
    shown = [each for each in options if not each.hidden and "--help" not in each.opts]
    assert len(listed) == len(set(listed)) == len(shown) + 1
    assert all(set(each.opts) & set(listed) for each in shown)


@pytest.mark.parametrize("path", ALL)
def test_the_list_of_commands_has_whole_sentences(path: str) -> None:
    if not ALL[path].hidden:
        assert "..." not in ALL[path].get_short_help_str(60 if " " in path else 64)


def test_the_sections_of_the_list_name_commands() -> None:
    assert {name for names in _SECTIONS.values() for name in names} <= set(ALL)
    text = help_of(cli)
    shown = re.findall(r"^  ([a-z]+) ", text[text.index("\nRecord:") :], re.MULTILINE)
    assert sorted(shown) == sorted(n for n, each in ALL.items() if " " not in n and not each.hidden)


def test_options_without_a_section_come_first() -> None:
    params = [Option(["--far"], section="Else", help="B."), click.Option(["--near"], help="A.")]
    text = help_of(Command("made", params=params))
    assert re.findall(r"^(\w+):$|(--\w+)", text, re.MULTILINE) == [
        *(("Options", ""), ("", "--near"), ("", "--help")),
        *(("Else", ""), ("", "--far")),
    ]


LINES = """\
Computed: what lies in operators of the same name.
  name   VARCHAR  Name of the operator, or of a step.
Example: cupti-etl query operator_summary TRACE

short"""


def test_lines_go_on_under_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "32")
    assert fitted(LINES) == LINES, "what no terminal shows has no width"
    monkeypatch.setattr(sys, "stdout", OnTerminal())
    assert (
        fitted(LINES)
        == """\
Computed: what lies in operators
  of the same name.
  name   VARCHAR  Name of the
         operator, or of a step.
Example: cupti-etl query operator_summary TRACE

short"""
    )


def test_words_that_are_too_long_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setattr(sys, "stdout", OnTerminal())
    assert fitted(f"a {'b' * 20} c") == f"a\n  {'b' * 20}\n  c"


def test_colours_take_no_room_and_commands_are_to_be_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setattr(sys, "stdout", OnTerminal())
    heading = "\x1b[1mcalls\x1b[0m  \x1b[2m-\x1b[0m"
    assert fitted(heading) == heading
    command = "  cupti-etl query step_summary TRACE"
    assert fitted(command) == command


@pytest.mark.parametrize("path", ALL)
def test_options_say_what_they_take(path: str) -> None:
    """TEXT and INTEGER RANGE are click's words for what nobody has named."""
    text = help_of(ALL[path])
    assert not re.search(r"^  -.* (TEXT|INTEGER|INTEGER RANGE|FLOAT)  ", text, re.MULTILINE)
    if path in ("capture", "sample"):
        assert "TIME has a unit, as in 30s" in text


def test_what_an_option_can_be_is_listed_without_escapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["completion"])
    assert caught.value.code == 2
    assert "Choose from:\n    bash,\n    zsh,\n    fish\n" in capsys.readouterr().err


def test_a_trace_without_a_query_is_not_taken_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["query", "."])
    assert caught.value.code == 2
    said = "cupti-etl: which query of .?\n  cupti-etl query --list lists them\n"
    assert capsys.readouterr().err == said
