"""Sizes of launches as AMD's runtime has them: with the call, and not always with the kernel."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import fit

_SIZES = tuple(f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz")
_SHARED = "dynamic_shared_bytes"
# These take the threads of the whole grid where others take its blocks (HIP's reference of
# hip_ext.h), and so does what is said of their kernels.
_IN_THREADS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")


class LaunchSizes:
    """What the calls of one process say, by correlation id: 36 bytes a launch."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def note(self, calls: pa.RecordBatch) -> None:
        """Take what these calls say; those of CUDA say nothing."""
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
        self._batches.append(pa.RecordBatch.from_arrays(arrays, ["correlation_id", *columns]))

    def __bool__(self) -> bool:
        """Whether a call said anything."""
        return bool(self._batches)

    def fill(self, kernels: pa.Table, process_id: int) -> pa.Table:
        """The kernels, those of the process with the sizes that their calls gave them."""
        sizes = pa.Table.from_batches(self._batches).combine_chunks()
        kernels = kernels.combine_chunks()
        ids = sizes["correlation_id"].combine_chunks()
        place = pc.index_in(kernels["correlation_id"], value_set=ids)
        place = pc.if_else(pc.equal(kernels["process_id"], process_id), place, None)
        for name in sizes.column_names[1:]:
            at = kernels.schema.get_field_index(name)
            column = pc.coalesce(sizes[name].take(place), kernels[name])
            kernels = kernels.set_column(at, kernels.schema.field(at), column)
        return kernels


def _at_least(least: int, sizes: pa.Array) -> pa.Array:
    return pc.if_else(pc.greater_equal(sizes, least), sizes, None)
