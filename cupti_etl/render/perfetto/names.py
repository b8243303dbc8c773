"""What packets refer to by a number: it is written before its first use, and then known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class Numbers:
    """Numbers of values, in the order of their coming.

    Args:
        write: writes what new values are: an array of their numbers, and one of the values.
        first: the number of the first one.
        most: how many values get one; None: all do.
    """

    def __init__(
        self, write: Callable[[pa.Array, pa.Array], None], first: int = 1, most: int | None = None
    ) -> None:
        self._write, self._first, self._most = write, first, most
        self._known: pa.Array | None = None

    def of(self, values: pa.Array) -> pa.Array:
        """The number of each value; NULL for NULL, and for values that get none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._known is None:
            self._known = values.slice(0, 0)
        found = pc.index_in(values, value_set=self._known)
        fresh = pc.unique(values.filter(pc.and_(found.is_null(), values.is_valid())))
        if self._most is not None:
            fresh = fresh.slice(0, self._most - len(self._known))
        if len(fresh):
            first = self._first + len(self._known)
            self._write(pa.array(range(first, first + len(fresh)), pa.int64()), fresh)
            self._known = pa.concat_arrays([self._known, fresh])
            found = pc.index_in(values, value_set=self._known)
        return pc.add(found.cast(pa.int64()), self._first)
