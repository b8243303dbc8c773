"""What every importer offers, and what the rows of a source say about their processes."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from cupti_etl.imports.skipped import Skipped
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.imports.kineto.hip_calls import HipCalls

# Calls that ask a GPU for work.
ASKS = "^(hip|cu(da)?)(Launch(Kernel|Cooperative)|GraphLaunch|Mem(cpy|set))"
_TIMES = (("start_ns", "end_ns"), ("timestamp_ns", "timestamp_ns"), ("device_timestamp_ns",) * 2)


def new_process_id() -> int:
    """A number that names a process everywhere, as the injector draws it."""
    return random.SystemRandom().getrandbits(63) or 1


@dataclass
class Process:
    """What is known of a process of a foreign trace: columns of ``process``.

    Attributes:
        untimed: by table, rows that are stored without the time at which they began.
    """

    process_id: int
    pid: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    stored: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    untimed: Counter[str] = field(default_factory=Counter)

    def row(self) -> dict[str, Any]:
        """Its row."""
        return {
            "process_id": self.process_id,
            "pid": self.pid,
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "state": "imported",
            "stored": self.stored,
            **self.facts,
        }

    def extend(self, start: int | None, end: int | None) -> None:
        """Take note of times at which it was seen."""
        if start is not None:
            self.start_ns = start if self.start_ns is None else min(start, self.start_ns)
        if end is not None:
            self.end_ns = end if self.end_ns is None else max(end, self.end_ns)

    def absorb(self, other: Process) -> None:
        """Take over what was noted of rows that are its own after all."""
        self.stored += other.stored
        self.untimed += other.untimed
        self.extend(other.start_ns, other.end_ns)

    def losses(self) -> list[Loss]:
        """Rows that are stored without a time."""
        detail = "the file gives no time at which these rows began"
        return [
            Loss(self.process_id, "zero_timestamp", table, rows, is_stored=True, detail=detail)
            for table, rows in (+self.untimed).items()
        ]

    def note(self, table: str, batch: pa.RecordBatch) -> None:
        """Count rows of it that are stored, and take note of their times."""
        self.stored += batch.num_rows
        for first, last in _TIMES:
            if first in batch.schema.names:
                self.extend(pc.min(batch[first]).as_py(), pc.max(batch[last]).as_py())
                # An event's time on the device is often not known, and its call's is.
                if first != "device_timestamp_ns":
                    self.untimed[table] += batch[first].null_count
                return


def note(processes: Mapping[int, Process], table: str, batch: pa.RecordBatch) -> None:
    """Count the rows of a batch, process by process."""
    owners = batch["process_id"]
    found = pc.unique(owners).to_pylist()
    for process_id in found:
        mine = batch if len(found) == 1 else batch.filter(pc.equal(owners, process_id))
        processes[process_id].note(table, mine)


def unrecorded(tool: str, asked: int) -> list[Loss]:
    """The GPU's work, where calls asked for some and the file has none; tools say nothing then."""
    detail = (
        f"{tool}: {asked:,} calls launched, copied or set, and no work of a GPU is in the file: it"
        " may lack the permission (in a virtual machine, a container, WSL), or counters or another"
        " profiler were in its way"
    )
    return [Loss(None, "cupti_dropped", detail=detail)] if asked else []


class Source(ABC):
    """A file (or folder) of another tool that is being read.

    Attributes:
        path: where it is.
        kind: what it is, in a few words, for ``capture.source``.
        skipped: what is not kept of it; complete when all batches have been read.
        moved: of work on GPUs, the processes that turned out to be others, when all batches
            have been read.
        hip_calls: by process, what calls say of their kernels and copies, likewise.
    """

    kind: str

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = Skipped()
        self.moved: dict[int, int] = {}
        self.hip_calls: dict[int, HipCalls] = {}

    @abstractmethod
    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows, table by table or mixed.

        Raises:
            ForeignError: the file is damaged, or holds nothing for us.
        """

    @abstractmethod
    def process_rows(self) -> list[dict[str, Any]]:
        """Rows of ``process``; complete when all batches have been read."""

    @abstractmethod
    def losses(self) -> list[Loss]:
        """Rows of ``loss``; complete when all batches have been read."""
