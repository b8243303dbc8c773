"""Which glibc a compiled library needs, and the tag of a wheel that has it in it."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from pathlib import Path

# No tag of manylinux is older that installers still know by its number.
_OLDEST = (2, 5)


def needed(content: bytes) -> tuple[int, int]:
    """The newest version of glibc that a library asks for; (2, 5) if it asks for none newer."""
    found = re.findall(rb"\0GLIBC_(\d+)\.(\d+)", content)
    # What packed relocations ask for, if a linker makes them.
    packed = [(2, 36)] if b"\0GLIBC_ABI_DT_RELR\0" in content else []
    return max([_OLDEST, *packed, *((int(major), int(minor)) for major, minor in found)])


def platform_tag(libraries: Iterable[Path]) -> str:
    """As PEP 600 has it: ``manylinux_2_17_x86_64`` runs with glibc 2.17 and every later one.

    On a system without glibc, the plain tag of that system.
    """
    machine = platform.machine()
    if platform.libc_ver()[0] != "glibc":
        return f"linux_{machine}"
    major, minor = max(needed(path.read_bytes()) for path in libraries)
    return f"manylinux_{major}_{minor}_{machine}"
