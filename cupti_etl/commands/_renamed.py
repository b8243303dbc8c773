"""Options that had another name once."""

from __future__ import annotations

from typing import Any

import click

from cupti_etl.render.help import Option


class RenamedOption(Option):
    """An option whose old name is still understood, for one release, and shown nowhere.

    Args:
        was: the old name, such as ``--ring-mb``.
    """

    def __init__(self, declarations: Any, was: str, **attributes: Any) -> None:
        super().__init__([*declarations, was], **attributes)
        self._was = was

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The line of the help text, without the old name."""
        all_names, self.opts = self.opts, [name for name in self.opts if name != self._was]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = all_names
