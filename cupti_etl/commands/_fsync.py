"""The option of all commands that write a trace: whether to wait for the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


def fsync_option(function: _F) -> _F:
    """Adds --no-fsync, as the argument ``fsync``."""
    return click.option(
        "--no-fsync",
        "fsync",
        is_flag=True,
        callback=lambda _context, _option, is_given: not is_given,
        help="Do not wait for the disk. Faster on slow disks, but a power failure can damage the"
        " trace.",
    )(function)
