"""Files that are the same for every trace: made once, and kept beside Python's compiled modules.

They stay until what they are made of is another.  Where nothing can be written there, whoever needs
one makes it each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterable
from importlib.util import cache_from_source
from pathlib import Path

from cupti_etl.errors import EtlError
from cupti_etl.schema.revisions import STORAGE_VERSION
from cupti_etl.storage.place import unfinished

_SUFFIX = ".duckdb"
# Nobody takes so long to make one.
_ABANDONED_S = 3600


def kept_file(name: str, words: Iterable[str], files: Iterable[Path]) -> Path:
    """Where the DuckDB file is kept: under a digest of all that it is made of."""
    import duckdb

    digest = hashlib.sha256("\0".join((duckdb.__version__, STORAGE_VERSION, *words)).encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    return Path(cache_from_source(__file__)).with_name(f"{name}-{digest.hexdigest()[:16]}{_SUFFIX}")


def use(kept: Path, make: Callable[[Path], object], read: Callable[[], object]) -> bool:
    """Read the file, which is made first if it is not there, in the place of a former one.

    Args:
        kept: what ``kept_file`` said.
        make: writes it, under another name.
        read: reads it.

    Returns:
        Whether that succeeded.  It cannot where nothing can be written, or the file is damaged.
    """
    import duckdb

    try:
        if not kept.is_file():
            _keep(kept, make)
        read()
    except duckdb.Error:
        # What cannot be read would be in the way of one that can.
        with contextlib.suppress(OSError):
            kept.unlink()
    except (OSError, EtlError):
        pass
    else:
        return True
    return False


def _keep(kept: Path, make: Callable[[Path], object]) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(kept) as partial:
        make(partial)
        name = kept.stem.split("-")[0]
        for former in kept.parent.glob(f"{name}-*{_SUFFIX}"):
            former.unlink(missing_ok=True)
        # Of somebody who was killed.
        for left in kept.parent.glob(f".{name}-*{_SUFFIX}.*"):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > _ABANDONED_S:
                    left.unlink()
        partial.replace(kept)
