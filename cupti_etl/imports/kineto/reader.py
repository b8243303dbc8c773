"""Traces of PyTorch's profiler (Kineto): Chrome JSON, one file a process.

Work on a GPU carries the device where other events carry their process, so a file is taken
for one process.  What PyTorch did on the host (operators, annotations, Python functions)
becomes ranges in ``marker``, with the event's category as their domain; the id by which
PyTorch names an operator is the range's payload, and ``external_correlation`` leads to it
from the API calls that the operator made.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.errors import ForeignError
from cupti_etl.imports.kineto import rows as kineto_rows
from cupti_etl.imports.kineto.arguments import ARGUMENTS
from cupti_etl.imports.kineto.bare import BareEvents
from cupti_etl.imports.kineto.call_threads import CallThreads
from cupti_etl.imports.kineto.devices import facts_of, facts_of_each, number_of
from cupti_etl.imports.kineto.events import EventReader
from cupti_etl.imports.kineto.merged import Share, Shares, pid_of, rank_of, told
from cupti_etl.imports.kineto.python_calls import PythonCalls
from cupti_etl.imports.kineto.rows import HANDLERS, Frame
from cupti_etl.imports.prefetch import prefetch
from cupti_etl.imports.source import ASKS, Process, Source, new_process_id, note, unrecorded
from cupti_etl.schema.loss import Loss

_EVENT = {"ph": "s ph", "cat": "s cat", "name": "s name", "pid": "s pid", "tid": "s tid"}
_TIME = {"start_ns": "t ts", "duration_ns": "t dur"}
# Derived from what we keep, or of no use without the profiler that wrote it.
_DROPPED = (
    "Ev Idx",
    "blocks per SM",
    "warps per SM",
    "est. achieved occupancy %",
    "memory bandwidth (GB/s)",
    "queued",
    "sort_index",
    "labels",
)
COLUMNS = {
    **_EVENT,
    **_TIME,
    **ARGUMENTS,
    **{name: f"- args.{name}" for name in _DROPPED},
    "arguments": "* args",
}
# What names beside the events begin with that only its versions have.
_ROCM = ("hip_", "roctracer_", "rocprofiler_")
# Times below this (1973) are not since the epoch, but since `baseTimeNanoseconds`.
_ABSOLUTE_NS = 10**17
# Kinds of events that say what others do.
_REDUNDANT = {
    **dict.fromkeys(
        ("arrows ac2g", "arrows async", "arrows async_gpu", "arrows async_cpu_to_gpu"),
        "from calls to their work on GPUs: correlation ids say the same",
    ),
    "arrows fwdbwd": "from operators to their backward pass: sequence numbers say the same",
    "M": "names and order of lanes on a screen: the numbers of processes and threads are kept",
    "gpu_user_annotation": "ranges of the host as a screen shows them above the work of the GPU",
}


class Kineto(Source):
    """One file."""

    kind = "kineto"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._reader = EventReader(path, COLUMNS)
        # The first process of the file is taken for that of the work on GPUs.
        self._gpu = Process(new_process_id())
        self._processes: dict[str, Process] = {}
        self._base_ns: int | None = None
        self._is_relative = False
        self._shares = Shares(self._gpu)
        self._ranks: dict[int, int | None] = {}
        self._asked, self._has_work = 0, False
        self._names: dict[str, str] = {}
        self._frame = Frame(
            self._gpu.process_id, lambda pid: self._of_pid(pid).process_id, self.skipped
        )
        self._python_calls = PythonCalls(self.skipped)
        self._call_threads = CallThreads()
        self._bare = BareEvents()
        self._known = 0

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows, in the order of the file."""
        for events in prefetch(self._reader.batches()):
            for gpu, table, batch in self._rows(events):
                if not batch.num_rows:
                    continue
                if gpu:
                    gpu.note(table, batch)
                else:
                    note({p.process_id: p for p in self._processes.values()}, table, batch)
                yield table, batch
        if not self._known:
            raise ForeignError(
                f"{self.path} holds no event of torch.profiler",
                "JSON of other tracers, such as torch.autograd.profiler up to PyTorch 1.8, is not"
                " read; torch.profiler's export_chrome_trace is",
            )
        others = self._reader.others
        self.skipped.invalid("elements of traceEvents", others, "they are no JSON objects")
        for where, number in self._reader.unfit.items():
            # Times have been counted by category.
            if where not in (time[2:] for time in _TIME.values()):
                self.skipped.invalid(where, number, "values that are no numbers, or too large")
        for name in self._reader.unread:
            self.skipped.invalid(f"member {name}", 1, "it is no JSON, or nested too deep")
        for label, share in self._shares.by_label.items():
            if label is None and self._is_merged and not share.gpu.stored:
                continue
            owner = self._settle(label, share)
            if len(share.callers) < 2 and share.hip_calls:
                self.hip_calls[owner.process_id] = share.hip_calls
            devices = self._device_rows(owner.process_id, share.devices)
            owner.stored += devices.num_rows
            yield "device", devices

    @property
    def _is_merged(self) -> bool:
        return len(self._shares.by_label) > 1

    def _of_pid(self, pid: str) -> Process:
        # What PyTorch does not know the process of has pid 0, which is no process.
        if pid == "0" and self._processes:
            return next(iter(self._processes.values()))
        if pid not in self._processes:
            # Python refuses to read a number that is too long.
            text = pid_of(pid)
            is_number = text.isdecimal() and len(text) <= 10
            number = int(text) if is_number and int(text) < 1 << 31 else None
            unknown = self._processes.pop("0", None)
            first = not self._processes
            made = unknown or Process(self._gpu.process_id if first else new_process_id())
            made.pid = number
            self._processes[pid] = made
        return self._processes[pid]

    def _settle(self, label: str | None, share: Share) -> Process:
        """Whose work the GPUs did: of the one process that called CUDA, if it is one."""
        callers = sorted(share.callers)
        if len(callers) == 1:
            owner = self._of_pid(callers[0])
        elif not callers and label is None and self._processes:
            owner = self._of_pid(next(iter(self._processes)))
        else:
            is_first = not self._processes
            owner = Process(share.gpu.process_id if is_first or label else new_process_id())
            self._processes[f"[{label}]" if label else ""] = owner
        if len(callers) > 1:
            owner.facts["detail"] = (
                f"work on GPUs for the processes {', '.join(callers)}; the file does not say"
                " which did what, so it joins with no call"
            )
        if self._is_merged:
            self._ranks |= {id(each): rank_of(label) for each in map(self._of_pid, callers)}
            self._ranks[id(owner)] = rank_of(label)
        if owner.process_id != share.gpu.process_id:
            self.moved[share.gpu.process_id] = owner.process_id
        if owner is not share.gpu:
            owner.absorb(share.gpu)
        return owner

    def _rows(self, events: pa.RecordBatch) -> Iterator[tuple[Process | None, str, pa.RecordBatch]]:
        """The rows that a batch of events becomes, category by category.

        With the process of those that are work on GPUs, or of the file.
        """
        keys = self._kinds(events)
        counts = pc.value_counts(keys.indices).to_pylist()
        kinds = keys.dictionary.to_pylist()
        # In the file's order of first appearance, so that the result does not vary.
        for found in sorted(counts, key=lambda count: count["values"]):
            kind, number = kinds[found["values"]], found["counts"]
            handler = HANDLERS.get(kind)
            if handler is None:
                self._skip(kind, number)
                continue
            some = events.filter(pc.equal(keys.indices, found["values"]))
            if kind == "M":
                self._skip(kind, number - self._note_names(some))
                continue
            # Other tracers have such as these, too.
            self._known += number if kind not in kineto_rows.OF_FILE else 0
            some = self._timed(kind, self._numbered(kind, some))
            if some.num_rows:
                if kind == "python_function":
                    some = self._python_calls.ended(some)
                elif kind in kineto_rows.OPERATORS:
                    self._call_threads.note(some, kineto_rows.external_id(some))
                elif kind in kineto_rows.CALLS:
                    some = self._call_threads.told(some, kineto_rows.operator_of(some))
                is_of_file = kind in kineto_rows.OF_FILE
                is_gpu = kind in kineto_rows.ON_GPU or is_of_file
                for gpu, share, mine in self._shares.owned(
                    some, is_gpu or kind in kineto_rows.CALLS, self._of_pid if is_of_file else None
                ):
                    self._note_place(kind, mine, share)
                    self._frame.gpu_id, self._frame.hip_calls = gpu.process_id, share.hip_calls
                    for table, batch in handler(mine, self._frame):
                        yield gpu if is_gpu else None, table, batch

    @staticmethod
    def _kinds(events: pa.RecordBatch) -> pa.DictionaryArray:
        """What each event is: its category if it has a length, else its phase."""
        phase, category = events["ph"], events["cat"]
        is_range = pc.equal(phase, "X")
        plain = pc.if_else(is_range, category.cast(pa.string()), phase.cast(pa.string()))
        # Instants of the memory profiler have a category of their own, but in files of 2021.
        instant = pc.fill_null(pc.equal(category, "cpu_instant_event"), False)
        bare = pc.and_(pc.equal(events["name"], "[memory]"), pc.is_null(category))
        instant = pc.or_(instant, pc.fill_null(pc.and_(bare, pc.equal(phase, "i")), False))
        plain = pc.if_else(instant, "cpu_instant_event", plain)
        is_arrow = pc.is_in(phase.cast(pa.string()), pa.array(["s", "t", "f"]))
        is_arrow = pc.or_(is_arrow, pc.fill_null(pc.equal(category, "fwdbwd"), False))
        whose = pc.fill_null(category.cast(pa.string()), "")
        plain = pc.if_else(is_arrow, pc.binary_join_element_wise("arrows", whose, " "), plain)
        return pc.fill_null(plain, "").dictionary_encode()

    def _skip(self, kind: str, number: int) -> None:
        # Events without a length have their phase for a category.
        what = kind if len(kind) > 1 else f"events of phase {kind}" if kind else "events of no kind"
        if kind in _REDUNDANT:
            self.skipped.redundant(what, number, _REDUNDANT[kind])
        else:
            self.skipped.unsupported(what, number, "no table has a place for such events")

    def _timed(self, kind: str, events: pa.RecordBatch) -> pa.RecordBatch:
        """The events with times since the epoch; those without a time are not kept."""
        if self._base_ns is None:
            # Not the latest, which one broken event would make.
            (middle,) = pc.quantile(events["start_ns"], interpolation="lower").to_pylist()
            self._base_ns = None if middle is None else self._find_base(middle)
        if self._base_ns:
            at = events.schema.get_field_index("start_ns")
            # Too large a sum is below zero.
            times = pc.add(events["start_ns"], self._base_ns)
            times = pc.if_else(pc.less(times, events["start_ns"]), None, times)
            events = events.set_column(at, "start_ns", times)
        untimed = events["start_ns"].null_count
        if untimed:
            self.skipped.invalid(f"{kind}.ts", untimed, "it is no time")
            events = events.filter(pc.is_valid(events["start_ns"]))
        if kind not in kineto_rows.INSTANTS:
            endless = kineto_rows.ends(events).null_count
            left = "are kept as marks" if kind in kineto_rows.RANGES else "have no end"
            self.skipped.invalid(f"{kind}.dur", endless, f"it is no length: these {left}")
        return events

    @cached_property
    def _whole_members(self) -> dict[str, Any]:
        """What stands beside the events, and behind them: for that, the file is read twice."""
        ahead = EventReader(self.path, {"ph": "s ph"})
        for _ in ahead.batches():
            pass
        return ahead.members

    def _find_base(self, middle: int) -> int:
        """What to add to times."""
        if middle >= _ABSOLUTE_NS:
            return 0
        members = self._reader.members
        if "baseTimeNanoseconds" not in members:
            members = self._whole_members
        base = members.get("baseTimeNanoseconds", 0)
        if type(base) is not int or not 0 <= base < 1 << 62:
            raise ForeignError(
                f"{self.path}: baseTimeNanoseconds is {base!r}, which is no time",
                "export it again: without it, its times mean nothing",
            )
        self._is_relative = middle + base < _ABSOLUTE_NS
        return base

    def _note_names(self, events: pa.RecordBatch) -> int:
        """Metadata events: the process's name; returns how many gave one."""
        rows = events.select(["name", "pid", "label"]).to_pylist()
        named = [row for row in rows if row["name"] == "process_name" and row["label"]]
        for event in named:
            self._names[event["pid"]] = event["label"]
        return len(named)

    def _note_place(self, kind: str, events: pa.RecordBatch, share: Share) -> None:
        if kind in kineto_rows.ON_GPU:
            self._has_work = True
            share.devices.update(
                d for d in pc.unique(events["device"]).to_pylist() if number_of(d) is not None
            )
        elif kind in kineto_rows.CALLS:
            share.callers.update(pid or "" for pid in pc.unique(events["pid"]).to_pylist())
            if not self._has_work:
                asked = pc.match_substring_regex(events["name"].cast(pa.string()), ASKS)
                self._asked += pc.sum(asked).as_py() or 0

    @cached_property
    def _only_device(self) -> int | None:
        """The one device that a process on ROCm sees, which numbers work on it otherwise.

        It counts the processors of the host, too, and those GPUs that the process does not see.
        """
        head = self._reader.head or {}
        # All that describes the process stands together: before the events, or behind them.
        members = head if "deviceProperties" in head else self._whole_members
        properties = members.get("deviceProperties")
        is_rocm = any(name.startswith(_ROCM) for name in members)
        if not isinstance(properties, list) or not is_rocm:
            return None
        numbers = [number_of(each.get("id")) for each in properties if isinstance(each, dict)]
        return numbers[0] if len(numbers) == 1 else None

    def _numbered(self, kind: str, events: pa.RecordBatch) -> pa.RecordBatch:
        """Calls and work with ids, and work with the number that all else gives the device."""
        if kind in kineto_rows.CALLS:
            return self._bare.completed(events, is_work=False)
        if kind not in kineto_rows.ON_GPU:
            return events
        events = self._bare.completed(kineto_rows.located(events), is_work=True)
        if self._only_device is None:
            return events
        at = events.schema.get_field_index("device")
        only = pc.if_else(pc.is_valid(events["device"]), self._only_device, None)
        return events.set_column(at, "device", only.cast(pa.int64()))

    def _device_rows(self, process_id: int, worked: set[int]) -> pa.RecordBatch:
        from cupti_etl.schema.arrow import batch_schema

        members = self._reader.members
        properties = members.get("deviceProperties")
        # Which of several of ROCm is meant is not known, but what all of them are.
        is_rocm = any(name.startswith(_ROCM) for name in members)
        facts_of_all = facts_of_each(properties) if is_rocm else {}
        rows: dict[int, dict[str, Any]] = {
            device: {"device_id": device, **facts_of_all} for device in sorted(worked)
        }
        # Each rank sees the GPUs of all ranks of its host, and works on its own, or on none.
        is_of_rank = self._is_merged or number_of(self._world.get("rank")) is not None
        is_of_rank &= bool(worked) or (number_of(self._world.get("world_size")) or 1) > 1
        idle = 0
        for device in properties if isinstance(properties, list) else []:
            number = number_of(device.get("id")) if isinstance(device, dict) else None
            if number is not None and is_of_rank and number not in worked:
                idle += 1
            elif number is not None:
                rows[number] = {"device_id": number, **facts_of(device)}
        self.skipped.redundant("deviceProperties", idle, "of GPUs on which the rank did no work")
        schema = batch_schema("device")
        facts = [{"process_id": process_id, **row} for row in rows.values()]
        return pa.RecordBatch.from_pylist(facts, schema)

    @property
    def _world(self) -> dict[str, Any]:
        world = self._reader.members.get("distributedInfo")
        return world if isinstance(world, dict) else {}

    def process_rows(self) -> list[dict[str, Any]]:
        """The process of the file."""
        world = self._world
        host = self._reader.members.get("host_name")
        rank, ranks = self._at_least(0, world, "rank"), self._at_least(1, world, "world_size")
        for pid, process in self._processes.items():
            named, argv = told(self._names.get(pid))
            # What stands beside the events is of one of the files that were merged.
            known = self._ranks.get(id(process)) if self._is_merged else rank
            process.facts |= {
                "rank": named if known is None else known,
                "world_size": ranks,
                "host": host if isinstance(host, str) else None,
                "argv": argv,
            }
            if self._is_relative:
                process.facts["detail"] = "its times are not since the epoch"
        return [process.row() for process in self._processes.values()]

    def _at_least(self, least: int, world: dict[str, Any], name: str) -> int | None:
        """A number of ``distributedInfo``; None, and counted, if it is too small."""
        number = number_of(world.get(name))
        if number is None or number >= least:
            return number
        self.skipped.invalid(f"distributedInfo.{name}", 1, f"it is below {least}: NULL is stored")
        return None

    def losses(self) -> list[Loss]:
        """All work of GPUs, if none is there; a file says nothing of what its profiler lost."""
        return [] if self._has_work else unrecorded("torch.profiler", self._asked)
