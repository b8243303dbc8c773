"""Python functions that PyTorch's profiler did not see return.

It sees no return where a function of C raised an exception, as ``next`` does at the end of an
iterator, and takes the end of some later function for it.  Such a function would lie across the
ends of those around it, and take their work.  Each names the function that called it, and cannot
outlast it.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.kineto.rows import ends
from cupti_etl.imports.skipped import Skipped

_ID = r'"Python id": ?(?P<id>\d{1,18})\b'
_CALLER = r'"Python parent id": ?(?P<id>\d{1,18})\b'


class PythonCalls:
    """The functions of one file, of which those are known that go on.

    Args:
        skipped: takes note of the ends that were not true.
    """

    def __init__(self, skipped: Skipped) -> None:
        self._skipped = skipped
        schema = pa.schema({"id": pa.string(), "thread": pa.string(), "end_ns": pa.int64()})
        self._open = schema.empty_table()

    def ended(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The events in the order of their times, which end no later than their callers."""
        start, arguments = events["start_ns"], events["arguments"].cast(pa.string())
        pid, tid = events["pid"].cast(pa.string()), events["tid"].cast(pa.string())
        thread, said = _joined(pid, tid), ends(events)
        ids = _joined(pid, _number(arguments, _ID))
        own = pa.table([ids, thread, said], schema=self._open.schema)
        known = pa.concat_tables([self._open, own]).combine_chunks()
        caller = pc.index_in(
            _joined(pid, _number(arguments, _CALLER)),
            value_set=known["id"].combine_chunks(),
            skip_nulls=True,
        )
        # What a function began, another thread may go on with; and none is called by a later one.
        is_here = pc.equal(known["thread"].combine_chunks().take(caller), thread)
        ones = pa.repeat(pa.scalar(1, pa.int32()), events.num_rows)
        place = pc.cumulative_sum(ones, start=self._open.num_rows - 1)
        caller = pc.if_else(pc.and_(is_here, pc.less(caller, place)), caller, None)
        before = self._open["end_ns"].combine_chunks()
        end = _cut(before, said, start, caller)
        cut = pc.sum(pc.not_equal(end, said)).as_py() or 0
        self._skipped.invalid(
            "python_function.end", cut, "it is after that of its caller: cut there"
        )
        known = known.set_column(2, "end_ns", pa.concat_arrays([before, end]))
        self._open = known.filter(pc.greater_equal(known["end_ns"], pc.max(start)))
        at = events.schema.get_field_index("duration_ns")
        return events.set_column(at, "duration_ns", pc.subtract(end, start))


def _cut(before: pa.Array, said: pa.Array, start: pa.Array, caller: pa.Array) -> pa.Array:
    """When functions end, each no later than its caller, unless that ended before they began.

    Args:
        before: ends of functions of earlier batches.
        said: ends that the profiler says of those of this batch.
        start: when these began.
        caller: place of the caller of each, in both together; before the function's own.
    """
    latest = pa.concat_arrays([before, said]).take(caller)
    # What has ended did not call it: after a return that was missed, callers are guesses.
    is_cut = pc.and_(pc.greater(said, latest), pc.greater_equal(latest, start))
    if not pc.any(is_cut).as_py():
        return said
    # Few files have such; there each end may depend on any before it.
    found = before.to_pylist()
    for at, end, of in zip(start.to_pylist(), said.to_pylist(), caller.to_pylist(), strict=True):
        limit = None if of is None else found[of]
        is_over = limit is not None and end is not None and end > limit >= at
        found.append(limit if is_over else end)
    return pa.array(found[len(before) :], pa.int64())


def _joined(process: pa.Array, number: pa.Array) -> pa.Array:
    """Numbers that are those of one process."""
    return pc.binary_join_element_wise(process, number, " ")


def _number(arguments: pa.Array, pattern: str) -> pa.Array:
    return pc.struct_field(pc.extract_regex(arguments, pattern), "id")
