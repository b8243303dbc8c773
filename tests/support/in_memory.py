"""Temporary files of tests are in memory where there is room for them.

A trace is a hundred small files and folders, and thousands of traces are made and removed.  ext4
uses no inode again that became free within a minute, and looks at each of these for each file that
is made: that takes a third of the time of an import.
"""

from __future__ import annotations

import os

_HOME = "/dev/shm"
# Several times as much as all processes of the tests have there at once.
_ROOM_BYTES = 8 << 30


def home() -> str:
    """The folder for them; "" where they have to be on a disk."""
    try:
        about = os.statvfs(_HOME)
    except OSError:
        return ""
    # As in a container, which has 64 MB, of which nothing can be run.
    is_free = about.f_bavail * about.f_frsize >= _ROOM_BYTES and os.access(_HOME, os.W_OK)
    return _HOME if is_free and not about.f_flag & os.ST_NOEXEC else ""
