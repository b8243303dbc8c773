"""One traced process as the collector sees it: its header, its slots, its losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.windows import Counted, Window, Windows
from cupti_etl.errors import NativeError
from cupti_etl.native.headers import Copy, constant, enumeration, members
from cupti_etl.native.loader import error_buffer, load, text
from cupti_etl.schema.arrow import SCHEMA_VERSION
from cupti_etl.schema.kinds import KINDS

STATES = enumeration("etl_process_state", "ETL_")
TRACING = constant("ETL_TRACING")
FINISHED = constant("ETL_FINISHED")
NOT_TRACED = constant("ETL_NOT_TRACED")
NOT_FLUSHED = constant("ETL_NOT_FLUSHED")
RECORDS = constant("ETL_RECORDS")
STRINGS = constant("ETL_STRINGS")
MAX_KIND = constant("ETL_MAX_KIND")
_NO_NUMBER = -(2**63)


class ProcessInfo(Copy):
    """What a process says of itself: a ``struct etl_process_info``.

    Times are ns of CLOCK_REALTIME, 0 if never; a number that is not set is None.
    """

    def __init__(self, raw: Any) -> None:
        super().__init__(raw)
        for name in _MAY_BE_UNSET:
            if vars(self)[name] == _NO_NUMBER:
                vars(self)[name] = None

    def is_complete(self, has_ended: bool) -> bool:
        """Whether CUPTI has given back all of this process's records."""
        if has_ended and self.state == TRACING:
            return bool(self.is_settled)
        return bool(self.state == FINISHED)


_MAY_BE_UNSET = ("rank", "local_rank", "world_size", "slurm_job_id", "slurm_proc_id")


