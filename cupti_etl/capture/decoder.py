"""Raw CUPTI records to Arrow record batches, in C, many records a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import load
from cupti_etl.schema.arrow import batch_schema
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.own import DECODED

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of a table that are gathered before they are handed on.
_BATCH_ROWS = 32768
# Of the texts that these use: few rows can hold much.
_BATCH_TEXT_BYTES = 16 << 20


class Decoder:
    """Gathers the rows of all traced processes, table by table."""

    def __init__(self) -> None:
        self._ffi, self._lib = load()
        self.handle: Any = self._ffi.gc(self._lib.etl_decoder_new(), self._lib.etl_decoder_free)
        self.tables = [*(kind.table for kind in KINDS), *(table.name for table in DECODED)]

    def rows(self, table: int) -> int:
        """Rows gathered for a table since they were last taken."""
        return int(self._lib.etl_decoder_rows(self.handle, table))

    def text_bytes(self, table: int) -> int:
        """Bytes of the texts that these rows use."""
        return int(self._lib.etl_decoder_text_bytes(self.handle, table))

    def batches(self, everything: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The gathered rows by table; without ``everything``, where there are enough of them."""
        least = 1 if everything else _BATCH_ROWS
        for index, table in enumerate(self.tables):
            if self.rows(index) >= least or self.text_bytes(index) > _BATCH_TEXT_BYTES:
                yield table, self.take(index)

    def take(self, table: int) -> pa.RecordBatch:
        """Moves the gathered rows of a table out; no copy is made.

        Raises:
            NativeError: there is no memory.
        """
        import pyarrow as pa

        array = self._ffi.new("struct ArrowArray *")
        if self._lib.etl_decoder_take(self.handle, table, array) < 0:
            raise NativeError("no memory for a record batch", "give the machine more memory")
        address = int(self._ffi.cast("uintptr_t", array))
        return pa.RecordBatch._import_from_c(address, batch_schema(self.tables[table]))
