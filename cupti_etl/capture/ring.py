"""The last seconds of a capture in memory, for ``--flight-recorder``.

Rows are kept in pieces, by table and by when they arrived.  What CUPTI hands over has happened
before, so a piece that is dropped holds nothing that ended after it arrived: all that ended since
the arrival of the last dropped piece is still there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupti_etl.schema.arrow import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

AGE, MEMORY = "age", "memory"


@dataclass(frozen=True)
class Piece:
    """Rows of one table that arrived together.

    Attributes:
        table: whose they are.
        rows: how many.
        arrived_ns: when, ns of CLOCK_MONOTONIC.
        wall_ns: the same, ns of CLOCK_REALTIME.
        data: the batch as an Arrow stream, compressed: what it holds of memory is its size.
    """

    table: str
    rows: int
    arrived_ns: int
    wall_ns: int
    data: pa.Buffer

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows again."""
        import pyarrow as pa

        with pa.ipc.open_stream(self.data) as stream:
            for batch in stream:
                yield self.table, batch


def pack(table: str, batch: pa.RecordBatch, arrived_ns: int, wall_ns: int) -> Piece:
    """A batch as a piece, a copy that holds no more memory than it says."""
    import pyarrow as pa

    if TABLES[table].more is None:
        # What columns mean takes more room than a few rows; the trace says it once.
        bare = pa.schema([pa.field(field.name, field.type) for field in batch.schema])
        batch = pa.RecordBatch.from_arrays(batch.columns, schema=bare)
    out = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(out, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return Piece(table, batch.num_rows, arrived_ns, wall_ns, out.getvalue())


@dataclass
class _Count:
    rows: int = 0
    end_ns: int = 0


class Ring:
    """Pieces of the last seconds, and those of tables whose rows are needed however old.

    Args:
        span_ns: how long a piece is kept at least.
        most_bytes: what pieces may hold; of more, the oldest are dropped sooner.

    Attributes:
        bytes: what pieces hold now.
        peak_bytes: the most that they held.
    """

    def __init__(self, span_ns: int, most_bytes: int) -> None:
        self.span_ns = span_ns
        self.most_bytes = most_bytes
        self.bytes = self.peak_bytes = 0
        self._pieces: deque[Piece] = deque()
        self._lasting: list[Piece] = []
        self._discarded: dict[tuple[str, str], _Count] = {}
        self._dropped_ns = -1  # when the last that was dropped had arrived

    def add(self, piece: Piece) -> None:
        """Take a piece that is not older than those before it."""
        if TABLES[piece.table].is_lasting:
            self._lasting.append(piece)
        else:
            self._pieces.append(piece)
        self.bytes += piece.data.size
        while self.bytes > self.most_bytes and self._pieces:
            # All that arrived together go together.
            arrived_ns = self._pieces[0].arrived_ns
            while self._pieces and self._pieces[0].arrived_ns == arrived_ns:
                self._drop(MEMORY)
        self.peak_bytes = max(self.peak_bytes, self.bytes)

    def expire(self, now_ns: int) -> None:
        """Drop what is older than the span."""
        while self._pieces and self._pieces[0].arrived_ns < now_ns - self.span_ns:
            self._drop(AGE)

    def _drop(self, reason: str) -> None:
        piece = self._pieces.popleft()
        self.bytes -= piece.data.size
        count = self._discarded.setdefault((piece.table, reason), _Count())
        count.rows += piece.rows
        count.end_ns = piece.wall_ns
        self._dropped_ns = piece.arrived_ns

    def forget(self, process_ids: Collection[int]) -> None:
        """Of rows that are kept however old, keep those of these processes, and of none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array(sorted(process_ids), pa.int64())
        kept = []
        for piece in self._lasting:
            (batch,) = (batch for _, batch in piece.batches())
            if "process_id" in batch.schema.names:
                batch = batch.filter(pc.is_in(batch["process_id"], known))
            if batch.num_rows < piece.rows:
                self.bytes -= piece.data.size
                piece = pack(piece.table, batch, piece.arrived_ns, piece.wall_ns)
                self.bytes += piece.data.size if piece.rows else 0
            if piece.rows:
                kept.append(piece)
        self._lasting = kept

    def pieces(self) -> list[Piece]:
        """All that is kept, what is needed for the rest first."""
        return [*self._lasting, *self._pieces]

    @property
    def dropped_ns(self) -> int:
        """When the last piece that was dropped had arrived, ns of CLOCK_MONOTONIC; -1: none was."""
        return self._dropped_ns

    @property
    def discarded_rows(self) -> int:
        """Rows that were dropped so far."""
        return sum(count.rows for count in self._discarded.values())

    def discarded(self) -> list[dict[str, Any]]:
        """Rows of the table ``discarded`` as they are now."""
        seconds = f"{self.span_ns / 1e9:g} s"
        why = {
            AGE: f"older than the {seconds} that --flight-recorder keeps",
            MEMORY: f"the last {seconds} need more memory than --flight-memory allows,"
            f" {self.most_bytes:,} bytes",
        }
        return [
            {
                "table_name": table,
                "reason": reason,
                "rows": count.rows,
                "end_ns": count.end_ns,
                "detail": why[reason],
            }
            for (table, reason), count in sorted(self._discarded.items())
        ]
