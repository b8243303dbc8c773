"""``manifest.json``: which parts a trace has, with their rows, bytes and checksums.

It holds no path and no time, so that a copy of a trace has the same one.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from cupti_etl.schema.spec import NAME as TABLE_NAME

NAME = "manifest.json"
_VERSION = 1
_CHUNK = 1 << 20
_PART = re.compile(r"part-\d+\.parquet")


@dataclass(frozen=True)
class Entry:
    """What is known of a part.

    Attributes:
        rows: that it holds.
        bytes: the size of the file.
        crc32: checksum of the file's bytes.
    """

    rows: int
    bytes: int
    crc32: int

    def is_of(self, path: Path) -> bool:
        """Whether a file is this part; it is read to its end."""
        try:
            return path.stat().st_size == self.bytes and checksum(path) == self.crc32
        except OSError:
            return False


# By table and by the name of the file.
Named = dict[str, dict[str, Entry]]


def checksum(path: Path) -> int:
    """The CRC-32 of a file.

    Raises:
        OSError: it cannot be read.
    """
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


def as_json(parts: Named) -> bytes:
    """The file's content."""
    tables = {
        table: {name: asdict(entry) for name, entry in sorted(named.items())}
        for table, named in sorted(parts.items())
    }
    return json.dumps({"version": _VERSION, "parts": tables}, indent=1).encode()


def read(out: Path) -> Named | None:
    """The manifest of a trace; None if it has none, as older ones, or one that is damaged."""
    try:
        content = json.loads((out / NAME).read_bytes())
        if content["version"] != _VERSION:
            return None
        return {
            table: {_name(name): _entry(**entry) for name, entry in named.items()}
            for table, named in content["parts"].items()
            if TABLE_NAME.match(table)
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _name(name: str) -> str:
    """A file in its table's folder, and not one that somebody else would like to be renamed."""
    if not _PART.fullmatch(name):
        raise ValueError(name)
    return name


def _entry(rows: int, bytes: int, crc32: int) -> Entry:
    for number in (rows, bytes, crc32):
        if type(number) is not int or not 0 <= number < 1 << 63:
            raise ValueError(number)
    return Entry(rows, bytes, crc32)
