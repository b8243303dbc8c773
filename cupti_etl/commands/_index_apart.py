"""What queries share, computed at the end of a command that made a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cupti_etl.progress import say

# A machine that trains has better to do.
_MEMORY = "2GiB"
_PATIENCE_S = 600.0


def index_apart(trace: Path) -> None:
    """Run ``cupti-etl index`` in a process of its own, with limits; if it fails, say so.

    Nothing is lost then: queries compute what they need.
    """
    words = ["index", str(trace), "--memory-limit", _MEMORY]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "cupti_etl", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        say(f"cupti-etl: the index took longer than {_PATIENCE_S:.0f} s and was given up")
        return
    except OSError as error:
        say(f"cupti-etl: the index could not be made: {error.strerror}")
        return
    for line in done.stderr.decode("utf-8", "replace").splitlines():
        say(line)
