"""Rows that have the correlation of another call than their own.

Where CUPTI sees a thread enter a call and not leave it, as records of calls were switched off
meanwhile, it gives that call's correlation to all that the thread calls and launches from then on
(CUPTI 13.0 and 13.5, see docs/measurements/h100-switching-correlations.json).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

_DETAIL = (
    "records of calls were switched off while a thread was in one, and CUPTI gave its correlation"
    " to what that thread called and launched later, which therefore joins the wrong call"
)


def repeated(table: str, batch: pa.RecordBatch) -> dict[int, int]:
    """Rows that have the correlation of another row in the batch, by process.

    Those of graphs share one, and calls of the driver have that of the runtime's around them, so
    these are left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    is_alone = {"kernel": pc.field("graph_node_id").is_null()}
    is_alone["api_call"] = pc.field("domain") == "runtime"
    if table not in is_alone:
        return {}
    column = "correlation_id"
    rows = pa.Table.from_batches([batch]).filter(is_alone[table] & pc.field(column).is_valid())
    found = {}
    # Grouping and counting in one takes five times as long.
    for process in pc.unique(rows["process_id"]).to_pylist():
        ids = rows.filter(pc.field("process_id") == process)[column]
        if others := len(ids) - len(pc.unique(ids)):
            found[process] = others
    return found


class Correlations:
    """Counts them, where ranges switch records on and off as often as the program likes."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str], int] = {}

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Learn from rows that arrive."""
        for process, rows in repeated(table, batch).items():
            self._rows[process, table] = self._rows.get((process, table), 0) + rows

    def losses(self) -> list[Loss]:
        """What was found, by process and table; at least, as batches are looked at one by one."""
        return [
            Loss(process, "wrong_correlation", table, rows, is_stored=True, detail=_DETAIL)
            for (process, table), rows in self._rows.items()
        ]
