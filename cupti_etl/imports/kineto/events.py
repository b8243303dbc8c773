"""The events of a Chrome trace (JSON, or gzip of it) as Arrow batches, in constant memory."""

from __future__ import annotations

import errno
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from cupti_etl.errors import ForeignError
from cupti_etl.native.loader import load

_PIECE = 1 << 20
# One event, or one member beside the events, that is larger is refused.
_LARGEST = 1 << 28
_ROWS = 1 << 15
_TYPES = {"d": pa.float64(), "s": pa.dictionary(pa.int32(), pa.string())}
_TYPES["*"] = _TYPES["s"]


def open_json(path: Path) -> IO[bytes]:
    """The JSON of a file, which may be compressed with gzip whatever its name is."""
    file = path.open("rb")
    if file.read(2) == b"\x1f\x8b":
        file.close()
        return gzip.open(path)  # type: ignore[return-value]
    file.seek(0)
    return file


def _loaded(value: bytes) -> Any:
    """A value of JSON, whose texts are valid.

    Raises:
        RecursionError: it is nested too deep.
        ValueError: it is no JSON.
    """
    text = value.decode("utf-8", "replace")
    found = json.loads(text, strict=False)
    if "\\u" in text:
        # Half of a pair of code units is no character.
        plain = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        found = json.loads(plain, strict=False)
    return found


class EventReader:
    """Reads a file once.

    Args:
        path: the file.
        columns: by name, where the value stands: a letter and a path, as
            ``etl_events_new`` in ``native/include/etl/abi.h`` describes them.
        rows: of a batch.
        piece: bytes that are read at a time.

    Attributes:
        members: what stands beside the events; complete when all batches have been read.
        head: what was read of it before the first batch; None before that.
        others: elements among the events that are no objects.
        unread: members beside the events that are no JSON, or nested too deep.
        unfit: by where they stand, values that are no numbers where such should be.
    """

    def __init__(
        self, path: Path, columns: dict[str, str], rows: int = _ROWS, piece: int = _PIECE
    ) -> None:
        self._ffi, self._lib = load()
        self._path = path
        self._rows = rows
        self._piece = piece
        handle = self._lib.etl_events_new("\n".join(columns.values()).encode())
        assert handle != self._ffi.NULL, "a column of events is described wrongly"
        self._handle = self._ffi.gc(handle, self._lib.etl_events_free)
        stored = {name: where for name, where in columns.items() if where[0] != "-"}
        self._schema = pa.schema(
            [(name, _TYPES.get(where[0], pa.int64())) for name, where in stored.items()]
        )
        self._stored = [where[2:] for where in stored.values()]
        self.members: dict[str, Any] = {}
        self.head: dict[str, Any] | None = None
        self.others = 0
        self.unread: list[str] = []
        self.unfit: dict[str, int] = {}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The events, in the order of the file.

        Raises:
            ForeignError: the file is no JSON, malformed, truncated or damaged.
        """
        left, done = b"", 0
        is_over = False
        with open_json(self._path) as file:
            while fresh := self._read(file, max(self._piece, len(left))):
                if is_over:
                    if rest := fresh.strip():
                        raise self._followed(rest, done)
                    continue
                data = left + fresh
                used = 0
                buffer = self._ffi.from_buffer(data)
                result = self._lib.ETL_EVENTS_FULL
                while result in (self._lib.ETL_EVENTS_FULL, self._lib.ETL_EVENTS_MEMBER):
                    result, used = self._step(data, buffer, used, done)
                    if result == self._lib.ETL_EVENTS_FULL:
                        yield self._take()
                if result == self._lib.ETL_EVENTS_END:
                    is_over = True
                    if rest := data[used:].strip():
                        raise self._followed(rest, done + used)
                left = data[used:]
                done += used
                if len(left) > _LARGEST:
                    raise ForeignError(
                        f"{self._path}: an event at byte {done:,} is larger than"
                        f" {_LARGEST >> 20} MiB",
                        "the file is probably damaged there",
                    )
        if not is_over:
            what = "is truncated: it ends within" if done or left else "is empty: it holds no"
            raise ForeignError(
                f"{self._path} {what} JSON", "export it again, or copy it again completely"
            )
        self.others = int(self._lib.etl_events_others(self._handle))
        if self._lib.etl_events_rows(self._handle):
            yield self._take()
        for column, where in enumerate(self._stored):
            if unfit := int(self._lib.etl_events_unfit(self._handle, column)):
                self.unfit[where] = self.unfit.get(where, 0) + unfit

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except EOFError:
            raise ForeignError(
                f"{self._path} is truncated: its gzip stream does not end",
                "copy it again completely",
            ) from None
        except (OSError, zlib.error) as error:
            raise ForeignError(
                f"{self._path} cannot be read: {error}", "copy it again completely"
            ) from None

    def _step(self, data: bytes, buffer: Any, used: int, done: int) -> tuple[int, int]:
        piece = self._ffi.new("struct etl_piece *")
        result = int(
            self._lib.etl_events_read(
                self._handle, buffer + used, len(data) - used, self._rows, piece
            )
        )
        end = used + int(piece.used)
        if result == -errno.EBADMSG:
            raise self._malformed(done + end)
        if result < 0:
            raise MemoryError
        if result == self._lib.ETL_EVENTS_MEMBER:
            name = data[used + piece.name_at : used + piece.value_at].rpartition(b":")[0]
            self._member(name, data[used + piece.value_at : end])
        return result, end

    def _member(self, name: bytes, value: bytes) -> None:
        try:
            self.members[_loaded(name)] = _loaded(value)
        except (ValueError, RecursionError):
            self.unread.append(name.decode("utf-8", "replace").strip().strip('"'))

    def _followed(self, rest: bytes, at: int) -> ForeignError:
        if not rest.startswith((b"{", b"[")):
            return ForeignError(
                f"{self._path}: after the end of the JSON, something follows at byte {at:,}",
                "the file is probably damaged there: export it again, or copy it again completely",
            )
        if "ph" in self.members:
            return ForeignError(
                f"{self._path} has each event by itself, as JSON Lines (NDJSON) do",
                "make one list of them: jq -s . EVENTS > trace.json",
            )
        return ForeignError(
            f"{self._path} holds several traces: the second begins at byte {at:,}",
            "make a file of each (split -l 1, if each is a line), and import them together",
        )

    def _malformed(self, at: int) -> ForeignError:
        return ForeignError(
            f"{self._path} is not well-formed JSON at byte {at:,}",
            "only JSON traces of PyTorch (Kineto) are read; if it is one, export it again",
        )

    def _take(self) -> pa.RecordBatch:
        self.head = dict(self.members) if self.head is None else self.head
        array = self._ffi.new("struct ArrowArray *")
        if self._lib.etl_events_take(self._handle, array) < 0:
            raise MemoryError
        return pa.RecordBatch._import_from_c(int(self._ffi.cast("uintptr_t", array)), self._schema)
