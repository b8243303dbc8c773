"""What each category of Kineto's events becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import Batches, Value, mapped, not_before, null_if
from cupti_etl.imports.kineto.arguments import ARGUMENTS, argument_rows, with_all_arguments
from cupti_etl.imports.kineto.hip_calls import HipCalls
from cupti_etl.imports.kineto.memory import allocations
from cupti_etl.imports.kineto.names import copy_of, low_bits, set_kind
from cupti_etl.imports.skipped import Skipped

Rows: TypeAlias = Iterator[tuple[str, pa.RecordBatch]]


class Frame(Batches):
    """What the rows of one file share.

    Args:
        gpu_id: the process of work on GPUs, of which the file does not say whose it is.
        of_pid: the process with a pid.
        skipped: takes note of what is not kept.
    """

    def __init__(self, gpu_id: int, of_pid: Callable[[str], int], skipped: Skipped) -> None:
        self.gpu_id = gpu_id
        super().__init__(skipped)
        self._of_pid = of_pid
        self.hip_calls = HipCalls()

    def owner(self, events: pa.RecordBatch) -> pa.Array:
        """The processes of what happened on the host."""
        return mapped(pc.fill_null(events["pid"], ""), self._of_pid, pa.int64())


Handler: TypeAlias = Callable[[pa.RecordBatch, Frame], Rows]


def ends(events: pa.RecordBatch) -> pa.Array:
    """When they ended; NULL where that cannot be."""
    # Too large a sum is below zero.
    start = events["start_ns"]
    return not_before(pc.add(start, events["duration_ns"]), start)


def _thread(events: pa.RecordBatch) -> pa.Array:
    """The thread, or its low 32 bits where PyTorch gives a handle of 64."""
    return mapped(events["tid"], low_bits, pa.int32())


def _context(events: pa.RecordBatch, frame: Frame, key: str = "context") -> pa.Array:
    """The context, which is a handle of XPUs."""
    context = mapped(events[key], low_bits, pa.int32())
    unfit = context.null_count - events[key].null_count
    frame.skipped.invalid(ARGUMENTS[key][2:], unfit, "values that are no numbers")
    return context


def located(events: pa.RecordBatch) -> pa.RecordBatch:
    """Where work ran: of copies between devices, Kineto says it in other words."""
    for name in ("device", "context"):
        where = pc.coalesce(events[name], events[f"in_{name}"])
        events = events.set_column(events.schema.get_field_index(name), name, where)
    return events


def _stream(events: pa.RecordBatch) -> pa.Array:
    """The stream; of XPUs the queue, whose own number may be an address."""
    is_queue = pc.is_valid(events["queue"])
    return pc.coalesce(events["stream"], pc.if_else(is_queue, _thread(events), None))


def _place(events: pa.RecordBatch, frame: Frame) -> dict[str, Value]:
    """What all work on a GPU has."""
    return {
        "process_id": frame.gpu_id,
        "start_ns": events["start_ns"],
        "end_ns": ends(events),
        "correlation_id": null_if(events["correlation_id"], 0),
        "device_id": events["device"],
        "context_id": _context(events, frame),
        "stream_id": _stream(events),
        "graph_id": null_if(events["graph_id"], 0),
        "graph_node_id": null_if(events["graph_node_id"], 0),
    }


def kernels(events: pa.RecordBatch, frame: Frame) -> Rows:
    """Kernels; the shared memory is that of the launch and of the kernel together."""
    values = _place(events, frame) | {
        name: events[name]
        for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "priority")
    }
    values |= {
        "name": events["name"],
        "registers_per_thread": events["registers"],
        "dynamic_shared_bytes": events["shared"],
    }
    yield "kernel", frame.batch("kernel", events.num_rows, values)
    joins = {name: values[name] for name in ("process_id", "correlation_id")}
    yield from argument_rows(events, **joins)


def copies(events: pa.RecordBatch, frame: Frame) -> Rows:
    """Copies, and those between devices."""
    kind = mapped(events["name"], lambda name: copy_of(name)[0], pa.string())
    is_peer = pc.equal(kind, "PtoP")
    for table, wanted in (("memcpy", pc.invert(is_peer)), ("memcpy_p2p", is_peer)):
        some = events.filter(wanted)
        names = some["name"]
        values = _place(some, frame) | {
            "copy_kind": kind.filter(wanted),
            "bytes": some["bytes"],
            "src_kind": mapped(names, lambda name: copy_of(name)[1], pa.string()),
            "dst_kind": mapped(names, lambda name: copy_of(name)[2], pa.string()),
        }
        if table == "memcpy_p2p":
            values |= {
                "src_device_id": some["from_device"],
                "src_context_id": _context(some, frame, "from_context"),
                "dst_device_id": some["to_device"],
                "dst_context_id": _context(some, frame, "to_context"),
            }
        yield table, frame.batch(table, some.num_rows, values)


def sets(events: pa.RecordBatch, frame: Frame) -> Rows:
    """Sets."""
    values = _place(events, frame) | {
        "bytes": events["bytes"],
        "memory_kind": mapped(events["name"], set_kind, pa.string()),
    }
    yield "memset", frame.batch("memset", events.num_rows, values)


def _graphs(events: pa.RecordBatch, frame: Frame) -> Rows:
    """CUDA graphs whose nodes were not recorded, as our own export has them."""
    values = _place(events, frame)
    del values["graph_node_id"]
    values |= {
        "end_device_id": events["end_device"],
        "end_context_id": _context(events, frame, "end_context"),
    }
    yield "graph_trace", frame.batch("graph_trace", events.num_rows, values)


def _calls(domain: str) -> Handler:
    def calls(events: pa.RecordBatch, frame: Frame) -> Rows:
        correlation, owner = null_if(events["correlation_id"], 0), frame.owner(events)
        values: dict[str, Value] = {
            "process_id": owner,
            "start_ns": events["start_ns"],
            "end_ns": ends(events),
            "domain": domain,
            "name": events["name"],
            "cbid": events["cbid"],
            "correlation_id": correlation,
            "thread_id": _thread(events),
        }
        yield "api_call", frame.batch("api_call", events.num_rows, values)
        frame.hip_calls.note(events)
        external = operator_of(events)
        is_other = pc.and_(pc.is_valid(external), pc.is_valid(correlation))
        some = correlation.filter(is_other)
        values = {
            "process_id": owner.filter(is_other),
            "correlation_id": some,
            "external_kind": "unknown",
            "external_id": external.filter(is_other),
        }
        yield "external_correlation", frame.batch("external_correlation", len(some), values)

    return calls


def external_id(events: pa.RecordBatch) -> pa.Array:
    """The ids of operators, and what calls have of the operators that made them."""
    return pc.coalesce(events["external_id"], events["external_id_2021"])


def operator_of(calls: pa.RecordBatch) -> pa.Array:
    """The id of the operator that made each call; NULL if none did."""
    external = null_if(external_id(calls), 0)
    # Without an operator around it, a call's external id is its own id.
    is_own = pc.equal(external, calls["correlation_id"])
    return pc.if_else(pc.fill_null(is_own, False), None, external)


def _marker(
    events: pa.RecordBatch, owner: Value, number: pa.Array, domain: Value
) -> dict[str, Value]:
    """What starts of ranges and marks have."""
    return {
        "process_id": owner,
        "timestamp_ns": events["start_ns"],
        "marker_id": number,
        "name": events["name"],
        "domain": domain,
        "object_kind": "thread",
        "thread_id": _thread(events),
    }


def marks(events: pa.RecordBatch, frame: Frame, owner: Value, domain: Value) -> Rows:
    """Instants: marks of a process."""
    number = frame.marker_ids(events.num_rows)
    values = _marker(events, owner, number, _of_nvtx(events, domain)) | {"event": "instant"}
    yield "marker", frame.batch("marker", events.num_rows, values)
    yield from argument_rows(events, process_id=owner, marker_id=number)


def _marks_of_file(events: pa.RecordBatch, frame: Frame) -> Rows:
    yield from marks(events, frame, frame.gpu_id, events["cat"])


# Ranges that PyTorch itself makes with record_function.
_ANNOTATION = r"^(ProfilerStep|Optimizer\.step|Optimizer\.zero_grad|enumerate\(DataLoader\))#"


def _of_nvtx(events: pa.RecordBatch, category: Value) -> Value:
    """The domain of what our export had of NVTX, which is there an annotation; "" is none."""
    named = events["nvtx_domain"].cast(pa.string())
    domain = pc.if_else(pc.equal(named, ""), None, named)
    return pc.if_else(pc.is_valid(named), domain, category)


def _domain(category: str, events: pa.RecordBatch) -> Value:
    """The category in newer files: in those of 2021, annotations are operators, too."""
    if category == "user_annotation":
        return _of_nvtx(events, category)
    if category not in _OF_2021:
        return category
    annotates = pc.match_substring_regex(events["name"].cast(pa.string()), _ANNOTATION)
    return pc.if_else(pc.fill_null(annotates, False), "user_annotation", category)


def _ranges(category: str) -> Handler:
    def ranges(events: pa.RecordBatch, frame: Frame) -> Rows:
        # The profiler's own have words where others have their process.
        is_own = category in OF_FILE
        owner: Value = frame.gpu_id if is_own else frame.owner(events)
        number = frame.marker_ids(events.num_rows)
        domain = _domain(category, events)
        end = ends(events)
        # A range without an end would go on to the end of the trace.
        event = pc.if_else(pc.is_valid(end), "start", "instant") if end.null_count else "start"
        values = _marker(events, owner, number, domain) | {"event": event}
        yield "marker", frame.batch("marker", events.num_rows, values)
        values |= {"timestamp_ns": end, "event": "end", "name": None}
        batch = frame.batch("marker", events.num_rows, values)
        yield "marker", batch.filter(pc.is_valid(end)) if end.null_count else batch
        external = external_id(events)
        has = pc.is_valid(external)
        payload = external.filter(has)
        values = {
            "process_id": owner.filter(has) if isinstance(owner, pa.Array) else owner,
            "marker_id": number.filter(has),
            "payload_kind": "int64",
            "payload": payload,
            "has_color": False,
        }
        yield "marker_data", frame.batch("marker_data", len(payload), values)
        yield from argument_rows(events, process_id=owner, marker_id=number)

    return ranges


_WAITS = {
    "stream wait event": "stream_wait_event",
    "stream synchronize": "stream_synchronize",
    "stream sync": "stream_synchronize",
    "event synchronize": "event_synchronize",
    "event sync": "event_synchronize",
    "context synchronize": "context_synchronize",
    "context sync": "context_synchronize",
}


def waits(events: pa.RecordBatch, frame: Frame) -> Rows:
    """Waits of the host and of streams."""
    values: dict[str, Value] = {
        "process_id": frame.gpu_id,
        "start_ns": events["start_ns"],
        "end_ns": ends(events),
        "type": mapped(
            events["name"], lambda name: _WAITS.get(name.lower(), "unknown"), pa.string()
        ),
        "correlation_id": null_if(events["correlation_id"], 0),
        "context_id": _context(events, frame),
        "stream_id": null_if(null_if(events["stream"], -1), 0xFFFFFFFF),
        "event_id": null_if(null_if(events["event_id"], -1), 0xFFFFFFFF),
    }
    yield "synchronization", frame.batch("synchronization", events.num_rows, values)


_OVERHEADS = {
    "driver compiler": "driver_compiler",
    "buffer flush": "cupti_buffer_flush",
    "instrumentation": "cupti_instrumentation",
    "resource": "cupti_resource",
    "runtime triggered module loading": "module_loading",
    "lazy function loading": "lazy_function_loading",
    "command buffer full": "command_buffer_full",
    "activity buffer request": "activity_buffer_request",
    "uvm activity init": "uvm_activity_init",
}


def overheads(events: pa.RecordBatch, frame: Frame) -> Rows:
    """Time of the profiler and of the driver."""

    def kind(name: str) -> str:
        return _OVERHEADS.get(name.lower().removeprefix("cupti "), "unknown")

    values: dict[str, Value] = {
        # Its pid is -1: it is of whichever process was recorded.
        "process_id": frame.gpu_id,
        "start_ns": events["start_ns"],
        "end_ns": ends(events),
        "overhead_kind": mapped(events["name"], kind, pa.string()),
    }
    yield "overhead", frame.batch("overhead", events.num_rows, values)


def _instants(events: pa.RecordBatch, frame: Frame) -> Rows:
    """Allocations, and marks such as [OutOfMemory]."""
    is_memory = pc.fill_null(pc.equal(events["name"], "[memory]"), False)
    others, memory = events.filter(pc.invert(is_memory)), events.filter(is_memory)
    if others.num_rows:
        yield from marks(with_all_arguments(others), frame, frame.owner(others), others["cat"])
    if memory.num_rows:
        yield "memory", allocations(memory, frame.owner(memory), _thread(memory))


_OF_2021 = ("Operator", "operator")
OPERATORS = ("cpu_op", "user_annotation", *_OF_2021)
RANGES = (*OPERATORS, "python_function", "Trace")
# Kineto's categories; the capitalised ones are those of 2021, and one is ours.
_WORK: dict[str, Handler] = {
    "kernel": kernels,
    "Kernel": kernels,
    "gpu_memcpy": copies,
    "Memcpy": copies,
    "gpu_memset": sets,
    "Memset": sets,
    "cuda_graph": _graphs,
}
HANDLERS: dict[str, Handler] = {
    **_WORK,
    "cuda_runtime": _calls("runtime"),
    "Runtime": _calls("runtime"),
    "cuda_driver": _calls("driver"),
    "xpu_runtime": _calls("runtime"),
    "xpu_driver": _calls("driver"),
    **{category: _ranges(category) for category in RANGES},
    "cuda_sync": waits,
    "overhead": overheads,
    "cpu_instant_event": _instants,
    "i": _marks_of_file,
    "I": _marks_of_file,
    "M": lambda events, frame: iter(()),
}
ON_GPU = (*_WORK, "cuda_sync")
# What the profiler says of itself: when it began and ended to record, and what that took.
OF_FILE = ("Trace", "i", "I", "overhead")
INSTANTS = ("cpu_instant_event", "i", "I")
CALLS = ("cuda_runtime", "Runtime", "cuda_driver", "xpu_runtime", "xpu_driver")
