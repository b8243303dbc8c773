"""The lists in the header of a query: its parameters, its columns, and without what it is empty.

What many headers have to say is said once: here, or by the query that has the column, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cupti_etl.errors import SchemaError
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.types import timestamp

_ENTRY = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*) (?P<type>[A-Z]+(?:\[\])?)"
    r"(?: = (?P<default>.+?))?(?: \[(?P<unit>[^\]]+)\])?: (?P<doc>.+)\Z"
)
_ALL_OF = re.compile(r"([a-z_][a-z0-9_]*)\.\*\Z")
_SOME_OF = re.compile(r"([a-z0-9_]+(?:, [a-z0-9_]+)*) of ([a-z_][a-z0-9_]*)\Z")
_REASON = re.compile(r"(?P<name>[a-z_][a-z0-9_]*): (?P<reason>.+\.)\Z")
# Of a finding, with "kernel" where what it says of the culprit ends with one.
_FINDING = (
    "gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them, or if it is not known.",
    "saved_ns BIGINT [ns]: What could be saved at most.",
    "culprit VARCHAR: What is most to blame; NULL if that is not known.",
)
_FINDING_WITH_KERNEL = (
    *_FINDING[:2],
    "culprit VARCHAR: What is most to blame; a kernel, if it ends with one, is in the next column.",
    "kernel VARCHAR: Mangled name of that kernel, or what else it is; NULL if there is none.",
)
# Why a trace has no row of a table or query, for which most queries have to give no other reason.
USUAL = {
    "_collective": "no communication kernels were recorded.",
    "_device_limits": "the trace does not say what its devices can hold.",
    "_gpu_gap": "no GPU was idle between two recorded activities.",
    "_gpu_span": "no finished GPU activity was recorded.",
    "_hlo_range": "no ranges of XLA were recorded; JAX writes them with NVTX.",
    "_operator": "no operators of PyTorch were recorded (capture with --pytorch, or import a trace"
    " of torch.profiler).",
    "_operator_flops": "no operator of which the operations can be counted launched work.",
    "_python_span": "no functions of Python were recorded as ranges.",
    "_stacked_process": "no Python stacks were kept (capture with --python-stacks, or"
    " with_stack=True of torch.profiler).",
    "_tuning_process": "no tuner tried out kernels, as far as stacks and cleared caches tell.",
    "api_call": "no API calls were recorded (capture with --api default).",
    "capture_window": "no recording windows are known (imported traces have none).",
    "cubin": "the code of the functions was not stored (capture without --no-cubins).",
    "device": "no device records were recorded, so it is not known which GPU ran the kernels.",
    "gpu_activity": "no GPU activity was recorded.",
    "kernel": "no kernels were recorded.",
    "launch_stack": "no Python stacks were kept (capture with --python-stacks; with_stack=True of"
    " torch.profiler tells no lines, but functions: python_function has them).",
    "launch_to_gpu": "no activity has a recorded call.",
    "marker": "no ranges were recorded.",
    "memcpy": "no copies were recorded.",
    "memory": "no allocations were recorded (capture with the kind memory, profile_memory=True of"
    " torch.profiler, or --cuda-memory-usage=true of nsys).",
    "nccl_event": "NCCL told of no operation (capture with NCCL 2.27 or later; loss may say why).",
    "pc_sample": "no PCs were sampled (capture with --pc-sampling).",
    "pm_sample": "no PM samples were recorded (capture with --pm).",
    "sass": 'the code was not disassembled (pip install "cupti-etl[sass]", or put the nvdisasm of a'
    " CUDA toolkit on PATH).",
    "sass_metric": "no instructions were counted (capture with --sass-metrics).",
    "step": "neither NVTX ranges called step or alike that asked for work nor a period of kernels"
    " was found.",
    "unified_memory": "no managed memory was recorded (capture with the kind unified_memory).",
}


@dataclass(frozen=True)
class Field:
    """A column or a parameter of a query; ``default`` is SQL text, None where one must be given."""

    name: str
    type: str
    doc: str
    unit: str = "1"
    default: str | None = None


# The columns of another query, by its name; None where there is none.
Others = Callable[[str], tuple[Field, ...] | None]


def field(query: str, line: str) -> Field:
    """What an entry says of a column or a parameter."""
    entry = _ENTRY.match(line)
    if not entry:
        raise SchemaError(
            f"query {query}: cannot read {line!r}", "write: name TYPE [unit]: A sentence."
        )
    return Field(entry["name"], entry["type"], entry["doc"], entry["unit"] or "1", entry["default"])


def columns(query: str, lines: list[str], others: Others) -> Iterator[Field]:
    """The columns of a query, some of which may be those of a table or of another query."""
    for line in lines:
        whole, some = _ALL_OF.match(line), _SOME_OF.match(line)
        if whole:
            yield from _of(query, whole[1], others)
        elif some:
            of = {each.name: each for each in _of(query, some[2], others)}
            for name in some[1].split(", "):
                if name not in of:
                    raise SchemaError(f"query {query}: {some[2]} has no column {name!r}")
                yield of[name]
        else:
            yield field(query, line)


def finding_columns(query: str, has_kernel: bool) -> Iterator[Field]:
    """The columns that every finding has."""
    return (field(query, line) for line in (_FINDING_WITH_KERNEL if has_kernel else _FINDING))


def reasons(query: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Without what the answer is empty, and the reason to give: the usual one, or another."""
    for line in lines:
        entry = _REASON.match(line)
        if entry:
            yield entry["name"], entry["reason"]
            continue
        for name in line.split(", "):
            if name not in USUAL:
                raise SchemaError(
                    f"query {query}: cannot read {name!r}", "write: table: why it is empty."
                )
            yield name, USUAL[name]


def _of(query: str, source: str, others: Others) -> tuple[Field, ...]:
    if source in TABLES:
        return tuple(
            Field(
                each.name,
                each.type.sql,
                each.doc,
                "epoch ns" if each.type is timestamp else each.unit,
            )
            for each in TABLES[source].columns
        )
    found = others(source)
    if found is None:
        raise SchemaError(f"query {query}: there is no table {source!r}, and no such query")
    return found
