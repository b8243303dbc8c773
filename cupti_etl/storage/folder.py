"""The folder of a trace: made before anything else, so that a bad path is known at once."""

from __future__ import annotations

import os
from pathlib import Path

from cupti_etl.errors import UsageError

# DuckDB takes one for a separator of folders, and what comes after the other for options.
_NOT_IN_NAMES = "\\?"


def create(out: Path, name: Path | None = None) -> None:
    """Make the folder of a new trace.

    Args:
        out: the folder.
        name: what it will be called once it is complete, if that is not its name yet.

    Raises:
        UsageError: it exists already, cannot be made, or DuckDB would not find it again.
    """
    named = out if name is None else name
    path = os.fspath(named.absolute())
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{path!r} is no text in UTF-8", "choose another -o") from None
    for char in _NOT_IN_NAMES:
        if char in path:
            raise UsageError(
                f"{path} has a {char} in it, and DuckDB would not find it again",
                "choose another -o",
            )
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(
            f"{named} exists already", "choose another -o, or add --overwrite"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{os.fspath(named)!r} cannot be created: {error.strerror}", "choose another -o"
        ) from None
