"""Where DuckDB puts what finds no room in memory.

By itself it takes a folder beside the program, wherever that was started.  DuckDB 1 shares it with
all others that were started there, and they spoil one another's files.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

_NUMBERS = itertools.count()


def spill_folder() -> dict[str, str]:
    """A setting of DuckDB, for one connection: a folder that it makes when it needs one.

    It is where the system has such things (TMPDIR), for nobody else to read, and removed when the
    program ends.  None where no folder can be made.
    """
    home = _home(os.getpid())
    return {"temp_directory": str(home / str(next(_NUMBERS)))} if home else {}


@cache
def _home(process: int) -> Path | None:
    """The folder of a process, as who was forked has a copy of all else."""
    try:
        home = Path(tempfile.mkdtemp(prefix=f"cupti-etl-{process}-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home
