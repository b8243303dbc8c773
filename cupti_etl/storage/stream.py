"""One table as an Arrow IPC stream, written while the program runs."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from cupti_etl.errors import EtlError
from cupti_etl.schema.arrow import TABLES, arrow_schema, stored_schema
from cupti_etl.storage import Change


class ArrowStream:
    """Writes one table to a file or a pipe; other tables pass by.

    Text is written as text and not as dictionaries, which in a stream would have to be
    replaced from batch to batch, and not every reader can.

    Args:
        descriptor: where to; it is closed in the end.
        table: which table.
        name: what the output is called in messages.
    """

    def __init__(self, descriptor: int, table: str, name: str) -> None:
        self._schema = arrow_schema(table)
        self._table = table
        self._name = name
        self._file = os.fdopen(descriptor, "wb")
        # A table that is told anew each time, such as process, is written as it is at the end.
        self._last: list[dict[str, Any]] = []
        self._rows = 0
        self._stream: pa.RecordBatchStreamWriter | None = None
        # Which columns a capture adds, the first rows say.
        if TABLES[table].more is None:
            self._begin(self._schema)
        self.roll()

    def _begin(self, columns: pa.Schema) -> pa.RecordBatchStreamWriter:
        if self._stream is None:
            self._schema = stored_schema(self._table, columns)
            self._stream = self._attempt(lambda: pa.ipc.new_stream(self._file, self._schema))
        return self._stream

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take a batch.

        Raises:
            EtlError: the reader has gone.
        """
        if table == self._table:
            stream = self._begin(batch.schema)
            rows = batch.cast(self._schema)
            self._attempt(lambda: stream.write_batch(rows))
            self._rows += batch.num_rows

    def replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Take a small table as it is now."""
        if table == self._table:
            self._last = rows

    def is_behind(self) -> bool:
        """Never: what cannot be handed on holds up the writer."""
        return False

    def roll(self) -> None:
        """Hand on everything that was written."""
        self._attempt(self._file.flush)

    def finish(self) -> None:
        """Nothing: a stream is in its final form at once."""

    def rewrite(self, table: str, change: Change) -> None:
        """Impossible: the rows have been handed on.

        Raises:
            EtlError: always.
        """
        raise EtlError(f"rows of {table} would have to change that have been handed on")

    def rows(self) -> dict[str, int]:
        """Nothing: what a stream does not hold is not missing."""
        return {}

    def close(self) -> None:
        """Write the end of the stream."""
        if self._last:
            self.write(self._table, pa.RecordBatch.from_pylist(self._last, self._schema))
        self._attempt(self._begin(self._schema).close)
        self._attempt(self._file.close)

    def _attempt(self, action: Any) -> Any:
        try:
            return action()
        except BrokenPipeError as error:
            raise EtlError(
                f"who read {self._name} has gone: the stream of {self._table} ends after"
                f" {self._rows:,} rows",
                "the program was not disturbed; what came later was thrown away",
            ) from error
