"""The option of all commands that write a new trace or file: whether to replace what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


def overwrite_option(function: _F) -> _F:
    """Adds --overwrite, as the argument ``overwrite``."""
    return click.option(
        "--overwrite",
        is_flag=True,
        help="Replace an existing trace or file; other folders are never replaced.",
    )(function)
