"""Runs a native operator (native/operators) over rows that DuckDB streams.

Rows come in slices that follow one another along a column, so that memory stays bounded however
many there are: parts of a trace are nearly in the order of time, and DuckDB reads of each only
the row groups that a slice needs.
"""

from __future__ import annotations

import bisect
import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import load

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from cupti_etl.queries.materialize import Begins
    from cupti_etl.queries.operators.definition import NativeOperator

# Of a slice, two of which are in the operator: some 100 MiB for each row group, which a thread of
# DuckDB reads alone, beside the one that computes.
SLICE_ROWS = min(max((os.cpu_count() or 1) // 2, 1), 3) << 20
_BATCH_ROWS = 1 << 17
# Batches that wait for an operator which reads them as they come.
_AHEAD = 16
# Executions at once, where rows can be shared out, and for how many rows.
EXECUTIONS, SHARED_ROWS = min(4, os.cpu_count() or 1), 1_000_000
# Rows that are looked at for where to cut, by the square of the slices: an edge is off by some
# tenth of a slice then.
_SAMPLED, _LEAST_SAMPLED = 25, 10_000


class Execution:
    """One execution of a native operator, from its first row to its last.

    Raises:
        NativeError: this installation has no native part, or, of every method, it cannot
            be done over such rows or in the memory that is there.
    """

    def __init__(self, name: str) -> None:
        self._ffi, self._lib = load()
        self._take(self._lib.etl_operator_new(name.encode()))

    def _take(self, handle: Any) -> None:
        if handle == self._ffi.NULL:
            raise NativeError("there is no such operator, or no memory for it")
        self._handle = self._ffi.gc(handle, self._lib.etl_operator_free)

    def shared(self, of: int) -> list[Execution]:
        """So many, this one among them, each of which takes its share of the rows to come."""
        return [self, *(_Beside(self, number, of) for number in range(1, of))]

    def add(self, place: int, batch: pa.RecordBatch) -> None:
        """Rows of an input, as 64-bit integers without NULL."""
        array = self._ffi.new("struct ArrowArray *")
        batch._export_to_c(int(self._ffi.cast("uintptr_t", array)))
        self._check(self._lib.etl_operator_add(self._handle, place, array))

    def orders(self, place: int) -> bool:
        """Whether rows of an input wait to be put in order, and are read with their slice."""
        return bool(self._lib.etl_operator_orders(self._handle, place))

    def cut(self) -> None:
        """Of such rows, what follows belongs after what was given; the slice before was read."""
        self._lib.etl_operator_cut(self._handle)

    def slice(self) -> None:
        """Read the slice that was cut."""
        self._check(self._lib.etl_operator_slice(self._handle))

    def finish(self) -> None:
        """There are no more rows."""
        self._check(self._lib.etl_operator_finish(self._handle))

    def take(self, place: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """What it made, once: numbers, of 64 bits."""
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


class _Beside(Execution):
    """One that reads from another what that was given as its first input."""

    def __init__(self, first: Execution, number: int, of: int) -> None:
        self._first = first  # for as long as this one is there
        self._ffi, self._lib = first._ffi, first._lib
        self._take(self._lib.etl_operator_beside(first._handle, number, of))


def feed(
    con: duckdb.DuckDBPyConnection, execution: Execution, native: NativeOperator, begins: Begins
) -> list[Execution]:
    """Give an operator its inputs, in slices as far as it takes them so.

    Returns:
        Those that took them, and made the rows together: several, where rows can be shared out.

    Raises:
        NativeError: it cannot be done this way.
        duckdb.Error: a part cannot be read.
    """
    for batch in con.sql(native.first).to_arrow_reader(_BATCH_ROWS) if native.first else ():
        execution.add(0, batch)
    rows = " UNION ALL ".join(f"SELECT {native.along} FROM {table}" for table in native.counted)
    count = _value(con, f"SELECT count(*) FROM ({rows})") if native.along else 0
    is_shared = native.added and count > SHARED_ROWS
    executions = execution.shared(EXECUTIONS) if is_shared else [execution]
    with _threads(len(executions)) as give:
        before: Sequence[Future[None]] = ()
        for where in _slices(con, native, rows, count, begins):
            for place, select in enumerate(native.inputs, 1 if native.first else 0):
                is_kept = execution.orders(place)
                read = con.sql(f"SELECT * FROM (\n{select}\n) {where}")
                for batch in read.to_arrow_reader(_BATCH_ROWS):
                    if is_kept:  # while the slice before is read
                        execution.add(place, batch)
                    else:
                        give([partial(each.add, place, batch) for each in executions])
                if is_kept:
                    for each in before:
                        each.result()
                    execution.cut()
            before = give([each.slice for each in executions])
        give([each.finish for each in executions])
    return executions


@contextlib.contextmanager
def _threads(
    number: int,
) -> Iterator[Callable[[Sequence[Callable[[], None]]], Sequence[Future[None]]]]:
    """Gives so many threads an action each, which they do one after the other.

    What is given waits while much is left to do.
    """
    waiting: deque[Future[None]] = deque()

    def give(actions: Sequence[Callable[[], None]]) -> Sequence[Future[None]]:
        begun: list[Future[None]] = []
        for thread, action in zip(threads, actions, strict=True):
            try:
                begun.append(thread.submit(action))
            except RuntimeError:  # no thread can be begun at a program's end
                action()
        waiting.extend(begun)
        while len(waiting) > _AHEAD * number:
            waiting.popleft().result()
        return begun

    with contextlib.ExitStack() as stack:
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(number)]
        try:
            yield give
            while waiting:
                waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def taken(
    executions: Sequence[Execution], place: int, columns: Mapping[str, str]
) -> pa.RecordBatchReader:
    """What they made, once: numbers, of 64 bits or, where the type is DOUBLE, doubles."""
    import pyarrow as pa

    types = {"DOUBLE": pa.float64()}
    schema = pa.schema([(name, types.get(kind, pa.int64())) for name, kind in columns.items()])
    batches = (batch for each in executions for batch in each.take(place, schema))
    return pa.RecordBatchReader.from_batches(schema, batches)


def _slices(
    con: duckdb.DuckDBPyConnection, native: NativeOperator, rows: str, count: int, begins: Begins
) -> Iterator[str]:
    """Conditions that cut the rows into slices of about the same size, in order."""
    edges: list[int] = []
    along, parts = native.along, round(count / SLICE_ROWS)
    if parts > 1:
        places = ", ".join(str(i / parts) for i in range(1, parts))
        sampled = max(_SAMPLED * parts**2, _LEAST_SAMPLED)
        sample = f"FROM ({rows}) USING SAMPLE {sampled} ROWS"
        edges = _value(con, f"SELECT quantile_disc({along}, [{places}]) FROM ({sample})") or []
        edges = moved(sorted(set(edges)), begins(native.counted, along))
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        words = [f"{along} >= {low}"] if low is not None else []
        words += [f"{along} < {high}"] if high is not None else []
        yield f"WHERE {' AND '.join(words)}" if words else ""


def moved(edges: Sequence[int], begins: Sequence[int]) -> list[int]:
    """Edges, each where a row group begins, if one does nearer to it than to the others.

    A row group on both sides of an edge is read twice.
    """
    places = []
    for place, edge in enumerate(edges):
        at = bisect.bisect(begins, edge)
        nearest = min(begins[max(at - 1, 0) : at + 1], key=lambda b: abs(b - edge), default=edge)
        others = [*edges[max(place - 1, 0) : place], *edges[place + 1 : place + 2]]
        is_near = all(2 * abs(nearest - edge) < abs(other - edge) for other in others)
        places.append(nearest if is_near else edge)
    return places


def _value(con: duckdb.DuckDBPyConnection, select: str) -> Any:
    rows = con.sql(select).fetchall()
    return rows[0][0]
