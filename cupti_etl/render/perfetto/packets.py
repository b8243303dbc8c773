"""Packets of Perfetto's trace format: which fields they have, and the columns that fill them.

Numbers of fields are those of Perfetto's public definitions, of version 59:
https://github.com/google/perfetto/tree/main/protos/perfetto/trace
"""

from __future__ import annotations

from cupti_etl.render.perfetto.protobuf import (
    Message,
    Part,
    constant,
    double,
    integer,
    message,
    text,
)

# One writer wrote all: what it interned holds for all.
_SEQUENCE = constant(10, 1)
_BEGINS, _GOES_ON = constant(13, 1), constant(13, 2)
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
_CUDA = 4
# Slices that cross others have tracks of their own, numbered from here on, and counters, too.
CROSSING, COUNTERS, GPU_TRACKS = 1 << 60, 1 << 61, 1 << 62
# Streams and stages share their numbers.
STAGES = ("kernel", "copy", "memset", "graph")
FIRST_STREAM = 16
_COMPUTE = 2
# What is numbered for the arguments of work: the names that Perfetto's own views look for.
ARGUMENTS = (
    "device",
    "stream",
    "registers_per_thread",
    "shared_mem_static",
    "shared_mem_dynamic",
    "bytes",
    "graph",
    "graph_node",
    "correlation",
)


def _packet(*parts: Part, given: str = "") -> Message:
    return message(1, _SEQUENCE, _GOES_ON, *parts, given=given)


def _clock(number: int, column: str) -> Message:
    return message(1, constant(1, number), integer(2, column), given=column)


# The first packet: every time is one of CLOCK_REALTIME.
CLOCKS = (
    message(
        1,
        _SEQUENCE,
        _BEGINS,
        constant(87, 1),
        message(
            6,
            _clock(REALTIME, "realtime_ns"),
            _clock(MONOTONIC, "monotonic_ns"),
            _clock(BOOTTIME, "boottime_ns"),
            constant(2, REALTIME),
        ),
        message(59, constant(58, REALTIME)),
    ),
)
# An entry of GpuInfo for each GPU, and the packet around them.
GPU = (message(1, text(1, "name"), constant(2, "NVIDIA")),)


def gpu_info(entries: bytes) -> tuple[Part, ...]:
    """A packet of GPUs, whose place is their number."""
    return (_packet(constant(128, entries)),)


PROCESS = (
    _packet(
        message(
            60,
            integer(1, "track"),
            message(3, integer(1, "pid"), text(6, "name")),
        )
    ),
)
THREAD = (
    _packet(
        message(
            60,
            integer(1, "track"),
            message(4, integer(1, "pid"), integer(2, "thread_id"), text(5, "name")),
        )
    ),
)
TRACK = (_packet(message(60, integer(1, "track"), integer(5, "parent"), text(2, "name"))),)
COUNTER_TRACK = (
    _packet(
        message(
            60,
            integer(1, "track"),
            integer(5, "parent"),
            text(2, "name"),
            message(8, text(6, "unit")),
        )
    ),
)
COUNTER = (
    _packet(
        integer(8, "timestamp_ns"),
        message(11, constant(9, 4), integer(11, "track"), double(44, "value")),
    ),
)


def _interned(*parts: Part) -> tuple[Part, ...]:
    return (_packet(message(12, *parts)),)


EVENT_NAMES = _interned(message(2, integer(1, "iid"), text(2, "name")))
CATEGORIES = _interned(message(1, integer(1, "iid"), text(2, "name")))
# A kernel: how it is shown, and what it is.
KERNELS = _interned(
    message(2, integer(1, "iid"), text(2, "shown")),
    message(1000, integer(1, "iid"), text(2, "name"), text(3, "demangled")),
)
CONTEXTS = _interned(message(23, integer(1, "iid"), integer(2, "pid"), constant(3, _CUDA)))
STREAMS = _interned(message(24, integer(1, "iid"), text(2, "name")))
# Constants of all traces: stages, and names of arguments.
NAMES = _interned(
    *(
        message(
            24,
            constant(1, iid),
            constant(2, name),
            *([constant(4, _COMPUTE)] if name == "kernel" else []),
        )
        for iid, name in enumerate(STAGES, 1)
    ),
    *(message(1001, constant(1, iid), constant(2, name)) for iid, name in enumerate(ARGUMENTS, 1)),
    message(3, constant(1, 1), constant(2, "args")),
    message(3, constant(1, 2), constant(2, "correlation")),
)


def _argument(column: str) -> Message:
    iid = ARGUMENTS.index(column) + 1
    return message(3, constant(1, iid), integer(3, column), given=column)


def _dimensions(number: int, what: str) -> Message:
    axes = (integer(place, f"{what}_{axis}") for place, axis in enumerate("xyz", 1))
    return message(number, *axes, given=f"{what}_x")


WORK = (
    _packet(
        integer(8, "start_ns"),
        message(
            53,
            integer(1, "event"),
            integer(2, "duration_ns"),
            integer(5, "context"),
            integer(11, "gpu"),
            integer(13, "queue"),
            integer(14, "stage"),
            text(17, "name"),
            integer(20, "name_iid"),
            integer(19, "kernel_iid"),
            message(
                21,
                _dimensions(1, "grid"),
                _dimensions(2, "block"),
                *map(_argument, ARGUMENTS),
            ),
        ),
    ),
)
# Of a slice: a track of its own where it crosses others, its begin and its end; or an instant.
SLICE = (
    _packet(
        message(60, integer(1, "own_track"), integer(5, "parent"), constant(2, "overlapping")),
        given="own_track",
    ),
    _packet(
        integer(8, "start_ns"),
        message(
            11,
            integer(9, "type"),
            integer(11, "track"),
            integer(3, "category_iid"),
            text(22, "category"),
            integer(10, "name_iid"),
            text(23, "name"),
            message(4, constant(1, 1), text(9, "arguments"), given="arguments"),
            message(4, constant(1, 2), integer(4, "launch_id"), given="launch_id"),
            # Which work it asked for, and that it is a call of CUDA.
            message(3000, integer(1, "event"), given="event"),
            integer(3001, "api"),
        ),
    ),
    _packet(
        integer(8, "closed_ns"),
        message(11, constant(9, 2), integer(11, "track")),
        given="closed_ns",
    ),
)
SLICE_BEGIN, INSTANT = 1, 3
CUDA_API = _CUDA
