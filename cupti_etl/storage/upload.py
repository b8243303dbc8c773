"""Brings the finished parts of a trace from a folder on this machine to where many hosts write.

The manifest says which parts there are.  What was uploaded is noted beside them, so that another
process can upload the rest.
"""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cupti_etl.errors import EtlError, UsageError
from cupti_etl.storage import disk, manifest, schema_file
from cupti_etl.storage.bucket import Url, put, reason

NOTES = "upload.json"
# Parts of this name can be replaced until the end; they come after those with the rows.
_RESTATED = "part-000000.parquet"
_LAST = "capture"
# How often the folder is looked at, and how often in a row an upload may fail in the end.
_LOOK_S = 1.0
# A service takes long to answer, and several answers hardly longer than one.
_AT_A_TIME = 8
_ATTEMPTS = 3
_LONGEST_PAUSE_S = 30.0
_ANY = 1 << 62


@dataclass(frozen=True)
class Part:
    """A part that is to be uploaded."""

    table: str
    name: str
    entry: manifest.Entry

    @property
    def turn(self) -> int:
        """When it is uploaded: rows, 0; what is said about them, 1; that the trace has ended, 2."""
        return (self.name == _RESTATED) + (self.table == _LAST)


class Upload:
    """The parts of one folder on their way.

    Args:
        folder: of the trace on this machine.
        url: of the trace where it is to be.
        keep_bytes: parts that were uploaded are removed here while there are more bytes than this.
        done: checksums of parts that were uploaded before, by table and name.
        removed_bytes: of those that are no longer here.

    Attributes:
        failure: why the last attempt failed; "" if it did not.
        removed_bytes: of parts that were uploaded and are no longer here.
    """

    def __init__(
        self,
        folder: Path,
        url: Url,
        keep_bytes: int,
        done: Mapping[str, int] | None = None,
        removed_bytes: int = 0,
    ) -> None:
        self.failure = ""
        self.removed_bytes = removed_bytes
        self._folder, self._url, self._keep_bytes = folder, url, keep_bytes
        self._done = dict(done or {})
        self._sizes: dict[str, int] = {}  # of those that can be removed
        self._note()

    def left(self) -> list[Part]:
        """Parts that are not uploaded; those without rows need not be."""
        named = manifest.read(self._folder) or {}
        return [
            Part(table, name, entry)
            for table, parts in named.items()
            for name, entry in parts.items()
            if self._done.get(f"{table}/{name}", None if entry.rows else entry.crc32) != entry.crc32
        ]

    def some(self) -> bool:
        """Upload what there is; whether that succeeded."""
        self.failure = ""
        left = self.left()
        try:
            # Rows first, then what is said about them, and last that the trace has ended.
            for turn in range(3):
                with ThreadPoolExecutor(_AT_A_TIME) as pool:
                    list(pool.map(self._part, [part for part in left if part.turn == turn]))
            if left:
                put(self._url / schema_file.NAME, (self._folder / schema_file.NAME).read_bytes())
                put(self._url / manifest.NAME, self._uploaded())
        except FileNotFoundError:  # not written yet
            pass
        except OSError as error:
            self.failure = reason(error)
        self._make_room()
        self._note()
        return not self.failure

    def _uploaded(self) -> bytes:
        """A manifest of the parts that are there."""
        named = manifest.read(self._folder) or {}
        there = {
            table: {
                name: entry
                for name, entry in parts.items()
                if self._done.get(f"{table}/{name}") == entry.crc32
            }
            for table, parts in named.items()
        }
        return manifest.as_json({table: parts for table, parts in there.items() if parts})

    def _part(self, part: Part) -> None:
        table, name, entry = part.table, part.name, part.entry
        try:
            content = (self._folder / table / name).read_bytes()
        except FileNotFoundError:  # named, and not there yet
            return
        if len(content) != entry.bytes or zlib.crc32(content) != entry.crc32:
            return  # replaced since; it comes with the next look
        put(self._url / table / name, content)
        self._done[f"{table}/{name}"] = entry.crc32
        if name != _RESTATED:
            self._sizes[f"{table}/{name}"] = entry.bytes

    def _make_room(self) -> None:
        over = disk.folder_bytes(self._folder) - self._keep_bytes
        for part, size in list(self._sizes.items()):
            if over <= 0:
                return
            (self._folder / part).unlink(missing_ok=True)
            del self._sizes[part]
            self.removed_bytes += size
            over -= size

    def _note(self) -> None:
        notes = {"url": str(self._url), "done": self._done, "removed_bytes": self.removed_bytes}
        temporary = self._folder / f".{NOTES}.tmp"
        # Where the disk is full, parts are uploaded twice.
        with suppress(OSError):
            disk.write(temporary, json.dumps(notes).encode())
            disk.rename(temporary, self._folder / NOTES)

    def rest(self) -> None:
        """Upload all that is left, and remove the folder.

        Raises:
            EtlError: some of it could not be uploaded; it is still in the folder.
        """
        for attempt in range(_ATTEMPTS):
            if self.some() and not self.left():
                disk.remove(self._folder)
                return
            if attempt + 1 < _ATTEMPTS:
                time.sleep(min(2.0**attempt, _LONGEST_PAUSE_S))
        count = len(self.left())
        noun = "part is" if count == 1 else "parts are"
        why = self.failure or "the folder lacks files that its manifest names"
        raise EtlError(
            f"{count} {noun} not in {self._url} yet: {why}",
            f"nothing is lost: later, cupti-etl upload {self._folder}",
        )


class Uploader(threading.Thread):
    """The thread that uploads while the program runs; it never holds up who writes the trace."""

    def __init__(self, upload: Upload) -> None:
        super().__init__(name="cupti-etl-upload", daemon=True)
        self._upload = upload
        self._is_over = threading.Event()

    def run(self) -> None:
        """Upload, and wait the longer the more often that failed."""
        failed = 0
        while not self._is_over.wait(min(_LOOK_S * 2**failed, _LONGEST_PAUSE_S)):
            failed = 0 if self._upload.some() else min(failed + 1, 5)

    def finish(self) -> None:
        """Upload the rest.

        Raises:
            EtlError: some of it could not be uploaded.
        """
        self._is_over.set()
        self.join()
        self._upload.rest()


def resume(folder: Path) -> Url:
    """Upload what a capture could not; where to.

    Raises:
        UsageError: the folder is not that of such a capture, or it is still being written.
        EtlError: some of it could not be uploaded.
    """
    from cupti_etl.storage.parquet import lock

    try:
        notes = json.loads((folder / NOTES).read_bytes())
        url = Url(str(notes["url"]))
        done = {str(part): int(crc) for part, crc in notes["done"].items()}
        removed_bytes = int(notes["removed_bytes"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(
            f"{folder} holds nothing that is to be uploaded",
            "give the folder that the capture named",
        ) from None
    held = lock(folder)
    try:
        Upload(folder, url, _ANY, done, removed_bytes).rest()
    finally:
        os.close(held)
    return url
