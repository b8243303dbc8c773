"""Files that are given twice, under whatever names: their rows would be there twice."""

from __future__ import annotations

import filecmp
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from cupti_etl.errors import ForeignError, UsageError

_HINT = "its rows would be there twice; name it once"


def refuse_twice(files: Sequence[Path]) -> None:
    """See that no two names are of one file, or of files with the same contents.

    Raises:
        ForeignError: one cannot be read.
        UsageError: two are.
    """
    shapes = [(file, _shape(file)) for file in files]
    for (first, parts), (second, others) in combinations(shapes, 2):
        if first.resolve() == second.resolve():
            raise UsageError(f"{second} is given twice", _HINT)
        # Few files have the same size to the byte: hardly any is read for this.
        if parts == others and _is_same(first, second, [name for name, _ in parts]):
            raise UsageError(f"{second} is the same as {first}", _HINT)


def _shape(file: Path) -> list[tuple[str, int]]:
    """The file, or those in the folder, with their sizes."""
    try:
        parts = sorted(file.glob("*.parquet")) if file.is_dir() else [file]
        return [("" if part == file else part.name, part.stat().st_size) for part in parts]
    except OSError as error:
        raise ForeignError(f"{file} cannot be read: {error.strerror}") from None


def _is_same(first: Path, second: Path, parts: list[str]) -> bool:
    try:
        return bool(parts) and all(
            filecmp.cmp(first / part, second / part, shallow=False) for part in parts
        )
    except OSError as error:
        raise ForeignError(f"{error.filename} cannot be read: {error.strerror}") from None
