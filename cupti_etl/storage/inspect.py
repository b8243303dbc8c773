"""What is whole of a trace that nobody is writing any more."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.errors import TraceError
from cupti_etl.schema.spec import NAME
from cupti_etl.storage import disk, manifest, schema_file
from cupti_etl.storage.manifest import Entry, Named

# Their only part is replaced by the next one, also where there is no room for a manifest.
RESTATED = ("process", "loss", "row_count", "capture")
_PARTS = "part-*.parquet"
# Where damaged parts go, so that nobody reads them.
_ASIDE = ".damaged"
_DAMAGED = re.compile(r"([a-z][a-z0-9_]*)\.(part-.*\.parquet)", re.DOTALL)
# A table that is about to change places with another, or has.
_CHANGING = re.compile(r"\.([a-z][a-z0-9_]*)\.(?:compacting|aside)")


@dataclass
class Found:
    """The parts of a trace.

    Attributes:
        parts: those that are whole.
        lost: those that are not, or not there, as ``TABLE/NAME``; with the rows that they
            had, or None.
    """

    parts: Named = field(default_factory=dict)
    lost: dict[str, int | None] = field(default_factory=dict)


def refuse_links(out: Path) -> None:
    """See that what is done to a trace stays in it: anybody can have made the folder.

    Raises:
        OSError: it cannot be read.
        TraceError: in it, or in a folder of it, is a link, a pipe or a device.
    """
    for pattern in ("*", "*/*"):  # the second is looked for where the first has found no link
        for path in out.glob(pattern):
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                kind = "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
                raise TraceError(
                    f"{path} is {kind}, and only a trace without such is changed",
                    "move it away, or put a copy of what is meant in its place",
                )


def settle(out: Path, named: Named) -> None:
    """Complete what the manifest has named before a kill, and remove what it has not.

    Raises:
        OSError: the folder cannot be written.
    """
    for path in list(out.iterdir()):
        if found := _CHANGING.fullmatch(path.name):
            _settle_folder(out, path, found[1], named)
    for temporary in sorted(out.glob("*/*.tmp")):
        table = temporary.parent.name
        if not NAME.match(table):
            continue
        for name, entry in named.get(table, {}).items():
            if entry.is_of(temporary) and not entry.is_of(out / table / name):
                disk.rename(temporary, out / table / name)
                break
        else:
            disk.remove(temporary)
    for name in (manifest.NAME, schema_file.NAME):
        for temporary in out.glob(f".{name}.*"):
            disk.remove(temporary)


def _settle_folder(out: Path, other: Path, table: str, named: Named) -> None:
    """Give the folder of a table that the manifest means its name, and remove the other."""
    home, parts = out / table, named.get(table, {})

    def is_meant(folder: Path) -> bool:
        return bool(parts) and all(entry.is_of(folder / name) for name, entry in parts.items())

    if not home.exists() or (is_meant(other) and not is_meant(home)):
        if other.suffix == ".compacting" and not is_meant(other):
            # It was not complete; what was put aside, or nothing, is there instead.
            disk.remove(other)
            return
        if home.exists():
            disk.remove(home)
        disk.rename(other, home)
    else:
        disk.remove(other)


def look(out: Path, named: Named | None) -> Found:
    """Read every part: by its checksum where the manifest has one, else to its last row.

    A damaged part is put aside, so that the rest can be read.

    Raises:
        OSError: the folder cannot be read or written.
    """
    found = Found()
    for path in sorted(out.glob(f"*/{_PARTS}")):
        table, name = path.parent.name, path.name
        if not NAME.match(table):
            continue
        entry = (named or {}).get(table, {}).get(name)
        if entry is None or (table in RESTATED and not entry.is_of(path)):
            # Newer than the manifest, or of a trace without one.
            entry = _read(path)
        elif not entry.is_of(path):
            entry = None
        if entry is not None:
            found.parts.setdefault(table, {})[name] = entry
        else:
            (out / _ASIDE).mkdir(exist_ok=True)
            disk.rename(path, out / _ASIDE / f"{table}.{name}")
    aside = [_DAMAGED.fullmatch(path.name) for path in sorted(out.glob(f"{_ASIDE}/*"))]
    absent = [
        (table, name)
        for table, parts in (named or {}).items()
        for name in parts
        if name not in found.parts.get(table, {})
    ]
    for table, name in [*(match.groups() for match in aside if match), *absent]:
        known = (named or {}).get(table, {}).get(name)
        # A name that is no UTF-8 is no text of a row either.
        part = os.fsencode(f"{table}/{name}").decode(errors="replace")
        found.lost[part] = known.rows if known else None
    return found


def _read(path: Path) -> Entry | None:
    """What can be known of a part by reading it; None if it is damaged."""
    rows = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                rows += batch.num_rows
        return Entry(rows, path.stat().st_size, manifest.checksum(path))
    except (pa.ArrowException, OSError, ValueError):
        return None
