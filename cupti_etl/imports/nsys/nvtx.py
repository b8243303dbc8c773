"""NVTX marks and ranges of nsys exports."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import Value, not_before
from cupti_etl.imports.nsys.frame import Frame
from cupti_etl.imports.nsys.handler import Rows

_NUMBERS = (
    "start end eventType color category globalTid endGlobalTid textId domainId"
    " uint64Value uint32Value int64Value int32Value jsonTextId"
)
NVTX = {
    **dict.fromkeys(_NUMBERS.split(), "i"),
    **{"text": "s", "jsonText": "s", "doubleValue": "d", "floatValue": "d"},
}
# Marks, ranges of push and pop, ranges of start and end; the second number of each is
# of nvtxt files.
_MARKS, _RANGES = (34, 65), (59, 70, 60, 71)
# Names of domains, which nsys_frame has read, their ends, and names of categories and threads.
_CATEGORIES, _THREADS = (33, 64), 39
_NAMES = (75, 76, *_CATEGORIES, _THREADS)


def nvtx(rows: pa.RecordBatch, frame: Frame) -> Rows:
    """Marks and ranges, with what the program gave with them."""
    kind = rows["eventType"]
    is_mark = pc.is_in(kind, pa.array(_MARKS, pa.int64()))
    is_range = pc.is_in(kind, pa.array(_RANGES, pa.int64()))
    others = rows.filter(pc.invert(pc.or_(is_mark, is_range)))
    # A range without an end goes on to the end of the trace, as one does that was still open.
    end = not_before(frame.time(rows["end"]), frame.time(rows["start"]))
    is_wrong = pc.and_(is_range, pc.and_(pc.is_valid(rows["end"]), pc.is_null(end)))
    detail = "it is no time after the start: these are kept as marks"
    frame.skipped.invalid("NVTX_EVENTS.end", pc.sum(is_wrong).as_py() or 0, detail)
    is_mark, is_range = pc.or_(is_mark, is_wrong), pc.and_not(is_range, is_wrong)
    for found in pc.value_counts(others["eventType"]).to_pylist():
        if found["values"] not in _NAMES:
            what = f"NVTX_EVENTS of type {found['values']}"
            frame.skipped.unsupported(what, found["counts"], "events of an unknown type")
    named = pc.sum(pc.is_in(others["eventType"], pa.array(_CATEGORIES, pa.int64()))).as_py()
    what = "names of categories in NVTX_EVENTS"
    frame.skipped.unsupported(what, named or 0, "no table has a place for them")
    named = pc.sum(pc.equal(others["eventType"], _THREADS)).as_py()
    what = "names of threads in NVTX_EVENTS"
    frame.skipped.redundant(what, named or 0, "ThreadNames has them, too")
    owner = frame.processes.keys(rows["globalTid"])
    for key in pc.unique(owner).to_pylist():
        mine = pc.fill_null(pc.equal(owner, key), False) if key is not None else pc.is_null(owner)
        for wanted, event in ((is_mark, "instant"), (is_range, "start")):
            some = rows.filter(pc.and_(mine, wanted))
            if some.num_rows:
                yield from _markers(some, frame, event, key)


def _markers(rows: pa.RecordBatch, frame: Frame, event: str, key: int | None) -> Rows:
    number = frame.marker_ids(rows.num_rows)
    registered = frame.strings(rows["textId"])
    text = rows["text"]
    name = registered if text.null_count == rows.num_rows else text
    if 0 < text.null_count < rows.num_rows:
        name = pc.coalesce(text.cast(pa.string()), registered.cast(pa.string()))
    domains = {domain: name for (owner, domain), name in frame.domains.items() if owner == key}
    values: dict[str, Value] = {
        "process_id": frame.processes.ids(rows["globalTid"]),
        "timestamp_ns": frame.time(rows["start"]),
        "marker_id": number,
        "event": event,
        "name": name,
        "domain": frame.domain(rows["domainId"], domains),
        "object_kind": "thread",
        "thread_id": frame.thread(rows["globalTid"]),
    }
    yield "marker", frame.batch("marker", rows.num_rows, values)
    if event == "start":
        ends = values | {
            "timestamp_ns": frame.time(rows["end"]),
            "event": "end",
            "name": None,
            "thread_id": frame.thread(pc.coalesce(rows["endGlobalTid"], rows["globalTid"])),
        }
        batch = frame.batch("marker", rows.num_rows, ends)
        yield "marker", batch.filter(pc.is_valid(rows["end"]))
    yield from _attributes(rows, frame, values["process_id"], number)


def _attributes(rows: pa.RecordBatch, frame: Frame, process: Value, number: pa.Array) -> Rows:
    unsigned = pc.coalesce(rows["uint64Value"], rows["uint32Value"])
    signed = pc.coalesce(rows["int64Value"], rows["int32Value"])
    double = pc.coalesce(rows["doubleValue"], rows["floatValue"])
    whole = pc.coalesce(unsigned, signed)
    kind = pc.if_else(
        pc.is_valid(double),
        "double",
        pc.if_else(pc.is_valid(unsigned), "uint64", pc.if_else(pc.is_valid(signed), "int64", None)),
    )
    color = rows["color"]
    has = pc.is_valid(kind)
    for given in (color, rows["category"]):
        has = pc.or_(has, pc.fill_null(pc.not_equal(given, 0), False))
    values: dict[str, Value] = {
        "process_id": process,
        "marker_id": number,
        "payload_kind": kind,
        # The double as its bits too, as CUPTI has it.
        "payload": pc.coalesce(whole, double.view(pa.int64())),
        "payload_double": double,
        "has_color": pc.fill_null(pc.not_equal(color, 0), False),
        "color": pc.cast(color, pa.int32(), safe=False),
        "category": rows["category"],
        "domain_id": rows["domainId"],
    }
    if pc.any(has).as_py():
        yield "marker_data", frame.batch("marker_data", rows.num_rows, values).filter(has)
    said = rows["jsonText"]
    if said.null_count == rows.num_rows:
        said = frame.strings(rows["jsonTextId"])
    if said.null_count < rows.num_rows:
        values = {"process_id": process, "marker_id": number, "arguments": said}
        yield "argument", frame.batch("argument", rows.num_rows, values).filter(pc.is_valid(said))
