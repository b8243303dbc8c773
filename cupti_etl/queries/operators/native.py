"""Runs a native operator (native/operators) over rows that DuckDB streams.

Rows come in slices that follow one another along a column, so that memory stays bounded however
many there are: parts of a trace are nearly in the order of time, and DuckDB reads of each only
the row groups that a slice needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import load

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# Of a slice: some hundred MiB in the operator.
SLICE_ROWS = 4_000_000
_BATCH_ROWS = 1 << 17
# Batches that are read while the operator is busy with those before.
_AHEAD = 16
# Percent of the rows, in whole vectors, that are looked at for where to cut.
SAMPLE = 2


class Execution:
    """One execution of a native operator, from its first row to its last.

    Raises:
        NativeError: this installation has no native part, or, of every method, it cannot
            be done over such rows or in the memory that is there.
    """

    def __init__(self, name: str) -> None:
        self._ffi, self._lib = load()
        handle = self._lib.etl_operator_new(name.encode())
        if handle == self._ffi.NULL:
            raise NativeError(f"no operator {name}")
        self._handle = self._ffi.gc(handle, self._lib.etl_operator_free)

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Rows of an input, as 64-bit integers without NULL."""
        array = self._ffi.new("struct ArrowArray *")
        batch._export_to_c(int(self._ffi.cast("uintptr_t", array)))
        self._check(self._lib.etl_operator_add(self._handle, place, array))

    def slice(self) -> None:
        """What follows belongs after all that was given."""
        self._check(self._lib.etl_operator_slice(self._handle))

    def finish(self) -> None:
        """There are no more rows."""
        self._check(self._lib.etl_operator_finish(self._handle))

    def take(self, place: int, columns: Mapping[str, str]) -> pa.RecordBatchReader:
        """What it made, once: numbers, of 64 bits or, where the type is DOUBLE, doubles."""
        import pyarrow as pa

        types = {"DOUBLE": pa.float64()}
        schema = pa.schema([(name, types.get(kind, pa.int64())) for name, kind in columns.items()])
        return pa.RecordBatchReader.from_batches(schema, self._batches(place, schema))

    def _batches(self, place: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        while True:
            array = self._ffi.new("struct ArrowArray *")
            self._check(self._lib.etl_operator_take(self._handle, place, _BATCH_ROWS, array))
            address = int(self._ffi.cast("uintptr_t", array))
            batch = pa.RecordBatch._import_from_c(address, schema)
            if not batch.num_rows:
                return
            yield batch

    def _check(self, result: int) -> None:
        if result < 0:
            raise NativeError(f"error {-result}")


def feed(
    con: duckdb.DuckDBPyConnection,
    execution: Execution,
    along: str,
    counted: Sequence[str],
    first: str,
    inputs: Sequence[str],
) -> None:
    """Give an operator its inputs in slices of the column ``along``, as far as that is known.

    Args:
        con: where the inputs are.
        execution: what takes them.
        along: a column of every input; "" for one slice.
        counted: the tables by whose rows the slices are cut, if they are.
        first: a SELECT for the first input that is given whole, if there is one.
        inputs: SELECTs for the others, in their order.
    """
    for place, batch in _prefetch(_batches(con, along, counted, first, inputs)):
        if batch is None:
            execution.slice()
        else:
            execution.add(place, batch)


# The input that a batch is of; without a batch, the slice is complete.
_Piece = tuple[int, "pa.RecordBatch | None"]


def _batches(
    con: duckdb.DuckDBPyConnection,
    along: str,
    counted: Sequence[str],
    first: str,
    inputs: Sequence[str],
) -> Iterator[_Piece]:
    if first:
        for batch in con.sql(first).to_arrow_reader(_BATCH_ROWS):
            yield 0, batch
    for where in _slices(con, along, counted):
        for place, select in enumerate(inputs, 1 if first else 0):
            rows = con.sql(f"SELECT * FROM (\n{select}\n) {where}")
            for batch in rows.to_arrow_reader(_BATCH_ROWS):
                yield place, batch
        yield 0, None


def _prefetch(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """The same, while a thread of its own reads on."""
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, pieces, None) for _ in range(_AHEAD))
        try:
            while (piece := waiting.popleft().result()) is not None:
                waiting.append(thread.submit(next, pieces, None))
                yield piece
        finally:
            for each in waiting:
                each.cancel()


def _slices(con: duckdb.DuckDBPyConnection, along: str, counted: Sequence[str]) -> Iterator[str]:
    """Conditions that cut the rows into slices of about the same size, in order."""
    edges: list[Any] = []
    rows = " UNION ALL ".join(f"SELECT {along} FROM {table}" for table in counted)
    count = _value(con, f"SELECT count(*) FROM ({rows})") if along else 0
    if count > SLICE_ROWS:
        parts = -(-count // SLICE_ROWS)
        places = ", ".join(str(i / parts) for i in range(1, parts))
        sample = f"FROM ({rows}) USING SAMPLE {SAMPLE} PERCENT (system)"
        edges = _value(con, f"SELECT quantile_disc({along}, [{places}]) FROM ({sample})") or []
    edges = sorted(set(edges))
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        words = [f"{along} >= {low}"] if low is not None else []
        words += [f"{along} < {high}"] if high is not None else []
        yield f"WHERE {' AND '.join(words)}" if words else ""


def _value(con: duckdb.DuckDBPyConnection, select: str) -> Any:
    rows = con.sql(select).fetchall()
    return rows[0][0]
