"""Exchanging two folders in one step."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(a: Path, b: Path) -> None:
    """Let two paths change their names, atomically where the system can (renameat2).

    Where it cannot, ``b`` is missing for the moment between two renames; readers of a
    trace try again then.

    Raises:
        OSError: neither way works.
    """
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        renameat2 = None
    names = os.fsencode(a), os.fsencode(b)
    if renameat2 and renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return
    aside = b.with_name(f".{b.name}.aside")
    b.rename(aside)
    a.rename(b)
    aside.rename(a)
