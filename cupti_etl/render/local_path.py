"""Paths of this machine, as options and arguments: what is in a bucket is refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cupti_etl.errors import UsageError

# What to do where a bucket is named; what is read, and what is written.
_COPIES = {"s3": "aws s3 cp --recursive", "gs": "gcloud storage cp --recursive"}
WRITTEN = "give a path on this machine, and copy from there what was written"


class LocalPath(click.Path):
    """The type of such an option or argument.

    Args:
        todo: what to do if a bucket is named; by default, to copy from there.
    """

    def __init__(self, todo: str = "") -> None:
        super().__init__(path_type=Path)
        self._todo = todo

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path.

        Raises:
            UsageError: a bucket is named, or something of a kind that is not known.
        """
        return Path(str(super().convert(local_path(value, self._todo), param, ctx)))


def local_path(text: str | Path, todo: str = "") -> Path:
    """The path that a text names.

    Raises:
        UsageError: a bucket is named, or something of a kind that is not known.
    """
    from cupti_etl.storage.bucket import Url, as_path

    path = as_path(text)
    if isinstance(path, Url):
        copy = _COPIES.get(str(path).partition(":")[0])
        raise UsageError(
            f"{path} is in a bucket, and this takes a path on this machine",
            todo or f"copy it first{f': {copy} {path} {path.name}' if copy else ''}",
        )
    return path
