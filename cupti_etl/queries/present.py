"""The files that a trace has now."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from cupti_etl.queries.derived import DERIVED
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.bucket import real_path
from cupti_etl.storage.sources import PARTS, as_glob

# Folders with the names of what is in them, and files with their sizes and times.
Listing = tuple[tuple[object, ...], ...]


def present_files(paths: Iterable[Path]) -> list[str]:
    """Parts, rows that were computed once and self-contained files, and the globs of parts.

    They are spelt as they are given, and without links, as DuckDB compares names.
    """
    return [
        spelt
        for path in paths
        for spelling in dict.fromkeys((path.absolute(), real_path(path)))
        for spelt in _files(spelling)
    ]


def _files(path: Path) -> Iterator[str]:
    if not path.is_dir():
        yield from (str(path), f"{path}.wal")
        return
    for folder in dict.fromkeys((*map(path.joinpath, TABLES), *_folders(path))):
        yield f"{as_glob(folder)}/{PARTS}"
        yield from map(str, folder.glob(PARTS))
    yield from map(str, path.glob(f"{DERIVED}/*/*.parquet"))


def _folders(path: Path) -> list[Path]:
    return sorted(each for each in path.iterdir() if each.is_dir())


def listing(paths: Iterable[Path], *, derived: bool) -> Listing:
    """What is another where parts came, went or were exchanged; far cheaper than a look at each.

    Args:
        paths: of the trace.
        derived: whether rows that were computed once count, too.
    """
    found: list[tuple[object, ...]] = []
    for path in paths:
        folders = _folders(path) if path.is_dir() else [path]
        for each in folders:
            if each.name == DERIVED and not derived:
                continue
            with contextlib.suppress(OSError):
                about = each.stat()
                names = sorted(map(str, each.iterdir())) if each.is_dir() else ()
                found.append((str(each), about.st_mtime_ns, about.st_size, *names))
    return tuple(found)
