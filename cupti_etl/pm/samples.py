"""Samples as Arrow batches; no row of them is ever touched in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cupti_etl.schema.arrow import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.config import PmOptions
    from cupti_etl.pm.frames import Frame

# Rows that are gathered before they are handed on.
_BATCH_ROWS = 1 << 14


class Samples:
    """Puts the columns of all GPUs beside each other; one that a GPU lacks is NULL.

    Args:
        options: what was asked for.
        devices: what the sampler's process said of each, by number; ``{}`` for one that is
            not sampled.
    """

    def __init__(self, options: PmOptions, devices: Sequence[dict[str, Any]]) -> None:
        import pyarrow as pa

        self._devices = devices
        self._gathered: list[pa.RecordBatch] = []
        self._metrics = list(_metric_rows(options, devices))
        described: dict[str, dict[str, Any]] = {}
        for device in devices:
            for each in device.get("columns", ()):
                described.setdefault(each["column"], each)
        fixed = arrow_schema("pm_sample")
        text = pa.dictionary(pa.int32(), pa.string())
        self._fixed = [each.with_type(text) if each.type == pa.string() else each for each in fixed]
        more = [
            pa.field(
                name,
                pa.float64(),
                metadata={
                    "doc": each["description"] or each["hardware_name"],
                    "unit": each["unit"],
                },
            )
            for name, each in described.items()
        ]
        self.schema = pa.schema([*self._fixed, *more], metadata=fixed.metadata)

    def add(self, frame: Frame) -> int:
        """Take the samples of a frame; the end of the last one, in ns."""
        import pyarrow as pa

        device, rows = self._devices[frame.device], frame.rows
        body, size = pa.py_buffer(frame.body), 8 * rows

        def column(place: int, kind: pa.DataType) -> pa.Array:
            return pa.Array.from_buffers(kind, rows, [None, body.slice(place * size, size)])

        places = {each["column"]: at for at, each in enumerate(device["columns"], start=2)}
        keys = pa.nulls(rows, pa.int32()).fill_null(0)
        columns = [
            pa.DictionaryArray.from_arrays(keys, [device["uuid"]]),
            column(0, pa.int64()),
            column(1, pa.int64()),
        ]
        for name in self.schema.names[len(self._fixed) :]:
            is_there = name in places
            values = column(places[name], pa.float64()) if is_there else None
            columns.append(pa.nulls(rows, pa.float64()) if values is None else _without_nan(values))
        self._gathered.append(pa.RecordBatch.from_arrays(columns, schema=self.schema))
        return int(columns[2][-1].as_py())

    def batches(self, everything: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        """What has gathered, if it is enough or ``everything`` is wanted."""
        import pyarrow as pa

        if self._metrics:
            yield "pm_metric", pa.RecordBatch.from_pylist(self._metrics, arrow_schema("pm_metric"))
            self._metrics = []
        if self._gathered and (
            everything or sum(each.num_rows for each in self._gathered) >= _BATCH_ROWS
        ):
            gathered, self._gathered = self._gathered, []
            table = pa.Table.from_batches(gathered).unify_dictionaries().combine_chunks()
            for batch in table.to_batches():
                yield "pm_sample", batch


def _without_nan(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    unknown = pc.is_nan(values)
    return pc.if_else(unknown, None, values) if pc.any(unknown).as_py() else values


def _metric_rows(options: PmOptions, devices: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for device in devices:
        for each in device.get("columns", ()):
            yield {
                "metric": each["column"],
                "device_uuid": device["uuid"],
                "chip": device["chip"],
                "preset": each["preset"],
                "hardware_name": each["hardware_name"],
                "unit": each["unit"],
                "description": each["description"] or None,
                "aggregation": each["aggregation"],
                "interval_ns": options.interval_ns,
            }
