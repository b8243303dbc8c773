"""A recording into a collector, slot by slot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cupti_etl.capture.collector import Collector, Traced
from cupti_etl.capture.native import load
from cupti_etl.capture.recording import read_recording
from cupti_etl.capture.segment import Process
from cupti_etl.errors import NativeError, RecordingError


class Replay:
    """Feeds a collector, which is not live, with a recording.

    Raises:
        RecordingError: the file is missing, or no recording.
    """

    def __init__(self, recording: Path, collector: Collector) -> None:
        self._recording = recording
        self._collector = collector
        self._frames = read_recording(recording)
        self._first = next(self._frames, None)  # so that a wrong file is known at once
        self._known: dict[int, Traced] = {}

    def steps(self) -> Iterator[None]:
        """Feed all of it; after each step, batches can be taken from the collector.

        Raises:
            RecordingError: it is damaged; what came before the damage was fed.
        """
        ffi, _ = load()
        frame = self._first
        while frame is not None:
            try:
                if frame.tag == b"HEAD":
                    self._describe(frame.process_id, frame.description())
                elif frame.process_id in self._known:
                    data = ffi.from_buffer("uint8_t[]", frame.payload)
                    process = self._known[frame.process_id].process
                    process.decode(data, len(frame.payload), frame.content)
                else:
                    raise RecordingError(
                        f"{self._recording} is damaged: a slot of an unknown process"
                    )
            except NativeError as error:
                raise RecordingError(
                    f"{self._recording} cannot be replayed: {error.message}"
                ) from None
            yield
            frame = next(self._frames, None)

    def _describe(self, process_id: int, description: dict[str, object]) -> None:
        if process_id in self._known:
            self._known[process_id].process.update(description)
            return
        traced = Traced(Process.loaded(self._collector.decoder, description), None)
        self._known[process_id] = traced
        self._collector.traced.append(traced)

    def end(self) -> None:
        """Say when each process was last heard of."""
        for traced in self._known.values():
            info = traced.process.info()
            traced.end_ns = info.finished_ns or info.last_return_ns or info.start_ns
