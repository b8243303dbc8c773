"""Files of the user's cache: nothing depends on them, and each is whole or not there.

Whatever befalls a file here, the answer is to go without it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_UNUSED_S = 30 * 86400
# Where there is less, nothing is begun: it would cost its time at each question.
_LEAST_FREE_BYTES = 8 << 20


def home(variable: str, below: str) -> Path | None:
    """The folder that the user has for a purpose; None for a user who has none.

    Args:
        variable: that says where it is.
        below: where it is in the home directory, if it does not.
    """
    given = Path(os.environ.get(variable, ""))
    if given.is_absolute():
        return given
    # HOME may be empty, which pathlib takes for the root.
    if os.environ.get("HOME", "/") == "":
        return None
    try:
        own = Path.home()
    except RuntimeError:
        return None
    return own / below if own.is_absolute() else None


def folder() -> Path | None:
    """Where they lie; None for a user who has no home."""
    base = home("XDG_CACHE_HOME", ".cache")
    return base / "cupti-etl" if base else None


def is_there(path: Path) -> bool:
    """Whether there is such a file, as far as we may know."""
    try:
        return path.is_file()
    except OSError:  # a home that is somebody else's
        return False


def key(what: Iterable[object]) -> str:
    """A word for the name of a file, which is another for other things."""
    return hashlib.sha256("\0".join(map(str, what)).encode()).hexdigest()[:16]


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes the file in one step: others may be doing the same.

    Raises:
        OSError: there is no room, or no such place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(path.parent).free < _LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path.parent))
    with tempfile.TemporaryDirectory(prefix=".making-", dir=path.parent) as scratch:
        yield Path(scratch) / path.name
        (Path(scratch) / path.name).rename(path)


def forget(files: Iterable[Path], most_bytes: int | None = None) -> None:
    """Remove those that nobody has used for long, and more of them where they are too large."""
    found = []
    for file in files:
        with contextlib.suppress(OSError):
            about = file.stat()
            found.append((max(about.st_atime, about.st_mtime), about.st_size, file))
    total = 0
    for used, size, file in sorted(found, reverse=True):
        total += size
        if time.time() - used > _UNUSED_S or (most_bytes is not None and total > most_bytes):
            with contextlib.suppress(OSError):
                file.unlink()
