"""Files that are the same for every trace: made once, and kept beside Python's compiled modules.

They stay until what they are made of is another.  Where nothing can be written there, whoever needs
one makes it each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from importlib.util import cache_from_source
from pathlib import Path

from cupti_etl.schema.revisions import STORAGE_VERSION
from cupti_etl.storage.place import unfinished

SUFFIX = ".duckdb"


def kept_file(name: str, words: Iterable[str], files: Iterable[Path]) -> Path:
    """Where the DuckDB file is kept: under a digest of all that it is made of."""
    import duckdb

    digest = hashlib.sha256("\0".join((duckdb.__version__, STORAGE_VERSION, *words)).encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    return Path(cache_from_source(__file__)).with_name(f"{name}-{digest.hexdigest()[:16]}{SUFFIX}")


def keep(kept: Path, make: Callable[[Path], object]) -> None:
    """Make the file if it is not there, in the place of a former one.

    Raises:
        OSError: nothing can be written there.
    """
    if kept.is_file():
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(kept) as partial:
        make(partial)
        for former in kept.parent.glob(f"{kept.stem.split('-')[0]}-*{SUFFIX}"):
            former.unlink(missing_ok=True)
        partial.replace(kept)
