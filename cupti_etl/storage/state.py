"""The files that the rows of a trace come from, as they are now."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterable
from pathlib import Path

from cupti_etl.storage.sources import File, Folder, Source, all_part_files

# Files with their sizes and times.
State = tuple[tuple[str, int, int], ...]
# As a folder of a large capture has; they are looked through in some milliseconds.
_FEW_FILES = 1000


def state(sources: Iterable[Source]) -> State:
    """The files that the rows of a trace come from, as they are now."""
    found: list[Path | os.DirEntry[str]] = []
    for source in sources:
        found += [source.path] if isinstance(source, File) else all_part_files(source.path)
    return state_of(found)


def state_of(files: Iterable[Path | os.DirEntry[str]]) -> State:
    """The same of some files."""
    found = []
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            about = file.stat()
            found.append((os.fspath(file), about.st_size, about.st_mtime_ns))
    return tuple(sorted(found))


def state_bytes(now: State) -> int:
    """How large these files are together."""
    return sum(size for _, size, _ in now)


class Look:
    """What ``state`` says of some sources; of many files, as it was a moment ago.

    To look at those of a thousand ranks takes longer than many a statement.  It is done so often
    that it takes a tenth of the time.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._found: State = ()
        self._next_s = -math.inf

    def __call__(self) -> State:
        """The files."""
        begin_s = time.monotonic()
        if begin_s >= self._next_s:
            self._found = state(self._sources)
            if len(self._found) > _FEW_FILES:
                self._next_s = begin_s + 10 * (time.monotonic() - begin_s)
        return self._found

    def again(self) -> None:
        """Look anew when it is asked next, as something has vanished."""
        self._next_s = -math.inf


def by_table(now: State, folders: Iterable[Folder]) -> dict[str, State]:
    """The parts of each table that are read."""
    only = {os.fspath(folder.path): folder.only for folder in folders}
    found: dict[str, list[tuple[str, int, int]]] = {}
    for part in now:
        home, name = os.path.split(part[0])
        folder, table = os.path.split(home)
        if folder in only and name in only[folder].get(table, (name,)):
            found.setdefault(table, []).append(part)
    return {table: tuple(parts) for table, parts in found.items()}
