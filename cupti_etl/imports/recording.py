"""Our own recordings: raw slots of a capture, decoded as they were to be then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.recording import RecordedProcesses, read_recording
from cupti_etl.capture.traced import Traced
from cupti_etl.errors import NativeError, RecordingError
from cupti_etl.imports.source import Source
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

_KEEP = "`cupti-etl replay` makes a trace of what comes before the damage"


class Recording(Source):
    """One recording.

    Args:
        path: the file.
        is_partial: whether what comes before a damage is taken.

    Attributes:
        damage: the damage before which it was taken.
    """

    kind = "recording"

    def __init__(self, path: Path, *, is_partial: bool = False) -> None:
        super().__init__(path)
        self.damage: RecordingError | None = None
        self._is_partial = is_partial
        self._decoder = Decoder()
        self._processes = RecordedProcesses(self._decoder)
        self._traced: dict[int, Traced] = {}

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows of its processes.

        Raises:
            RecordingError: it is damaged or truncated, and only the whole of it is wanted.
        """
        try:
            for frame in read_recording(self.path):
                process = self._processes.take(frame)
                if frame.process_id not in self._traced:
                    self._traced[frame.process_id] = Traced(process, None)
                yield from self._batches(everything=False)
        except NativeError as error:
            self._damaged(RecordingError(f"{self.path} cannot be replayed: {error.message}"))
        except RecordingError as error:
            self._damaged(error)
        for traced in self._traced.values():
            info = traced.process.info()
            traced.end_ns = info.finished_ns or info.last_return_ns or info.start_ns
        yield from self._batches(everything=True)

    def _damaged(self, damage: RecordingError) -> None:
        if not self._is_partial:
            raise RecordingError(damage.message, _KEEP) from damage
        self.damage = damage

    def _batches(self, everything: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        import pyarrow as pa

        yield from self._decoder.batches(everything)
        windows = [row for traced in self._traced.values() for row in traced.new_windows()]
        if windows:
            schema = arrow_schema("capture_window")
            yield "capture_window", pa.RecordBatch.from_pylist(windows, schema)

    def process_rows(self) -> list[dict[str, Any]]:
        """Its processes."""
        return [traced.row() for traced in self._traced.values()]

    def losses(self) -> list[Loss]:
        """What was lost when it was recorded."""
        return [loss for traced in self._traced.values() for loss in traced.losses()]
