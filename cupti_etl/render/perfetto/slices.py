"""Which slices of a track cross others, by the native function: a viewer nests slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import load

if TYPE_CHECKING:
    import pyarrow as pa

_NEVER = (1 << 63) - 1


class Crossings:
    """Goes through slices ordered by their start, and of the same start the longest first.

    Raises:
        NativeError: this installation has no native part, or there is no memory.
    """

    def __init__(self) -> None:
        self._ffi, self._lib = load()
        handle = self._lib.etl_slices_new()
        if handle == self._ffi.NULL:
            raise NativeError("no memory for slices")
        self._handle = self._ffi.gc(handle, self._lib.etl_slices_free)

    def of(self, tracks: pa.Array, starts: pa.Array, ends: pa.Array) -> pa.Array:
        """Of each slice that crosses one before, its number among these, from 1; else NULL.

        Args:
            tracks: 64-bit integers.
            starts: times.
            ends: times; NULL for what did not end.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        batch = pa.record_batch(
            [tracks, starts, pc.fill_null(ends, _NEVER)], names=["track", "start", "end"]
        )
        array = self._ffi.new("struct ArrowArray *")
        batch._export_to_c(int(self._ffi.cast("uintptr_t", array)))
        found = self._ffi.new("int64_t[]", max(len(tracks), 1))
        result = self._lib.etl_slices_add(self._handle, array, found)
        if result < 0:
            raise NativeError(f"slices cannot be read: error {-result}")
        numbers = pa.Array.from_buffers(
            pa.int64(), len(tracks), [None, pa.py_buffer(self._ffi.buffer(found))]
        )
        return pc.if_else(pc.equal(numbers, 0), pa.scalar(None, pa.int64()), numbers)
