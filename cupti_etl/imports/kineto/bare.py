"""Events of backends that tell Kineto nothing of their own, as that of ROCm did before PyTorch 2.

Then there is what Kineto writes of any event: the correlation id as "External id" (which elsewhere
is that of an operator), the number of the device in place of a process, and that of the queue in
place of a thread.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import mapped
from cupti_etl.imports.kineto.names import low_bits

# Other tracers, or whoever edits a file, may have a real process there.
_MOST_DEVICES = 256


class BareEvents:
    """Those of one file, of which the first calls or work on GPUs tell whether it has such."""

    def __init__(self) -> None:
        self._is_bare: bool | None = None

    def completed(self, events: pa.RecordBatch, *, is_work: bool) -> pa.RecordBatch:
        """The same with correlation ids, devices and streams, if Kineto had only these.

        Args:
            events: calls, or work on GPUs, of one batch.
            is_work: whether it is work on GPUs.
        """
        if self._is_bare is None:
            has, own = (
                pc.count(events[name]).as_py() for name in ("correlation_id", "external_id")
            )
            self._is_bare = not has if has or own else None
        if not self._is_bare:
            return events
        values = {"correlation_id": events["external_id"]}
        if is_work:
            values |= {
                "device": _device(events),
                "stream": mapped(events["tid"], low_bits, pa.int64()),
            }
        for name, value in values.items():
            at = events.schema.get_field_index(name)
            value = pc.coalesce(events[name], value.cast(events[name].type))
            events = events.set_column(at, name, value)
        return events


def _device(events: pa.RecordBatch) -> pa.Array:
    number = mapped(events["pid"], low_bits, pa.int64())
    is_device = pc.and_(pc.greater_equal(number, 0), pc.less(number, _MOST_DEVICES))
    return pc.if_else(is_device, number, None)
