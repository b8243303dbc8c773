"""Files into which those of several ranks were merged, with whose each event is.

TraceFuse of TraceLens has the rank among the arguments.  SGLang writes its kinds of ranks before
the process, as in ``[TP01-DP00] 83``, for which correlation ids may be those of other ranks, too.
Our own export of several processes writes the process behind the GPU, as in ``GPU 1 of 83``, and
the rank before the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.imports.columns import mapped
from cupti_etl.imports.kineto.hip_calls import HipCalls
from cupti_etl.imports.source import Process, new_process_id

_LABELLED = re.compile(r"\[([^\]]{1,64})\] (.+)")
_NAMED = re.compile(r"(?:rank (\d{1,9}): )?(?:process \d*|(.*))", re.DOTALL)
_OWNED = re.compile(r"(?:GPU \d{1,9}|waits|overhead) of (\d{1,10})")
_RANK = re.compile(r"(?:TP)?(\d{1,9})")


def pid_of(text: str) -> str:
    """The process without the rank before it."""
    found = _LABELLED.fullmatch(text)
    return found[2] if found else text


def rank_of(label: str | None) -> int | None:
    """The rank, if it is a number, or if ranks are of one kind."""
    found = _RANK.fullmatch(label or "")
    return int(found[1]) if found else None


def told(name: str | None) -> tuple[int | None, str | None]:
    """The rank and the command line in the name of a process, as our own export writes them."""
    found = _NAMED.fullmatch(name or "")
    rank, command = found.groups() if found else (None, None)
    return int(rank) if rank else None, command or None


@dataclass
class Share:
    """What is of one rank of a file, or of all of it.

    Attributes:
        gpu: the process of work on GPUs, of which the file does not say whose it is.
        devices: numbers of those on which it worked.
        callers: which processes called CUDA.
        sizes: what their calls say of kernels.
    """

    gpu: Process
    devices: set[int] = field(default_factory=set)
    callers: set[str] = field(default_factory=set)
    hip_calls: HipCalls = field(default_factory=HipCalls)


class Shares:
    """Those of one file: one of all that has no rank, and one of each."""

    def __init__(self, first: Process) -> None:
        self.by_label: dict[str | None, Share] = {None: Share(first)}

    def owned(
        self, events: pa.RecordBatch, is_shared: bool, of_pid: Callable[[str], Process] | None
    ) -> Iterator[tuple[Process, Share, pa.RecordBatch]]:
        """Events of one kind, by the process that work on GPUs, and what is of the file, is of.

        Args:
            events: the events.
            is_shared: whether they may be of one rank.
            of_pid: the process with a number, if events may name one: those of the profiler itself
                have words there, but in our own export.
        """
        whole = self.by_label[None]
        if of_pid is not None:
            pids = _number(events)
            for pid in pc.unique(pids.drop_null()).to_pylist():
                yield of_pid(pid), whole, events.filter(pc.equal(pids, pid))
            events = events.filter(pc.is_null(pids))
        if not is_shared:
            yield whole.gpu, whole, events
        elif events.num_rows:
            for share, mine in self.split(events):
                yield share.gpu, share, mine

    def split(self, events: pa.RecordBatch) -> Iterator[tuple[Share, pa.RecordBatch]]:
        """Events of one kind, by whose they are."""
        labels = mapped(events["pid"], _label, pa.string())
        labels = pc.coalesce(events["rank"].cast(pa.string()), labels)
        if labels.null_count == len(labels):
            yield self.by_label[None], events
            return
        for label in pc.unique(labels).to_pylist():
            if label not in self.by_label:
                self.by_label[label] = Share(Process(new_process_id()), callers=_owners(label))
            is_its = pc.is_null(labels) if label is None else pc.equal(labels, label)
            yield self.by_label[label], events.filter(pc.fill_null(is_its, False))


def _number(events: pa.RecordBatch) -> pa.Array:
    """The numbers of processes; NULL of words, and of events of ranks."""
    pids = events["pid"].cast(pa.string())
    is_number = pc.match_substring_regex(pids, r"^[1-9]\d*$")
    return pc.if_else(pc.and_(is_number, pc.is_null(events["rank"])), pids, None)


def _label(pid: str) -> str | None:
    found = _LABELLED.fullmatch(pid)
    if found:
        return found[1]
    owned = _OWNED.fullmatch(pid)
    return f"of {owned[1]}" if owned else None


def _owners(label: str | None) -> set[str]:
    """The process that work names as its own: its calls have its number alone."""
    return {label[3:]} if label and label.startswith("of ") else set()
