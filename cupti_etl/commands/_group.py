"""Groups of commands that say which one may have been meant."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cupti_etl.errors import UsageError, did_you_mean
from cupti_etl.render.help import Command


class Group(click.Group):
    """A group that answers a command it does not have with the ones that are spelt alike."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names.

        Raises:
            UsageError: there is none.
        """
        name = args[0]
        is_unknown = not name.startswith("-") and self.get_command(ctx, name) is None
        if is_unknown and not ctx.resilient_parsing:
            raise UsageError(f"there is no command {name!r}", self.suggestion(ctx, args))
        return super().resolve_command(ctx, args)

    def suggestion(self, ctx: click.Context, words: Sequence[str]) -> str:
        """What to type instead of words of which the first is no command."""
        otherwise = f"{ctx.command_path} --help lists the commands"
        return did_you_mean(words[0].lower(), self.list_commands(ctx), otherwise)
