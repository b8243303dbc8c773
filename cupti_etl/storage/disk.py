"""What is done to the files of a trace besides writing rows, in one place.

What is written is on the disk for certain only after ``sync``; the order in which the parts of
a trace use these functions is what makes it whole after a kill or a power failure.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cupti_etl.config import Retain

# Where an fsync takes long, several at the same time take hardly longer than one.
_AT_A_TIME = 8


def sync(paths: Sequence[Path]) -> None:
    """Bring files, and the names in folders, to the disk.

    Raises:
        OSError: one of them cannot be.
    """
    failures: list[OSError] = []

    def some(first: int) -> None:
        try:
            for path in paths[first::_AT_A_TIME]:
                _sync(path)
        except OSError as error:
            failures.append(error)

    beside = [threading.Thread(target=some, args=(i,)) for i in range(1, _AT_A_TIME)]
    beside = beside[: max(0, len(paths) - 1)]
    for thread in beside:
        thread.start()
    some(0)
    for thread in beside:
        thread.join()
    if failures:
        raise failures[0]


def _sync(path: Path) -> None:
    is_windows = os.name == "nt"
    if is_windows and path.is_dir():  # has no descriptor there
        return
    # Windows syncs only what may be written.
    descriptor = os.open(path, os.O_RDWR if is_windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(before: Path, after: Path) -> None:
    """Give a file or a folder another name; a file that has it is replaced.

    Raises:
        OSError: that is not possible.
    """
    before.rename(after)


def write(path: Path, content: bytes) -> None:
    """Write a small file.

    Raises:
        OSError: it does not fit; then it is not there.
    """
    try:
        path.write_bytes(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def remove(path: Path) -> None:
    """Remove a file or a folder with what is in it, if it is there.

    Raises:
        OSError: that is not possible.
    """
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def beyond(folders: Sequence[Path], retain: Retain) -> list[Path]:
    """Those of some traces that are more than what is kept, the oldest first.

    Args:
        folders: of the traces, the oldest first.
        retain: what is kept.
    """
    sizes = {path: folder_bytes(path) for path in folders}
    until_ns = time.time_ns() - retain.age_ns if retain.age_ns else 0
    found = []
    for path in folders:
        is_too_much = retain.most_bytes and sum(sizes.values()) > retain.most_bytes
        if not is_too_much and path.stat().st_mtime_ns >= until_ns:
            break
        del sizes[path]
        found.append(path)
    return found


def folder_bytes(folder: Path) -> int:
    """Bytes of all files of a trace; what vanishes meanwhile is not counted."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += Path(parent, name).stat().st_size
    return total
