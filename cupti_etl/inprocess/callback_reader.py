"""Events of callbacks as batches of the table ``callback_event``, made by the decoder of traces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.decoder import Decoder
from cupti_etl.errors import NativeError
from cupti_etl.native.loader import error_buffer, load, text

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are gathered before they are handed on.
_BATCH_ROWS = 32768


class CallbackReader:
    """Gathers events out of slots, as a capture's collector does."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._table = self._decoder.tables.index("callback_event")
        ffi, lib = load()
        info = ffi.new("struct etl_process_info *")
        info.pid = os.getpid()
        kinds = ffi.integer_const("ETL_MAX_KIND")
        strides, lost = ffi.new("uint32_t[]", kinds), ffi.new("uint64_t[]", kinds)
        self._error = error_buffer(ffi)
        process = lib.etl_process_load(self._decoder.handle, info, strides, lost, self._error)
        if process == ffi.NULL:
            raise NativeError(text(ffi, self._error.message))
        self._process = ffi.gc(process, lib.etl_process_free)

    def add(self, slot: Any) -> None:
        """Take the events of a slot.

        Raises:
            NativeError: there is no memory.
        """
        ffi, lib = load()
        arguments = self._process, slot.data, slot.bytes, slot.content, self._error
        if lib.etl_process_decode(*arguments) < 0:
            raise NativeError(text(ffi, self._error.message))

    def is_full(self) -> bool:
        """Whether there are enough of them to hand on."""
        return self._decoder.rows(self._table) >= _BATCH_ROWS

    def take(self) -> pa.RecordBatch | None:
        """What has gathered, without the process; None if nothing has."""
        if not self._decoder.rows(self._table):
            return None
        return self._decoder.take(self._table).drop_columns(["process_id"])
