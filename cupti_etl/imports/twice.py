"""Files that are given twice, under whatever names: their rows would be there twice."""

from __future__ import annotations

import filecmp
import gzip
import zlib
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from cupti_etl.errors import ForeignError, UsageError
from cupti_etl.imports.kineto.events import open_json

_PIECE = 1 << 20
_HINT = "its rows would be there twice; name it once"


def refuse_twice(files: Sequence[Path]) -> None:
    """See that no two names are of one file, or of files with the same contents.

    One that is compressed has the contents of the one that it was compressed from.

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
    """The file, or those in the folder, with the low 32 bits of their sizes."""
    try:
        parts = sorted(file.glob("*.parquet")) if file.is_dir() else [file]
        return [("" if part == file else part.name, _size(part)) for part in parts]
    except OSError as error:
        raise ForeignError(f"{file} cannot be read: {error.strerror}") from None


def _size(file: Path) -> int:
    size = file.stat().st_size
    # A pipe in a folder would wait for whoever writes into it.
    if not file.is_file():
        return size
    with file.open("rb") as opened:
        if opened.read(2) != b"\x1f\x8b":
            return size % (1 << 32)
        # RFC 1952 has the size of what it was compressed from in the last four bytes.
        opened.seek(max(0, size - 4))
        return int.from_bytes(opened.read(4), "little")


def _is_same(first: Path, second: Path, parts: list[str]) -> bool:
    try:
        return bool(parts) and all(
            filecmp.cmp(first / part, second / part, shallow=False)
            or _has_contents_of(first / part, second / part)
            for part in parts
        )
    except OSError as error:
        raise ForeignError(f"{error.filename} cannot be read: {error.strerror}") from None


def _has_contents_of(first: Path, second: Path) -> bool:
    with open_json(first) as one, open_json(second) as other:
        try:
            while (piece := one.read(_PIECE)) == other.read(_PIECE):
                if not piece:
                    return True
        except (EOFError, zlib.error, gzip.BadGzipFile):
            # Whoever reads it says what is wrong.
            pass
    return False
