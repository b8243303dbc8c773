"""``cupti-etl completion``: what makes a shell complete our command lines."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from cupti_etl.commands._complete import VARIABLE


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a completion script for bash, zsh or fish.

    It completes commands, options, queries and tables.

    \b
      cupti-etl completion bash > ~/.local/share/bash-completion/completions/cupti-etl
      cupti-etl completion zsh > ~/.zfunc/_cupti-etl       # a folder of $fpath
      cupti-etl completion fish > ~/.config/fish/completions/cupti-etl.fish

    For the current shell only: eval "$(cupti-etl completion bash)".
    """
    found = get_completion_class(shell)
    assert found is not None
    # Not its own source(), which starts a bash to see how old it is.
    script = found(context.find_root().command, {}, "cupti-etl", VARIABLE)
    click.echo(ShellComplete.source(script))
