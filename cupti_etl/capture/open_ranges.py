"""Beginnings of NVTX ranges that have not ended, for ``--flight-recorder``.

What a program was in when it hung or crashed can have begun long ago; these rows outlive the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cupti_etl.schema.arrow import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "marker"
# Whoever opens ranges without end has the newest of them.
_MOST = 10_000


class OpenRanges:
    """The beginnings, by when they arrived."""

    def __init__(self) -> None:
        self._arrived: list[tuple[int, pa.Table]] = []

    def add(self, batch: pa.RecordBatch, arrived_ns: int) -> None:
        """Take rows of ``marker``: beginnings come, and those that have ended go."""
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = pa.Table.from_batches([batch]).cast(arrow_schema(TABLE))
        ended = _keys(rows.filter(pc.equal(rows["event"], "end")))
        begun = rows.filter(pc.equal(rows["event"], "start"))
        each = [*self._arrived, (arrived_ns, begun)]
        if len(ended):
            each = [(at, some.filter(pc.invert(pc.is_in(_keys(some), ended)))) for at, some in each]
        self._arrived = [(at, some) for at, some in each if len(some)]
        while sum(len(some) for _, some in self._arrived) > _MOST:
            at, oldest = self._arrived.pop(0)
            if not self._arrived:
                self._arrived = [(at, oldest.slice(len(oldest) - _MOST))]

    def until(self, arrived_ns: int) -> pa.RecordBatch | None:
        """Those that arrived until then; None if there is none."""
        import pyarrow as pa

        rows = [some for at, some in self._arrived if at <= arrived_ns]
        if not rows:
            return None
        (batch,) = pa.concat_tables(rows).combine_chunks().to_batches()
        return batch


def _keys(rows: pa.Table) -> pa.Array:
    """A number for each range: ids are of a process, whose own is random in all bits but one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.bit_wise_xor(rows["process_id"], rows["marker_id"].cast(pa.int64())).combine_chunks()
