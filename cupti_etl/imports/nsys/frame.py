"""What the rows of an nsys export refer to: processes, texts, the clock, NVTX domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import Batches
from cupti_etl.imports.skipped import Skipped
from cupti_etl.imports.source import Process, new_process_id

_TEXT = pa.dictionary(pa.int32(), pa.string())
# A serialised id: host and machine, then 24 bits of process and 24 of thread.
_BITS = 24
_MASK = (1 << _BITS) - 1
# No time is later, whether since the epoch or not: this is in the year 2116.
_LIMIT = 1 << 62


class Processes:
    """The processes of an export, by ``globalPid``.

    Attributes:
        by_id: the same by our ``process_id``.
        lone: whose rows are that name no process.
        facts_of: columns of ``process`` for a ``globalPid``.
    """

    def __init__(self) -> None:
        self._by_key: dict[int | None, Process] = {}
        self.by_id: dict[int, Process] = {}
        self.lone: int | None = None
        self.facts_of: Callable[[int], dict[str, Any]] = lambda key: {}

    @staticmethod
    def keys(ids: pa.Array) -> pa.Array:
        """``globalPid`` of a column of ``globalPid`` or ``globalTid``."""
        return pc.bit_wise_and(ids, pa.scalar(~_MASK, pa.int64()))

    def ids(self, owners: pa.Array) -> pa.Array:
        """Our ``process_id`` for a column of ``globalPid`` or ``globalTid``."""
        keys = self.keys(owners).dictionary_encode(null_encoding="encode")
        found = [self.of(key).process_id for key in keys.dictionary.to_pylist()]
        return pa.array(found, pa.int64()).take(keys.indices)

    def of(self, key: int | None) -> Process:
        """The process with a ``globalPid``, which is new if it was not asked for before."""
        key = self.lone if key is None else key
        if key not in self._by_key:
            pid = None if key is None else key >> _BITS & _MASK
            process = self._by_key[key] = Process(new_process_id(), pid)
            self.by_id[process.process_id] = process
            if key is not None:
                process.facts |= self.facts_of(key)
            else:
                process.facts["detail"] = "rows that name no process; they join with no call"
        return self._by_key[key]

    def of_pid(self, pid: int) -> list[Process]:
        """Those with rows that have a pid; several, if the export is of several machines."""
        return [p for p in self._by_key.values() if p.pid == pid and p.stored]

    def items(self) -> list[tuple[int | None, Process]]:
        """All of them, with their ``globalPid``."""
        return list(self._by_key.items())


class Frame(Batches):
    """What the rows of one export share.

    Args:
        texts: rows of ``StringIds``, as two arrays.
        epoch_ns: what to add to times.
        skipped: takes note of what is not kept.

    Attributes:
        devices: the processes with the devices that they used.
    """

    def __init__(self, texts: tuple[pa.Array, pa.Array], epoch_ns: int, skipped: Skipped) -> None:
        super().__init__(skipped)
        self._ids, self._values = texts
        self._epoch_ns = epoch_ns
        self.processes = Processes()
        self.domains: dict[tuple[int | None, int], str] = {}
        self.devices: set[tuple[int, int]] = set()

    def note_devices(self, batch: pa.RecordBatch) -> None:
        """Which process used which device."""
        if "device_id" in batch.schema.names:
            rows = pa.Table.from_batches([batch.select(["process_id", "device_id"])])
            used = rows.group_by(["process_id", "device_id"]).aggregate([]).to_pylist()
            self.devices |= {(row["process_id"], row["device_id"]) for row in used}

    def time(self, times: pa.Array) -> pa.Array:
        """Times since the epoch; NULL where they cannot be any, so that differences do not wrap."""
        # Without the epoch, a time may lie a little before the session.
        lowest, limit = -(self._epoch_ns or _LIMIT), _LIMIT - self._epoch_ns
        found = pc.min_max(times).as_py()
        if found["min"] is not None and not lowest <= found["min"] <= found["max"] < limit:
            fits = pc.and_(pc.greater_equal(times, lowest), pc.less(times, limit))
            times = pc.if_else(fits, times, None)
        return pc.add(times, self._epoch_ns) if self._epoch_ns else times

    def strings(self, ids: pa.Array) -> pa.Array:
        """The texts of a column of ids; NULL where there is none."""
        used = ids.dictionary_encode()
        values = self._values.take(pc.index_in(used.dictionary, self._ids))
        if values.null_count:
            return values.take(used.indices).dictionary_encode().cast(_TEXT)
        return pa.DictionaryArray.from_arrays(used.indices, values)

    @staticmethod
    def thread(ids: pa.Array) -> pa.Array:
        """The thread of a ``globalTid``."""
        return pc.bit_wise_and(ids, pa.scalar(_MASK, pa.int64()))

    @staticmethod
    def domain(ids: pa.Array, names: dict[int, str]) -> pa.Array | None:
        """The NVTX domains of a process's rows; NULL for the default one."""
        if not names:
            return None
        used = ids.dictionary_encode()
        found = pa.array([names.get(number) for number in used.dictionary.to_pylist()], pa.string())
        return found.take(used.indices)


def as_int(value: Any, bits: int = 64) -> int | None:
    """A number of a small table, which may be text there; None if it has more bits."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def as_text(value: Any) -> str | None:
    """A text of a small table; None for what is none."""
    return value if isinstance(value, str) else None
