"""Our own recordings, the way that ``replay`` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.collector import Collector
from cupti_etl.capture.recording import RecordedProcesses, read_recording
from cupti_etl.capture.traced import Traced
from cupti_etl.errors import NativeError, RecordingError
from cupti_etl.imports.skipped import Skipped
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.imports.kineto.launch_sizes import LaunchSizes


class Recording:
    """One recording; see ``Source``."""

    kind = "recording"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = Skipped()
        self.moved: dict[int, int] = {}
        self.sizes: dict[int, LaunchSizes] = {}
        self._collector = Collector(live=False)

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows of its processes.

        Raises:
            RecordingError: it is damaged or truncated; `replay` keeps what comes before.
        """
        collector = self._collector
        processes = RecordedProcesses(collector.decoder)
        for frame in read_recording(self.path):
            try:
                process = processes.take(frame)
            except NativeError as error:
                raise RecordingError(f"{self.path} cannot be replayed: {error.message}") from None
            if len(processes.known) > len(collector.traced):
                collector.add(Traced(process, None))
            yield from self._batches(everything=False)
        for traced in collector.traced:
            info = traced.process.info()
            traced.end_ns = info.finished_ns or info.last_return_ns or info.start_ns
        yield from self._batches(everything=True)

    def _batches(self, everything: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        for table, batch in self._collector.batches(everything):
            # Names are gathered over all files, and the clock is that of now.
            if table not in ("kernel_name", "clock"):
                yield table, batch

    def process_rows(self) -> list[dict[str, Any]]:
        """Its processes."""
        return self._collector.process_rows()

    def losses(self) -> list[Loss]:
        """What was lost when it was recorded."""
        return self._collector.losses()
