"""Arguments of events: those that have columns, and the others, as they stand in the file."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import Value, make_batch, mapped

# Arguments of events that have columns; where they stand, as EventReader takes it.
ARGUMENTS = {
    "label": "s args.name",
    "external_id": "i args.External id",
    "external_id_2021": "i args.external id",
    "correlation_id": "i args.correlation",
    "device": "i args.device",
    "context": "s args.context",
    "stream": "i args.stream",
    "queue": "i args.sycl queue",
    "cbid": "i args.cbid",
    "bytes": "i args.bytes",
    "registers": "i args.registers per thread",
    "shared": "i args.shared memory",
    "grid_x": "a args.grid",
    "grid_y": "+ args.grid",
    "grid_z": "+ args.grid",
    "block_x": "a args.block",
    "block_y": "+ args.block",
    "block_z": "+ args.block",
    "priority": "i args.priority",
    "graph_id": "i args.graph id",
    "graph_node_id": "i args.graph node id",
    "end_device": "i args.end device",
    "end_context": "s args.end context",
    "in_device": "i args.inDevice",
    "in_context": "s args.inContext",
    "from_device": "i args.fromDevice",
    "from_context": "s args.fromContext",
    "to_device": "i args.toDevice",
    "to_context": "s args.toContext",
    "event_id": "i args.wait_on_cuda_event_id",
    "allocated": "i args.Bytes",
    "address": "i args.Addr",
    "device_kind": "i args.Device Type",
    "device_number": "i args.Device Id",
    "total_allocated": "i args.Total Allocated",
    "total_reserved": "i args.Total Reserved",
    "rank": "i args.rank",
    "nvtx_domain": "s args.NVTX domain",
}

_SAID = {
    "Bytes": "allocated",
    "Addr": "address",
    "Device Type": "device_kind",
    "Device Id": "device_number",
    "Total Allocated": "total_allocated",
    "Total Reserved": "total_reserved",
}


def with_all_arguments(events: pa.RecordBatch) -> pa.RecordBatch:
    """Marks such as [OutOfMemory], for which these have no columns, with them as arguments."""
    pairs = [
        pc.fill_null(_joined(f'"{name}": ', events[column].cast(pa.string()), ", "), "")
        for name, column in _SAID.items()
    ]
    said = pc.utf8_rtrim(_joined(*pairs), ", ")
    arguments = _with(events["arguments"], pc.if_else(pc.equal(said, ""), None, said))
    at = events.schema.get_field_index("arguments")
    return events.set_column(at, "arguments", arguments.dictionary_encode())


def argument_rows(events: pa.RecordBatch, **joins: Value) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of ``argument``, for those that have any.

    A name has a column, as that is what metadata says; PyTorch gives it to kernels, too, where a
    program marked them for a CUDA graph (``mark_kernels``).
    """
    arguments = events["arguments"]
    if events["label"].null_count < events.num_rows:
        said = mapped(events["label"], lambda name: json.dumps({"name": name})[1:-1], pa.string())
        arguments = _with(arguments, said)
    if arguments.null_count == events.num_rows:
        return
    has = pc.is_valid(arguments)
    values: dict[str, Value] = {
        name: value.filter(has) if isinstance(value, pa.Array) else value
        for name, value in joins.items()
    }
    values["arguments"] = arguments.filter(has)
    yield "argument", make_batch("argument", events.num_rows - arguments.null_count, values)


def _with(arguments: pa.Array, said: pa.Array) -> pa.Array:
    """JSON objects with members added to them; as they are where those are null."""
    others = arguments.cast(pa.string())
    # Without its last bracket, to which more can be added.
    before = pc.fill_null(_joined(pc.utf8_slice_codeunits(others, 0, -1), ", "), "{")
    return pc.coalesce(_joined(before, said, "}"), others)


def _joined(*texts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*texts, "")
