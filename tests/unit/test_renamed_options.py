"""Options by their old names: understood, and shown nowhere."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from cupti_etl.commands._renamed import RenamedOption


@click.command()
@click.option(
    "--buffer-mb", cls=RenamedOption, was="--ring-mb", type=int, default=256, help="Size."
)
def command(buffer_mb: int) -> None:
    click.echo(buffer_mb)


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "256"), (["--buffer-mb", "1"], "1"), (["--ring-mb", "2"], "2")],
)
def test_both_names_are_understood(words: list[str], said: str) -> None:
    assert CliRunner().invoke(command, words).output.strip() == said


def test_the_old_name_is_not_shown() -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    assert "--buffer-mb INTEGER" in shown
    assert "--ring-mb" not in shown
