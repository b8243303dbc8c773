"""Recordings: the raw slots of a capture in one file, to be replayed.

Layout: the magic line, then a zstd stream of frames::

    ┌───────┬──────────┬───────────────┬──────────┬─────────┐
    │ tag 4 │ content 4│ process_id 8  │ length 8 │ payload │   little-endian
    └───────┴──────────┴───────────────┴──────────┴─────────┘

``HEAD`` carries what a process says of itself as JSON (``Process.description``; again
whenever its record sizes change, and at its end), ``SLOT`` the bytes of one slot,
``DONE`` ends the file: a recording without it is truncated.  Nothing in it depends on
how the tables are described, so it can be replayed by a version that has more of them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.segment import Process
from cupti_etl.errors import RecordingError, UsageError
from cupti_etl.native.loader import load

MAGIC = b"cupti-etl recording 1\n"
_FRAME = struct.Struct("<4sIQQ")
# By tag, what a frame holds at the most: the largest slot, and a description, which grows by
# some hundred bytes with each window of recording.
_MAX_PAYLOAD = {b"HEAD": 1 << 28, b"SLOT": 1 << 20, b"DONE": 0}


@dataclass(frozen=True)
class Frame:
    """One frame; ``content`` says what a slot holds (records or strings)."""

    tag: bytes
    content: int
    process_id: int
    payload: bytes

    def description(self) -> dict[str, Any]:
        """What a ``HEAD`` frame says of its process.

        Raises:
            RecordingError: it is damaged.
        """
        try:
            found = json.loads(self.payload)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise RecordingError("the recording is damaged: a process's description cannot be read")
        return found


class RecordingWriter:
    """Writes a recording; use as a context manager.

    Raises:
        UsageError: the file exists already or cannot be created.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        try:
            self._file: IO[bytes] = path.open("xb")
        except FileExistsError:
            raise UsageError(f"{path} exists already", "choose another --save-raw file") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None
        self._file.write(MAGIC)
        self._stream = pa.CompressedOutputStream(self._file, "zstd")
        self._generation: dict[int, int] = {}

    def slot(self, process: Process, data: memoryview, content: int) -> None:
        """Record a slot, after the header it needs."""
        generation = process.info().layout_generation
        if self._generation.get(process.process_id) != generation:
            self.head(process)
            self._generation[process.process_id] = generation
        self._write(b"SLOT", content, process.process_id, data)

    def head(self, process: Process) -> None:
        """Record what a process says of itself, with its counters."""
        text = json.dumps(process.description()).encode()
        self._write(b"HEAD", 0, process.process_id, memoryview(text))

    def _write(self, tag: bytes, content: int, process_id: int, payload: memoryview) -> None:
        self._stream.write(_FRAME.pack(tag, content, process_id, len(payload)))
        self._stream.write(payload)

    def close(self) -> None:
        """Finish the file."""
        self._write(b"DONE", 0, 0, memoryview(b""))
        self._stream.close()
        self._file.close()

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class RecordedProcesses:
    """The processes of a recording, rebuilt frame by frame.

    Args:
        decoder: where the rows of their slots go.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._ffi, _ = load()
        self._decoder = decoder
        self.known: dict[int, Process] = {}

    def take(self, frame: Frame) -> Process:
        """The frame's process: made or brought up to date by ``HEAD``, decoding a ``SLOT``.

        Raises:
            RecordingError: a slot comes before the description of its process.
            NativeError: a description is damaged, or there is no memory.
        """
        process = self.known.get(frame.process_id)
        if frame.tag == b"HEAD":
            if process is None:
                process = Process.loaded(self._decoder, frame.description())
                self.known[frame.process_id] = process
            else:
                process.update(frame.description())
        elif process is None:
            raise RecordingError("the recording is damaged: a slot of an unknown process")
        else:
            data = self._ffi.from_buffer("uint8_t[]", frame.payload)
            process.decode(data, len(frame.payload), frame.content)
        return process


def read_recording(path: Path) -> Iterator[Frame]:
    """The frames of a recording, in order.

    Raises:
        RecordingError: the file is missing, not a recording, damaged, or truncated;
            the frames before the damage have been given.
    """
    import pyarrow as pa

    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be read: {error.strerror}", "give a file of `capture --save-raw`"
        ) from None
    with file:
        if file.read(len(MAGIC)) != MAGIC:
            raise RecordingError(
                f"{path} is not a recording of this version", "recordings are made with --save-raw"
            )
        stream = pa.CompressedInputStream(file, "zstd")
        done = False
        while not done:
            frame = _read_frame(stream, path)
            done = frame.tag == b"DONE"
            if not done:
                yield frame


def _read_frame(stream: Any, path: Path) -> Frame:
    truncated = RecordingError(
        f"{path} is truncated or damaged", "what came before the damage has been replayed"
    )
    try:
        head = stream.read(_FRAME.size)
        if len(head) != _FRAME.size:
            raise truncated
        tag, content, process_id, length = _FRAME.unpack(head)
        if length > _MAX_PAYLOAD.get(tag, -1):
            raise truncated
        payload = stream.read(length)
    except OSError:
        raise truncated from None
    if len(payload) != length:
        raise truncated
    return Frame(tag, content, process_id, payload)
