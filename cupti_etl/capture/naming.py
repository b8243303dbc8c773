"""Names of kernels are demangled beside the capture, so that no name holds up its records.

What a process may cost here is limited, and what goes beyond is counted: it costs the others
nothing but the turn that a name takes.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cupti_etl.capture.demangle import Demangler
from cupti_etl.capture.names import name_row
from cupti_etl.schema.counters import LAUNCH_METRIC, PC_SAMPLE, SASS_METRIC
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

# Of a process.  Programs with very many templates have some ten thousand, of some hundred
# bytes each.
_MOST_NAMES = 100_000
_MOST_BYTES = 32 << 20
_MOST_SECONDS = 10.0
# Of all of them, once the capture has ended.
_LAST_SECONDS = 30.0
# Columns with names of kernels that were counted, by table: these need not be recorded.
_NAMED = {
    table.name: column.name
    for table in (PC_SAMPLE, SASS_METRIC, LAUNCH_METRIC)
    for column in table.columns
    if column.joins == "kernel_name.mangled"
}


@dataclass
class _Share:
    """What a process has had of it."""

    seen: set[str] = field(default_factory=set)
    bytes: int = 0
    cut: int = 0
    seconds: float = 0.0
    demangler: Demangler = field(default_factory=Demangler)
    late: int = 0  # were not tried, as there was no time left


class Naming:
    """Makes the rows of the table ``kernel_name``, in a thread of its own.

    It begins at once: where memory has become short, Python waits for ever for a new thread.
    """

    def __init__(self) -> None:
        self._shares: dict[int, _Share] = {}
        self._queue: queue.SimpleQueue[tuple[_Share, list[str]] | None] = queue.SimpleQueue()
        self._rows: deque[dict[str, str]] = deque()
        self._is_late = threading.Event()
        self._thread: threading.Thread | None = threading.Thread(
            target=self._run, name="cupti-etl-names", daemon=True
        )
        self._thread.start()

    def add(self, process_id: int, names: Iterable[str]) -> None:
        """Take note of names that a process uses."""
        share = self._shares.setdefault(process_id, _Share())
        new = []
        for name in names:
            if name in share.seen:
                continue
            if len(share.seen) >= _MOST_NAMES or share.bytes + len(name) > _MOST_BYTES:
                share.cut += 1
                continue
            share.seen.add(name)
            share.bytes += len(name)
            new.append(name)
        if new:
            self._queue.put((share, new))

    def add_from(self, table: str, batch: pa.RecordBatch) -> None:
        """Take note of the names in rows of a table."""
        column = _NAMED.get(table)
        if column is None or not batch.num_rows:
            return
        # Few captures have such rows, and the import takes a tenth of a short one.
        import pyarrow.compute as pc

        for process_id in batch["process_id"].unique().to_pylist():
            names = batch[column].filter(pc.equal(batch["process_id"], process_id))
            self.add(process_id, names.unique().drop_null().to_pylist())

    def forget(self, process_id: int) -> None:
        """A process has ended and makes no more names."""
        self._shares.pop(process_id, None)

    def take(self, is_last: bool = False) -> list[dict[str, str]]:
        """The rows that were made since the last call; all of them if no more names come."""
        if is_last:
            self._finish(_LAST_SECONDS)
        return [self._rows.popleft() for _ in range(len(self._rows))]

    def close(self) -> None:
        """No more names come, and those that are not done are not needed."""
        self._finish(0)

    def _finish(self, seconds: float) -> None:
        if self._thread is None:
            return
        self._queue.put(None)
        self._thread.join(seconds)
        self._is_late.set()
        self._thread.join()
        self._thread = None

    def losses(self) -> list[Loss]:
        """What goes beyond the limits of a process."""
        found = []
        for process_id, share in list(self._shares.items()):
            if refused := share.demangler.refused + share.late:
                detail = "they take too much time or memory to demangle, and stay mangled"
                found.append(_loss(process_id, "not_demangled", refused, detail))
            if share.cut:
                detail = (
                    f"a process has names of {_MOST_NAMES:,} kernels or {_MOST_BYTES >> 20} MiB; "
                    "those that came later are not here, and can be counted more than once"
                )
                found.append(_loss(process_id, "text_limit", share.cut, detail))
        return found

    def _run(self) -> None:
        # Signals are for the thread that passes them on to the program.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        made: set[str] = set()  # kernels of several processes have the same names
        while (work := self._queue.get()) is not None:
            share, names = work
            for name in names:
                if name in made:
                    continue
                try:
                    made.add(name)
                    self._rows.append(name_row(name, self._demangle(share, name)))
                except MemoryError:
                    share.late += 1
            share.demangler.close()

    def _demangle(self, share: _Share, name: str) -> str:
        if share.seconds >= _MOST_SECONDS or self._is_late.is_set():
            share.late += 1
            return name
        begin = time.monotonic()
        demangled = share.demangler.demangle(name)
        share.seconds += time.monotonic() - begin
        return demangled


def _loss(process_id: int, cause: str, names: int, detail: str) -> Loss:
    return Loss(process_id, cause, "kernel_name", names, is_stored=True, detail=detail)
