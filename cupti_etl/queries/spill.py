"""Where DuckDB puts what finds no room in memory.

By itself it takes a folder beside the program, wherever that was started.  DuckDB 1 shares it with
all others that were started there, and they spoil one another's files.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def spill_folder() -> dict[str, str]:
    """A setting of DuckDB, for one connection: a folder that nothing else uses.

    It is where the system has such things (TMPDIR); DuckDB makes it when it needs it, and removes
    it when the connection is closed.  Without such a place nothing is set.
    """
    try:
        home = tempfile.gettempdir()
    except FileNotFoundError:
        return {}
    return {"temp_directory": str(Path(home, f"cupti-etl-{os.urandom(8).hex()}"))}
