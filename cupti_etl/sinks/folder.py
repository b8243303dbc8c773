"""The folder of a trace: made before anything else, so that a bad path is known at once."""

from __future__ import annotations

import os
from pathlib import Path

from cupti_etl.errors import UsageError


def create(out: Path) -> None:
    """Make the folder of a new trace.

    Raises:
        UsageError: it exists already or cannot be made.
    """
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(
            f"{out} exists already, and a trace is never overwritten",
            "choose another -o, or remove it",
        ) from None
    except OSError as error:
        raise UsageError(
            f"{os.fspath(out)!r} cannot be created: {error.strerror}", "choose another -o"
        ) from None
