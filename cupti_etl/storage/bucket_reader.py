"""What DuckDB reads buckets by: files of pyarrow, each of which several threads read at once."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from typing import Any

from fsspec.implementations.arrow import ArrowFSWrapper

from cupti_etl.storage.bucket import Url


class _File:
    """A file in a bucket.

    DuckDB says where to read, and then how much, in two calls, and its threads share the file: so
    each thread has a place of its own in it.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size = int(file.size())
        self._at = threading.local()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self._size}[whence]
        self._at.place = start + offset
        return start + offset

    def tell(self) -> int:
        """The place where this thread reads on."""
        return int(getattr(self._at, "place", 0))

    def read(self, count: int = -1) -> bytes:
        """Bytes from there on; all that are left if it is not said how many.

        Raises:
            OSError: they cannot be read.
        """
        place = self.tell()
        count = self._size - place if count < 0 else min(count, self._size - place)
        data = bytes(self._file.read_at(count, place)) if count > 0 else b""
        self._at.place = place + len(data)
        return data

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def flush(self) -> None:
        """Nothing is written."""


class Reader(ArrowFSWrapper):  # type: ignore[misc]
    """A file system for DuckDB; what a file is like is known from the listing of the trace."""

    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        # fsspec takes the name of a container of Azure for that of a host.
        return path.removeprefix(f"{cls.protocol}://").rstrip("/")

    def open(self, path: str, mode: str = "rb", **_: Any) -> _File:
        """Open a file for reading.

        Raises:
            OSError: it cannot be read, or is to be written.
        """
        if mode != "rb":
            raise OSError(f"{path} is in a bucket, and is only read")
        return _File(self.fs.open_input_file(self._url(path).key))

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Kind, size and time of what has that name.

        Raises:
            FileNotFoundError: there is nothing.
        """
        url = self._url(path)
        if url.is_dir():
            return {"name": url.key, "size": 0, "type": "directory", "mtime": None}
        about = url.stat()
        at = datetime.fromtimestamp(about.st_mtime, UTC)
        return {"name": url.key, "size": about.st_size, "type": "file", "mtime": at}

    def _url(self, path: str) -> Url:
        return Url(f"{self.protocol}://{path.removeprefix(f'{self.protocol}://')}")
