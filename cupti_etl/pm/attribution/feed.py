"""Rows of a trace as the columns that the native part reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupti_etl.native.loader import load
from cupti_etl.storage.sources import identifier, quoted

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_BATCH_ROWS = 1 << 17


@dataclass(frozen=True)
class Metric:
    """A column of pm_sample that pm_metric describes."""

    name: str
    is_sum: bool
    is_union: bool
    is_there: bool


def metrics(con: duckdb.DuckDBPyConnection) -> list[Metric]:
    """Those of the trace, in the order of _pm_column."""
    there = {row[0] for row in con.sql("DESCRIBE FROM pm_sample").fetchall()}
    rows = con.sql("SELECT metric, aggregation, is_union FROM _pm_column ORDER BY place").fetchall()
    return [Metric(name, kind == "sum", union, name in there) for name, kind, union in rows]


def sample_values(of: Sequence[Metric]) -> list[str]:
    """SQL for the value of each metric, NaN where it is not known."""
    return [
        f"CASE WHEN isfinite({identifier(metric.name)}) THEN {identifier(metric.name)}"
        " ELSE 'nan'::DOUBLE END"
        if metric.is_there
        else "'nan'::DOUBLE"
        for metric in of
    ]


def number_of(devices: Sequence[str]) -> str:
    """SQL for the number of ``device_uuid`` among the devices, from 0."""
    cases = " ".join(f"WHEN {quoted(uuid)} THEN {at}" for at, uuid in enumerate(devices))
    return f"(CASE device_uuid {cases} END)::BIGINT"


def among(devices: Sequence[str]) -> str:
    """SQL condition: the row is of one of the devices."""
    return f"device_uuid IN ({', '.join(map(quoted, devices))})"


def batches(con: duckdb.DuckDBPyConnection, sql: str) -> Iterator[pa.RecordBatch]:
    """The rows of a SELECT, batch by batch; every column is BIGINT or DOUBLE without NULL."""
    (database,) = con.execute("SELECT current_database()").fetchall()[0]
    with con.cursor() as own:
        own.execute(f"USE {database}.main")
        yield from own.sql(sql).to_arrow_reader(_BATCH_ROWS)


class Columns:
    """Addresses of a batch's columns; what they point to lives as long as this does."""

    def __init__(self, batch: pa.RecordBatch | None) -> None:
        self._ffi, _ = load()
        self._batch = batch
        self._kept: list[Any] = []
        self.rows = 0 if batch is None else batch.num_rows

    def integers(self, at: int) -> Any:
        """Column ``at`` as ``int64_t *``."""
        return self._ffi.cast("int64_t *", self._address(at))

    def doubles(self, first: int) -> Any:
        """The columns from ``first`` on as ``double **``."""
        count = 0 if self._batch is None else self._batch.num_columns - first
        each = [self._ffi.cast("double *", self._address(first + i)) for i in range(count)]
        self._kept.append(self._ffi.new("double *[]", each or [self._ffi.NULL]))
        return self._kept[-1]

    def _address(self, at: int) -> int:
        if not self.rows:
            return 0
        assert self._batch is not None
        column = self._batch.column(at)
        assert column.null_count == 0
        return int(column.buffers()[1].address + 8 * column.offset)


def samples(ffi: Any, columns: Columns) -> Any:
    """A batch ``device, start, end, values...`` as ``struct etl_samples``."""
    out = ffi.new("struct etl_samples *")
    out.rows = columns.rows
    out.device, out.start_ns, out.end_ns = (columns.integers(at) for at in range(3))
    out.values = columns.doubles(3)
    return out


def runs(ffi: Any, columns: Columns) -> Any:
    """A batch ``device, group, start, end, process, correlation`` as ``struct etl_runs``."""
    out = ffi.new("struct etl_runs *")
    out.rows = columns.rows
    out.device, out.group, out.start_ns, out.end_ns, out.process, out.correlation = (
        columns.integers(at) for at in range(6)
    )
    return out


def array(ffi: Any, kind: str, count: int) -> tuple[Any, pa.Array]:
    """Room for so many int64_t or double, and the same as an Arrow array."""
    import pyarrow as pa

    memory = pa.allocate_buffer(8 * count)
    pointer = ffi.cast(f"{kind} *", memory.address)
    arrow = pa.int64() if kind == "int64_t" else pa.float64()
    return pointer, pa.Array.from_buffers(arrow, count, [None, memory])
