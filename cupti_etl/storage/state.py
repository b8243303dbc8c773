"""The files that the rows of a trace come from, as they are now."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cupti_etl.storage.bucket import Url
from cupti_etl.storage.sources import File, Folder, Source, all_part_files, part_files, sub_folders

_File = str | os.PathLike[str]
# Files with their sizes and times.
State = tuple[tuple[str, int, int], ...]
# As a folder of a large capture has; they are looked through in some milliseconds.
_FEW_FILES = 1000
# File systems tell apart what happens in a folder by clocks that tick each 10 ms at the slowest.
_TICK_NS = 100_000_000
# Others tick each second, or, such as those over buckets, never say that anything happened.
_LISTED_S = 1.0


def state(
    sources: Iterable[Source], parts: Callable[[Path], Iterable[_File]] = all_part_files
) -> State:
    """The files that the rows of a trace come from, as they are now.

    Args:
        sources: of the trace.
        parts: gives those of a folder.
    """
    found: list[_File] = []
    for source in sources:
        found += [source.path] if isinstance(source, File) else parts(source.path)
    return state_of(found)


def state_of(files: Iterable[_File]) -> State:
    """The same of some files."""
    found = []
    for file in files:
        try:
            about = file.stat() if isinstance(file, Url) else os.stat(file)  # noqa: PTH116
        except FileNotFoundError:
            continue
        found.append((os.fspath(file), about.st_size, about.st_mtime_ns))
    return tuple(sorted(found))


def state_bytes(now: State) -> int:
    """How large these files are together."""
    return sum(size for _, size, _ in now)


class Listed:
    """What is in folders, listed anew only where something came or went.

    To list the folders of a trace, whose tables have one each, takes longer than to ask the file
    system when each of them was changed.  A Path would take longer than that.
    """

    def __init__(self) -> None:
        # By folder, until when what was found is taken, of which times.
        self._seen: dict[str, tuple[float, tuple[int, ...], list[str]]] = {}

    def parts(self, path: Path) -> Iterator[_File]:
        """The parts of all folders in one."""
        if isinstance(path, Url):
            yield from all_part_files(path)
            return
        for folder in self._list(os.fspath(path), sub_folders):
            yield from self._list(folder, _paths_of_parts)

    def _list(self, folder: str, look: Callable[[str], list[str]]) -> list[str]:
        try:
            about = os.stat(folder)  # noqa: PTH116
        except OSError:
            return []
        now = (about.st_dev, about.st_ino, about.st_mtime_ns, about.st_ctime_ns)
        now_s = time.monotonic()
        until_s, then, found = self._seen.get(folder, (now_s, (), []))
        if then != now or now_s >= until_s:
            found = look(folder)
            # Another change within the same tick would not be seen.
            is_settled = time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) > _TICK_NS
            self._seen[folder] = now_s + _LISTED_S * is_settled, now, found
        return found


def _paths_of_parts(folder: str) -> list[str]:
    return [entry.path for entry in part_files(folder)]


class Look:
    """What ``state`` says of some sources; of many files, as it was a moment ago.

    To look at those of a thousand ranks takes longer than many a statement.  It is done so often
    that it takes a tenth of the time.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._listed = Listed()
        self._found: State = ()
        self._next_s = -math.inf

    def __call__(self) -> State:
        """The files."""
        begin_s = time.monotonic()
        if begin_s >= self._next_s:
            self._found = state(self._sources, self._listed.parts)
            if len(self._found) > _FEW_FILES:
                self._next_s = begin_s + 10 * (time.monotonic() - begin_s)
        return self._found

    def again(self) -> None:
        """Look anew when it is asked next, as something has vanished."""
        self._next_s, self._listed = -math.inf, Listed()


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
