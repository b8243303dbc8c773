"""Traces in Perfetto's format, read back by Perfetto's own definitions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as definitions

# Extensions that the package's definitions, of version 0.59, do not have.  Source:
# protos/perfetto/trace/gpu/gpu_interned_data.proto and gpu_track_event.proto of Perfetto.
_OPTIONAL, _REPEATED, _UINT64, _INT32, _MESSAGE = 1, 3, 4, 5, 11
_EXTENSIONS = (
    ("compute_kernels", "InternedData", 1000, _REPEATED, _MESSAGE, "InternedComputeKernel"),
    ("compute_arg_names", "InternedData", 1001, _REPEATED, _MESSAGE, "InternedComputeArgName"),
    ("gpu_correlation", "TrackEvent", 3000, _OPTIONAL, _MESSAGE, "GpuCorrelation"),
    ("gpu_api", "TrackEvent", 3001, _OPTIONAL, _INT32, ""),
)


@cache
def extensions() -> dict[str, Any]:
    """The extensions, by their names."""
    file = descriptor_pb2.FileDescriptorProto(
        name="gpu_extensions.proto", package="perfetto.protos", syntax="proto2"
    )
    file.dependency.append(definitions.DESCRIPTOR.name)
    correlation = file.message_type.add(name="GpuCorrelation")
    correlation.field.add(
        name="render_stage_submission_event_ids", number=1, label=_REPEATED, type=_UINT64
    )
    for name, extended, number, label, kind, of in _EXTENSIONS:
        field = file.extension.add(name=name, number=number, label=label, type=kind)
        field.extendee = f".perfetto.protos.{extended}"
        if of:
            field.type_name = f".perfetto.protos.{of}"
    pool = descriptor_pool.Default()
    pool.Add(file)
    message_factory.GetMessageClassesForFiles([file.name], pool)
    return {name: pool.FindExtensionByName(f"perfetto.protos.{name}") for name, *_ in _EXTENSIONS}


def read(path: Path | bytes) -> Any:
    """The packets of a file, which says nothing that the definitions do not know.

    Raises:
        AssertionError: a packet has an unknown field, or lacks what each has to have.
    """
    extensions()
    trace = definitions.Trace()
    trace.ParseFromString(path if isinstance(path, bytes) else path.read_bytes())
    assert not _unknown(trace)
    return trace.packet


def _unknown(message: Any) -> list[str]:
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = [f"{message.DESCRIPTOR.name}.{f.field_number}" for f in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if field.is_repeated else [value]:
                found += _unknown(inner)
    return found


class Replay:
    """What a viewer makes of packets: names instead of numbers, slices with their ends.

    Attributes:
        work: of GPUs, as dictionaries.
        slices: what threads did, with ``depth``; ``end_ns`` None for what did not end.
        instants: moments.
        counters: (track's name, time, value).
        tracks: descriptors by their number.
        flows: (name of the call, name of its work).
    """

    def __init__(self, packets: Any) -> None:
        self.interned: dict[tuple[str, int], Any] = {}
        self.tracks: dict[int, Any] = {}
        self.work: list[dict[str, Any]] = []
        self.instants: list[dict[str, Any]] = []
        self.slices: list[dict[str, Any]] = []
        self.counters: list[tuple[str, int, float]] = []
        timed = []
        for number, packet in enumerate(packets):
            assert packet.trusted_packet_sequence_id == 1
            assert packet.sequence_flags == (2 if number else 1)
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    assert self.interned.setdefault((field.name, entry.iid), entry) == entry
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                assert self.tracks.setdefault(track.uuid, track) == track
            timed.append((packet.timestamp, number, packet))
        # As Perfetto sorts: by time, and what came first first.
        open_slices: dict[int, list[dict[str, Any]]] = {}
        for _, _, packet in sorted(timed, key=lambda each: each[:2]):
            if packet.HasField("gpu_render_stage_event"):
                self._add_work(packet)
            elif packet.HasField("track_event"):
                self._add_event(packet, open_slices)

    def _entry(self, field: str, iid: int) -> Any:
        return self.interned[field, iid]

    def _add_work(self, packet: Any) -> None:
        event = packet.gpu_render_stage_event
        name = event.name or self._entry("event_names", event.name_iid).name
        launch = event.launch
        self.work.append(
            {
                "start_ns": packet.timestamp,
                "end_ns": packet.timestamp + event.duration if event.HasField("duration") else None,
                "name": name,
                "mangled": self._entry("compute_kernels", event.kernel_iid).name
                if event.kernel_iid
                else None,
                "stage": self._entry("gpu_specifications", event.stage_iid).name,
                "stream": self._entry("gpu_specifications", event.hw_queue_iid).name,
                "gpu": event.gpu_id,
                "pid": self._entry("graphics_contexts", event.context).pid,
                "grid": [getattr(launch.grid_size, axis) for axis in "xyz"],
                "block": [getattr(launch.workgroup_size, axis) for axis in "xyz"],
                "event": event.event_id,
                "arguments": {
                    self._entry("compute_arg_names", each.name_iid).name: each.int_value
                    for each in launch.args
                },
            }
        )

    def _add_event(self, packet: Any, open_slices: dict[int, list[dict[str, Any]]]) -> None:
        event = packet.track_event
        track = self.tracks[event.track_uuid]
        if event.type == event.TYPE_COUNTER:
            self.counters.append((track.name, packet.timestamp, event.double_counter_value))
            return
        inside = open_slices.setdefault(event.track_uuid, [])
        if event.type == event.TYPE_SLICE_END:
            inside.pop()["end_ns"] = packet.timestamp
            return
        name = event.name
        if event.name_iid:
            name = self._entry("event_names", event.name_iid).name
        correlation = event.Extensions[extensions()["gpu_correlation"]]
        made = {
            "start_ns": packet.timestamp,
            "end_ns": None,
            "name": name,
            "category": self._entry("event_categories", event.category_iids[0]).name
            if event.category_iids
            else None,
            "track": track,
            "depth": len(inside),
            "events": list(correlation.render_stage_submission_event_ids),
            "arguments": {
                self._entry("debug_annotation_names", each.name_iid).name: each.legacy_json_value
                or each.int_value
                for each in event.debug_annotations
            },
        }
        if event.type == event.TYPE_INSTANT:
            self.instants.append(made)
        else:
            assert event.type == event.TYPE_SLICE_BEGIN
            self.slices.append(made)
            inside.append(made)

    @property
    def flows(self) -> list[tuple[Any, Any]]:
        """Each call with each piece of its work."""
        by_event: dict[int, list[dict[str, Any]]] = {}
        for each in self.work:
            by_event.setdefault(each["event"], []).append(each)
        return [
            (call, done)
            for call in self.slices
            for e in call["events"]
            for done in by_event.get(e, [])
        ]