def _native_description(ffi: Any, description: dict[str, Any]) -> tuple[Any, Any, Any]:
    info = ffi.new("struct etl_process_info *")
    strides, ring_full = ffi.new("uint32_t[]", MAX_KIND), ffi.new("uint64_t[]", MAX_KIND)
    try:
        for name in members("etl_process_info"):
            value = description["info"].get(name)
            if isinstance(value, str):
                value = value.encode()[: ffi.sizeof(getattr(info, name)) - 1]
            elif value is None and name in _MAY_BE_UNSET:
                value = _NO_NUMBER
            if value is not None:  # what an older recording lacks stays zero
                setattr(info, name, value)
        for target, key in ((strides, "strides"), (ring_full, "ring_full")):
            for kind, number in description[key].items():
                target[int(kind)] = number
    except (KeyError, AttributeError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise NativeError(f"the description of a process is damaged: {error!r}") from None
    return info, strides, ring_full


class Process:
    """A traced process: a live segment, or the header of a recorded one.

    Everything read from it was written by another program and is checked in C.
    """

    def __init__(self, decoder: Decoder, handle: Any) -> None:
        self._ffi, self._lib = load()
        self._decoder = decoder  # must outlive the handle
        self._handle = self._ffi.gc(handle, self._lib.etl_process_free)
        self._error = error_buffer(self._ffi)
        self._windows = Windows(self._handle)
        self.process_id = self.info().process_id

    @classmethod
    def map(cls, decoder: Decoder, fd: int) -> Process:
        """Map the segment behind a descriptor; the descriptor can be closed then.

        Raises:
            NativeError: it is not a segment, can shrink, or is of another schema.
        """
        ffi, lib = load()
        error = error_buffer(ffi)
        handle = lib.etl_process_map(decoder.handle, fd, error)
        if handle == ffi.NULL:
            raise NativeError(text(ffi, error.message))
        return cls(decoder, handle)

    def claim(self, fd: int) -> None:
        """Take the segment behind a descriptor for us alone, until ``detach``.

        Raises:
            NativeError: another collector has it, or it cannot be locked.
        """
        if self._lib.etl_process_claim(self._handle, fd, self._error) < 0:
            raise NativeError(text(self._ffi, self._error.message))

    def is_alive(self) -> bool | None:
        """Whether the process image still runs; None if the kernel cannot tell."""
        alive = self._lib.etl_process_is_alive(self._handle)
        return None if alive < 0 else bool(alive)

    def resume(self) -> None:
        """Go on where an earlier collector was killed; the process has been claimed.

        The slots that it was reading are given back, and the strings that only it knew are
        asked for anew.
        """
        self._lib.etl_process_resume(self._handle)

    def awaits_strings(self) -> bool:
        """Whether records may name strings that are still to come."""
        return bool(self._lib.etl_process_awaits_strings(self._handle))

    @classmethod
    def loaded(cls, decoder: Decoder, description: dict[str, Any]) -> Process:
        """A process out of a recording, from its ``description()``.

        Raises:
            NativeError: the description lacks something, or there is no memory.
        """
        ffi, lib = load()
        error = error_buffer(ffi)
        handle = lib.etl_process_load(decoder.handle, *_native_description(ffi, description), error)
        if handle == ffi.NULL:
            raise NativeError(text(ffi, error.message))
        process = cls(decoder, handle)
        process._windows.described(description)
        process._set_places(description)
        return process

    def update(self, description: dict[str, Any]) -> None:
        """Bring a recorded process up to a later ``description()``."""
        self._windows.described(description)
        self._lib.etl_process_update(self._handle, *_native_description(self._ffi, description))
        self._set_places(description)

    def description(self) -> dict[str, Any]:
        """What a recording keeps of the process: plain values, free of any layout."""
        return {
            "info": vars(self.info()),
            "strides": {str(kind): size for kind, size in self.strides().items()},
            "ring_full": {str(kind): count for kind, count in self.ring_full().items()},
            "schema_version": SCHEMA_VERSION,
            "places": self._places(),
            "windows": [vars(window) for window in self.windows()],
        }

    def _places(self) -> dict[str, dict[str, list[int]]]:
        """Where values lie in selected records: offset, width and condition by column."""
        if not self.info().is_selected:
            return {}
        place = self._ffi.new("struct etl_place *")
        places: dict[str, dict[str, list[int]]] = {}
        for table, kind in enumerate(KINDS):
            for index, column in enumerate(kind.as_table().columns):
                self._lib.etl_process_get_place(self._handle, table, index, place)
                if place.width:
                    where = [place.offset, place.width, place.only_at]
                    places.setdefault(kind.table, {})[column.name] = where
        return places

    def _set_places(self, description: dict[str, Any]) -> None:
        tables = description.get("places", {})
        version = description.get("schema_version", 1)
        try:
            for table, kind in enumerate(KINDS):
                now = kind.as_table().renamed(version)
                places = tables.get(kind.table, {}).items()
                by_name = {now.get(name, name): where for name, where in places}
                for index, column in enumerate(kind.as_table().columns):
                    if where := by_name.get(column.name):
                        place = self._ffi.new("struct etl_place *", where)
                        self._lib.etl_process_set_place(self._handle, table, index, place)
        except (AttributeError, TypeError, ValueError, OverflowError, IndexError) as error:
            raise NativeError(f"the description of a process is damaged: {error!r}") from None

    def info(self) -> ProcessInfo:
        """The header's facts and counters as they are now."""
        raw = self._ffi.new("struct etl_process_info *")
        self._lib.etl_process_get_info(self._handle, raw)
        return ProcessInfo(raw)

    def slots(self, most: int, most_bytes: int) -> Iterator[tuple[Any, int, int]]:
        """Full slots in order of publication: ``(data, bytes, content)``.

        They are ``most`` at most, and none any more once they have ``most_bytes`` together.

        The data pointer is valid until the next step of the iterator, which gives the
        slot back to the process.
        """
        view = self._ffi.new("struct etl_slot_view *")
        for _ in range(most):
            if most_bytes <= 0 or not self._lib.etl_process_next(self._handle, view):
                return
            most_bytes -= view.bytes
            yield view.data, view.bytes, view.content
            self._lib.etl_process_release(self._handle, view.slot)

    def detach(self) -> None:
        """Unmap the segment of a process that has ended and been drained.

        Raises:
            NativeError: there is no memory for the little that is kept.
        """
        if self._lib.etl_process_detach(self._handle, self._error) < 0:
            raise NativeError(text(self._ffi, self._error.message))

    def decode(self, data: Any, size: int, content: int) -> None:
        """Append a slot's rows to the decoder.

        Raises:
            NativeError: there is no memory.
        """
        if self._lib.etl_process_decode(self._handle, data, size, content, self._error) < 0:
            raise NativeError(text(self._ffi, self._error.message))

    def decoded(self) -> Copy:
        """What decoding has found so far."""
        raw = self._ffi.new("struct etl_decoded *")
        self._lib.etl_process_get_decoded(self._handle, raw)
        return Copy(raw)

    def stored(self, table: int) -> int:
        """Rows that this process gave a table."""
        return int(self._lib.etl_process_stored(self._handle, table))

    def cut(self, table: int) -> int:
        """Rows that lack a text, because the process used too many at a time."""
        return int(self._lib.etl_process_cut(self._handle, table))

    def take_kernel_names(self) -> list[str]:
        """Names of its kernels since the last call, as CUPTI gives them; one can come again.

        Raises:
            NativeError: there is no memory.
        """
        if not self._lib.etl_process_names(self._handle):
            return []
        import pyarrow as pa

        array = self._ffi.new("struct ArrowArray *")
        if self._lib.etl_process_take_names(self._handle, array) < 0:
            raise NativeError("no memory for the names of kernels", "give the machine more memory")
        address = int(self._ffi.cast("uintptr_t", array))
        names: list[str] = pa.Array._import_from_c(address, pa.string()).to_pylist()
        return names

    def nulls(self, table: int, column: int) -> int:
        """Rows whose member for a column held the value that means "not known"."""
        return int(self._lib.etl_process_nulls(self._handle, table, column))

    def other_clock(self, table: int) -> int:
        """Rows of a table with a time of another clock than ours, which is NULL."""
        return int(self._lib.etl_process_other_clock(self._handle, table))

    def early_ends(self, table: int) -> int:
        """Rows of a table that were to end before they began, and end at their start."""
        return int(self._lib.etl_process_early_ends(self._handle, table))

    def windows(self) -> list[Window]:
        """The stretches of time in which it recorded; the last one may still be open."""
        return self._windows.so_far(self.info().start_ns)

    def new_windows(self, is_over: bool) -> Iterator[Window]:
        """Those that are closed and were not given yet; of one that is over, all others too."""
        return self._windows.new(self.info().start_ns, is_over)

    def take_counted(self) -> list[Counted]:
        """Windows that ``new_windows`` saw, as far as their launches were counted; each once."""
        return self._windows.take_counted()

    def ring_full(self) -> dict[int, int]:
        """Records lost for want of a slot, by activity kind."""
        return self._by_kind(self._lib.etl_process_ring_full)

    def unknown(self) -> dict[int, int]:
        """Records of activity kinds that have no table, by kind."""
        return self._by_kind(self._lib.etl_process_unknown)

    def strides(self) -> dict[int, int]:
        """Record size in bytes by activity kind, as the process found it."""
        return self._by_kind(self._lib.etl_process_stride)

    def _by_kind(self, function: Any) -> dict[int, int]:
        counts = ((kind, int(function(self._handle, kind))) for kind in range(MAX_KIND))
        return {kind: count for kind, count in counts if count}
