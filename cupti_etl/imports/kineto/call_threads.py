"""Which thread made a call, where Kineto names another.

It finds the number of a call's thread by its handle, which the system gives to a new thread when
an old one ends, and goes on to name the old one: so it is with threads that live for one step, and
are recorded with ``profile_all_threads``.  PyTorch itself knows the thread of each operator, and
the call has the operator's id.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import numbered

_RUN = pa.schema(
    {"process": pa.string(), "tid": pa.string(), "first": pa.int64(), "last": pa.int64()}
)


class CallThreads:
    """The threads of one file's operators, as far as they were read.

    Ids follow one another on a thread, so few rows hold those of many operators.
    """

    def __init__(self) -> None:
        self._runs = [_RUN.empty_table()]

    def note(self, operators: pa.RecordBatch, ids: pa.Array) -> None:
        """Take the ids and threads of these operators."""
        rows = pa.table([_process(operators), _thread(operators), ids, ids], schema=_RUN)
        rows = rows.filter(pc.greater(ids, 0)).sort_by(_ascending(*_RUN.names))
        if not rows.num_rows:
            return
        rows = rows.combine_chunks()
        same = (pc.equal(rows[key][1:], rows[key][:-1]) for key in ("process", "tid"))
        follows = pc.less_equal(pc.subtract(rows["first"][1:], rows["first"][:-1]), 1)
        for each in same:
            follows = pc.and_(follows, each)
        breaks = pc.invert(pc.fill_null(follows, False)).combine_chunks()
        edge = pa.array([True])
        begins, stops = pa.concat_arrays([edge, breaks]), pa.concat_arrays([breaks, edge])
        runs = rows.filter(begins)
        self._runs.append(runs.set_column(3, "last", rows.filter(stops)["last"]))

    def told(self, calls: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
        """The calls with the threads of the operators that made them.

        What no operator made is of the thread of the call before it that was recorded on the same.

        Args:
            calls: the events.
            ids: those of the operators; NULL where there is none.
        """
        process, tid = _process(calls), _thread(calls)
        known = self._threads(process, ids)
        if not pc.any(pc.not_equal(known, tid)).as_py():
            return calls
        starts = calls["start_ns"]
        rows = pa.table({"process": process, "tid": tid, "start": starts, "known": known})
        order = pc.sort_indices(rows, sort_keys=_ascending("process", "tid", "start"))
        rows = rows.take(order).combine_chunks()
        same = pc.and_(*(pc.equal(rows[key][1:], rows[key][:-1]) for key in ("process", "tid")))
        is_first = pa.concat_arrays([pa.array([True]), pc.invert(same).combine_chunks()])
        known = pc.coalesce(rows["known"], pc.if_else(is_first, rows["tid"], None))
        found = pc.fill_null_forward(known).take(pc.sort_indices(order)).combine_chunks()
        at = calls.schema.get_field_index("tid")
        return calls.set_column(at, "tid", found)

    def _threads(self, process: pa.Array, ids: pa.Array) -> pa.Array:
        """The thread of the operator with each id, NULL if it is not known."""
        # The others are not sorted: where threads take turns, there is a run for each operator.
        asked = pc.min_max(ids)
        runs = pa.concat_tables(self._runs)
        begins = pc.less_equal(runs["first"], asked["max"])
        runs = runs.filter(pc.and_(begins, pc.greater_equal(runs["last"], asked["min"])))
        runs = runs.combine_chunks()
        number = runs.num_rows
        # Of the runs that begin no later than an id, the last one has it, if any does.
        place = pa.concat_arrays([numbered(number, 0), pa.nulls(len(ids), pa.int64())])
        rows = pa.table(
            {
                "process": pa.concat_arrays([runs["process"].combine_chunks(), process]),
                "id": pa.concat_arrays([runs["first"].combine_chunks(), ids]),
                "place": place,
            }
        )
        order = pc.sort_indices(rows, sort_keys=_ascending("process", "id", "place"))
        place = pc.fill_null_forward(place.take(order)).take(pc.sort_indices(order))[number:]
        runs = runs.take(place).combine_chunks()
        has = pc.and_(pc.equal(runs["process"], process), pc.less_equal(ids, runs["last"]))
        return pc.if_else(has, runs["tid"], None).combine_chunks()


def _ascending(*names: str) -> list[tuple[str, str]]:
    return [(name, "ascending") for name in names]


def _process(events: pa.RecordBatch) -> pa.Array:
    """The process; in a file into which those of several ranks were merged, with its rank."""
    rank = pc.fill_null(events["rank"].cast(pa.string()), "")
    return pc.binary_join_element_wise(events["pid"].cast(pa.string()), rank, " ")


def _thread(events: pa.RecordBatch) -> pa.Array:
    return events["tid"].cast(pa.string())
