"""What AMD's runtime says with a call, and not always with its work: sizes and directions."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import fit

_SIZES = tuple(f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz")
_SHARED = "dynamic_shared_bytes"
# These take the threads of the whole grid where others take its blocks (HIP's reference of
# hip_ext.h), and so does what is said of their kernels.
_IN_THREADS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")
# hipMemcpyKind, among the arguments of a call.
_DIRECTION = r'"kind": ?"?(?P<kind>[12])\b'


class HipCalls:
    """What the calls of one process say, by correlation id: 36 bytes a launch, 9 a copy."""

    def __init__(self) -> None:
        self._launches: list[pa.RecordBatch] = []
        self._copies: list[pa.RecordBatch] = []

    def note(self, calls: pa.RecordBatch) -> None:
        """Take what these calls say; those of CUDA say nothing."""
        name = calls["name"].cast(pa.string())
        self._note_copies(calls.filter(pc.starts_with(name, "hipMemcpy")))
        has = pc.and_(pc.is_valid(calls["grid_x"]), pc.is_valid(calls["correlation_id"]))
        some = calls.filter(has)
        if not some.num_rows:
            return
        in_threads = pc.is_in(some["name"].cast(pa.string()), value_set=pa.array(_IN_THREADS))
        columns = {name: _at_least(1, some[name]) for name in _SIZES}
        for axis in "xyz":
            grid, block = columns[f"grid_{axis}"], columns[f"block_{axis}"]
            blocks = pc.divide(pc.subtract(pc.add(grid, block), 1), block)
            columns[f"grid_{axis}"] = pc.if_else(in_threads, blocks, grid)
        columns[_SHARED] = _at_least(0, some["shared"])
        arrays = [some["correlation_id"], *(fit(column, pa.int32()) for column in columns.values())]
        self._launches.append(pa.RecordBatch.from_arrays(arrays, ["correlation_id", *columns]))

    def _note_copies(self, calls: pa.RecordBatch) -> None:
        if not calls.num_rows:
            return
        said = pc.extract_regex(calls["arguments"].cast(pa.string()), _DIRECTION)
        to_device = pc.equal(pc.struct_field(said, "kind"), "1")
        columns = {"correlation_id": calls["correlation_id"], "to_device": to_device}
        self._copies.append(pa.RecordBatch.from_pydict(columns).drop_null())

    def __bool__(self) -> bool:
        """Whether a call said anything."""
        return bool(self._launches or self._copies)

    def fill_sizes(self, kernels: pa.Table, process_id: int) -> pa.Table:
        """The kernels, those of the process with the sizes that their calls gave them."""
        if not self._launches:
            return kernels
        sizes = pa.Table.from_batches(self._launches).combine_chunks()
        place = _place(sizes, kernels, process_id)
        return _filled(kernels, {name: sizes[name].take(place) for name in sizes.column_names[1:]})

    def fill_directions(self, copies: pa.Table, process_id: int) -> pa.Table:
        """The copies, those of the process from or to the host if their calls said so.

        From pinned memory and to it, which the GPU reads and writes as its own, ROCm reports copies
        within the device.
        """
        if not self._copies:
            return copies
        said = pa.Table.from_batches(self._copies).combine_chunks()
        is_inside = pc.equal(copies["copy_kind"].cast(pa.string()), "DtoD")
        place = pc.if_else(is_inside, _place(said, copies, process_id), None)
        to_device = said["to_device"].take(place)
        turned = {
            "copy_kind": pc.if_else(to_device, "HtoD", "DtoH"),
            "src_kind": pc.if_else(to_device, "host", "device"),
            "dst_kind": pc.if_else(to_device, "device", "host"),
        }
        return _filled(copies, turned)


def _place(said: pa.Table, work: pa.Table, process_id: int) -> pa.ChunkedArray:
    """Where it is said what a call of the process asked for, for each of its rows."""
    ids = said["correlation_id"].combine_chunks()
    place = pc.index_in(work["correlation_id"], value_set=ids)
    return pc.if_else(pc.equal(work["process_id"], process_id), place, None)


def _filled(work: pa.Table, said: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """The rows with what is said of them, as far as it is."""
    for name, values in said.items():
        at = work.schema.get_field_index(name)
        column = pc.coalesce(values, work[name].cast(values.type))
        work = work.set_column(at, work.schema.field(at), column.cast(work.schema.field(at).type))
    return work


def _at_least(least: int, sizes: pa.Array) -> pa.Array:
    return pc.if_else(pc.greater_equal(sizes, least), sizes, None)
