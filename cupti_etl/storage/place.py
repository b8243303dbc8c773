"""Where an export goes: never over something that is there."""

from __future__ import annotations

from pathlib import Path

from cupti_etl.errors import UsageError


def refuse_existing(out: Path) -> None:
    """See that nothing is overwritten.

    Raises:
        UsageError: there is a file or folder of that name, or no folder to put it in.
    """
    if out.is_symlink() or out.exists():
        raise UsageError(
            f"{out} exists already, and an export overwrites nothing",
            "choose another name, or remove it",
        )
    if not out.parent.is_dir():
        raise UsageError(f"there is no folder {out.parent}", "make it, or choose another name")
