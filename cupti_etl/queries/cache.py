"""Files of the user's cache: nothing depends on them, and each is whole or not there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_UNUSED_S = 30 * 86400


def folder() -> Path | None:
    """Where they lie; None for a user who has no home."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return base / "cupti-etl"


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
