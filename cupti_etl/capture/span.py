"""The rows of one trace of a flight recorder, on their way to the thread that writes it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.ring import Piece
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

_Rows = list[dict[str, Any]]
# Pieces that the writer of a trace takes at a time.
_AT_A_TIME = 8


class Span:
    """The rows of one trace, on their way from the capture's thread to its writer's.

    Args:
        pieces: what the ring held when the trigger fired.
        most_bytes: what may wait for the disk besides; of more, new pieces are lost.
    """

    def __init__(self, pieces: list[Piece], most_bytes: int) -> None:
        self._waiting = deque(pieces)
        self._first = len(pieces)  # of the ring, which wait at its expense
        self._most_bytes = most_bytes
        self._bytes = 0  # of those that came since
        self._counting = threading.Lock()  # both threads count in them
        self._lost: dict[str, int] = {}
        self._came = threading.Event()
        self._tables: dict[str, _Rows] = {}
        self._facts: dict[str, Any] = {}
        self.is_closed = False

    def add(self, piece: Piece) -> None:
        """Take a piece that came since the trigger fired."""
        with self._counting:
            if self._bytes + piece.data.size > self._most_bytes:
                self._lost[piece.table] = self._lost.get(piece.table, 0) + piece.rows
                return
            self._bytes += piece.data.size
            self._waiting.append(piece)
        self._came.set()

    def say(self, tables: dict[str, _Rows], facts: dict[str, Any]) -> None:
        """What the small tables and the row of the capture are now."""
        self._tables, self._facts = tables, facts

    def close(self) -> None:
        """No more pieces come."""
        self.is_closed = True
        self._came.set()

    # ---- for the writer, as a source of a driver

    def drain(self) -> bool:
        """Whether there is more to pass on."""
        return bool(self._waiting)

    def wait(self, timeout_ms: int) -> None:
        """Wait for the next piece, at most so long."""
        self._came.wait(timeout_ms / 1000)
        self._came.clear()

    def batches(self, everything: bool, is_last: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Some of the rows; all of them in the end."""
        left = _AT_A_TIME
        while self._waiting and (is_last or left):
            piece = self._take()
            left -= 1
            yield from piece.batches()

    def _take(self) -> Piece:
        with self._counting:
            piece = self._waiting.popleft()
            if self._first:
                self._first -= 1
            else:
                self._bytes -= piece.data.size
        return piece

    def restated(self) -> dict[str, _Rows]:
        """The tables about processes, losses and triggers."""
        detail = "the disk was too slow for what came after the trigger"
        with self._counting:
            counts = dict(self._lost)
        lost = [Loss(None, "not_written", t, n, detail=detail) for t, n in counts.items()]
        tables = dict(self._tables)
        return {**tables, "loss": [*tables.get("loss", ()), *(loss.row() for loss in lost)]}

    def facts(self) -> dict[str, Any]:
        """Columns of ``capture``."""
        return self._facts

    def stored_rows(self) -> _Rows:
        """None: rows are counted while they are written."""
        return []

    def changes(self) -> dict[str, Any]:
        """None."""
        return {}
