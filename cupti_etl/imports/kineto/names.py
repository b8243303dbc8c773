"""What names and numbers that are written as text say."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"-?\d{1,20}|0x[0-9a-f]{1,16}")
# "Memcpy HtoD (Pinned -> Device)"
_COPY = re.compile(r"Memcpy(?: (\w+))?(?: \((.+?) -> (.+?)\))?")
_DIRECTIONS = ("HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")
# Of Intel's XPUs: "Memcpy M2D (Memory -> Device)". By letter, which end and kind of memory it is.
_XPU_COPY = re.compile(r"Memcpy ([MHDS])2([MHDS])\b")
_XPU_MEMORY = {
    "M": ("H", "pageable"),
    "H": ("H", "pinned"),
    "D": ("D", "device"),
    "S": ("S", "managed"),
}
# "Memset (Device)", or with the value that is set: "Memset (0 -> Device)"
_SET = re.compile(r"Memset \((?:\d+ -> )?(.+)\)")


def low_bits(number: str) -> int | None:
    """A number, or its low 32 bits where it is a handle of 64; None if it is none."""
    if not _NUMBER.fullmatch(number):
        return None
    low = int(number, 16 if number.startswith("0x") else 10) & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def copy_of(name: str) -> tuple[str, str | None, str | None]:
    """Direction of a copy, and from which kind of memory to which."""
    if match := _XPU_COPY.match(name):
        (source, kind), (end, end_kind) = _XPU_MEMORY[match[1]], _XPU_MEMORY[match[2]]
        direction = f"{source}to{end}"
        return direction if direction in _DIRECTIONS else "unknown", kind, end_kind
    match = _COPY.match(name)
    if match is None:
        return "unknown", None, None
    direction = next((d for d in _DIRECTIONS if d.lower() == (match[1] or "").lower()), "unknown")
    return direction, _memory_kind(match[2]), _memory_kind(match[3])


def set_kind(name: str) -> str | None:
    """Which kind of memory is set."""
    match = _SET.match(name)
    return _memory_kind(match[1]) if match else None


def _memory_kind(words: str | None) -> str | None:
    return words.strip().lower().replace(" ", "_").replace("-", "_") if words else None
