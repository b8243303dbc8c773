"""A trace in Perfetto's format: packets of Protocol Buffers, for ui.perfetto.dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cupti_etl.render.files import in_order
from cupti_etl.render.output import open_output
from cupti_etl.render.perfetto import packets
from cupti_etl.render.perfetto.names import Numbers
from cupti_etl.render.perfetto.protobuf import Encoder, Part, encoded
from cupti_etl.render.perfetto.slices import Crossings
from cupti_etl.storage.place import refuse_existing, spilling

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.api import Trace

# Names behind so many are written where they are used: they may be as many as events.
MOST_NAMES = 1 << 16
_ORDER = "start_ns, end_ns DESC NULLS FIRST, layer, track, name, category, launch_id, arguments"
# The clocks of the host as they were once, where all is of one; else when the trace began.
_CLOCKS = """
    SELECT coalesce(min(realtime_ns), (SELECT min(start_ns) FROM capture),
                    (SELECT min(start_ns) FROM gpu_activity WHERE start_ns >= 0), 0) AS realtime_ns,
           min(monotonic_ns) AS monotonic_ns, min(boottime_ns) AS boottime_ns
    FROM (FROM clock WHERE realtime_ns >= 0 ORDER BY ALL LIMIT 1)
    WHERE (SELECT count(DISTINCT host) FROM process) <= 1
"""
_GPUS = """
    SELECT 'GPU ' || numbers.gpu || coalesce(': ' || min(device_name), '') AS name
    FROM (SELECT unnest(range(coalesce(max(gpu) + 1, 0))) AS gpu FROM gpu) AS numbers
    LEFT JOIN gpu ON gpu.gpu = numbers.gpu
    GROUP BY numbers.gpu
    ORDER BY numbers.gpu
"""
_KERNELS = """
    SELECT mangled, min(demangled) AS demangled, coalesce(min(shown), min(short)) AS shown
    FROM (SELECT mangled, demangled, short, NULL AS shown FROM kernel_name
          UNION ALL SELECT mangled, NULL, NULL, shown FROM kernel_rule)
    GROUP BY mangled
    ORDER BY mangled
"""
# As the program named them, by NVTX.
_THREADS = """
    SELECT place, thread_id, min(name.name) AS name
    FROM name
    JOIN _export_process USING (process_id)
    WHERE object_kind = 'thread' AND thread_id IS NOT NULL
    GROUP BY place, thread_id
"""
_COUNTERS = """
    SELECT counter_key, min(gpu) AS gpu, min(process_place) AS process_place,
           min(counter) AS name, min(unit) AS unit
    FROM _perfetto_counter
    GROUP BY counter_key
    ORDER BY gpu, process_place, name
"""
_KERNEL_NUMBERS = 1 << 20
_CORRELATION_BITS = 44
# Of a track: its process from here on, and what it is of; below, a thread.
_PROCESS_BIT, _CONTENT_BIT = 40, 32
_THREAD_BITS = (1 << _CONTENT_BIT) - 1
_OF_THREAD = 1
# As what is of no process has none; Linux gives lower ones.
_NO_PID = 1 << 22
_UNKNOWN = {"track": 1 << _PROCESS_BIT, "pid": _NO_PID, "name": "unknown process"}
_CONTENTS = {2: "ranges of no thread", 3: "waits", 4: "not recorded"}


def export_perfetto(trace: Trace, out: Path | None, *, overwrite: bool = False) -> None:
    """Write all events to a new file, or to standard output.

    Args:
        trace: what is written.
        out: the file; None for standard output.
        overwrite: whether a file of that name is replaced.

    Raises:
        UsageError: the file exists already.
        NativeError: this installation has no native part.
        TraceError: a part of the trace cannot be read, or the disk is full.
    """
    if out is not None:
        refuse_existing(out, overwrite=overwrite)
    with open_output(out) as file, spilling(out) as spill:
        writer = _Writer(trace, file)
        writer.head()
        writer.work()
        writer.slices(spill)
        writer.counters()


class _Writer:
    """Writes the packets of one trace."""

    def __init__(self, trace: Trace, file: BinaryIO) -> None:
        self._trace, self._file = trace, file
        self._encoders: dict[Sequence[Part], Encoder] = {}
        self._names = Numbers(partial(self._intern, packets.EVENT_NAMES), most=MOST_NAMES)
        self._categories = Numbers(partial(self._intern, packets.CATEGORIES), most=MOST_NAMES)
        self._kernels = Numbers(self._kernel, _KERNEL_NUMBERS, MOST_NAMES)
        self._tracks = Numbers(self._track)
        self._kernel_names = trace.sql(_KERNELS).arrow()
        self._pids = {row["place"]: row["pid"] for row in trace.sql("FROM _export_process")}

        self._threads = {
            (row["place"], row["thread_id"] & _THREAD_BITS): row["name"]
            for row in trace.sql(_THREADS)
        }

    def head(self) -> None:
        """What others refer to, or what is true of the whole trace."""
        import pyarrow as pa

        self._write(packets.CLOCKS, self._trace.sql(_CLOCKS).arrow())
        one = pa.table({"one": [1]})
        gpus = self._trace.sql(_GPUS).arrow()
        if len(gpus):
            self._write(packets.gpu_info(encoded(packets.GPU, gpus)), one)
        self._write(packets.NAMES, one)
        rows = self._trace.sql("FROM _export_process").arrow()
        self._write(packets.PROCESS, rows.append_column("track", _track_of(rows["place"])))

    def work(self) -> None:
        """Work of GPUs, in the order in which the trace holds it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        streams = self._trace.sql("FROM _perfetto_stream").arrow()
        first = packets.FIRST_STREAM - 1
        streams = streams.append_column("queue", pc.add(streams["place"], first))
        self._write(
            packets.STREAMS, streams.select(["queue", "name"]).rename_columns(["iid", "name"])
        )
        contexts = streams.group_by(["context_place", "pid"], use_threads=False).aggregate([])
        self._write(packets.CONTEXTS, contexts.rename_columns({"context_place": "iid"}))
        keys = streams["stream_key"].combine_chunks()
        for batch in self._trace.sql("FROM _perfetto_work").reader():
            stream = pc.index_in(batch["stream_key"], value_set=keys)
            found = streams.take(stream)
            kernel = self._kernels.of(batch["mangled"])
            number = pc.coalesce(kernel, self._names.of(batch["label"]))
            columns = {name: batch[name] for name in batch.schema.names}
            columns |= {
                "event": pc.coalesce(
                    _event(found["process_place"], batch["correlation_id"]), pa.scalar(0)
                ),
                "context": found["context_place"],
                "name_iid": number,
                "name": _unnumbered(number, pc.coalesce(batch["mangled"], batch["label"])),
                "kernel_iid": kernel,
                "device": found["device_id"],
                "stream": found["stream_id"],
                "correlation": batch["correlation_id"],
            }
            columns |= {name: found[name] for name in ("gpu", "queue")}
            self._write(packets.WORK, pa.table(columns))

    def slices(self, spill: Path) -> None:
        """What threads did, and what is known of processes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        crossings = Crossings()
        with in_order(self._trace, "_perfetto_slice", _ORDER, spill) as rows:
            for batch in rows:
                self._tracks.of(batch["track"])
                own = crossings.of(batch["track"], batch["start_ns"], batch["end_ns"])
                own = pc.add(own, packets.CROSSING)
                name = self._names.of(batch["name"])
                category = self._categories.of(batch["category"])
                no_number = pa.scalar(None, pa.int64())
                columns = {each: batch[each] for each in ("start_ns", "arguments", "launch_id")}
                columns |= {
                    "own_track": own,
                    "parent": batch["track"],
                    "track": pc.coalesce(own, batch["track"]),
                    "type": pc.if_else(batch["is_instant"], packets.INSTANT, packets.SLICE_BEGIN),
                    "closed_ns": pc.if_else(batch["is_instant"], no_number, batch["end_ns"]),
                    "name_iid": name,
                    "name": _unnumbered(name, batch["name"]),
                    "category_iid": category,
                    "category": _unnumbered(category, batch["category"]),
                    "event": _event(batch["process_place"], batch["launch_id"]),
                    "api": pc.if_else(batch["is_call"], packets.CUDA_API, no_number),
                }
                self._write(packets.SLICE, pa.table(columns))

    def counters(self) -> None:
        """Metrics, clocks and memory over time."""
        import pyarrow as pa
        import pyarrow.compute as pc

        counters = self._trace.sql(_COUNTERS).arrow()
        if not len(counters):
            return
        of_gpus = pc.add(counters["gpu"], packets.GPU_TRACKS)
        for gpu in pc.unique(counters["gpu"]).to_pylist():
            if gpu >= 0:
                row = {"track": packets.GPU_TRACKS + gpu, "parent": None, "name": f"GPU {gpu}"}
                self._write(packets.TRACK, pa.table(_one(row)))
        if 0 in counters["process_place"].to_pylist():
            self._write(packets.PROCESS, pa.table(_one(_UNKNOWN)))
        tracks = pa.array(range(packets.COUNTERS, packets.COUNTERS + len(counters)), pa.int64())
        parents = pc.if_else(
            pc.less(counters["gpu"], 0), _track_of(counters["process_place"]), of_gpus
        )
        described = counters.append_column("track", tracks).append_column("parent", parents)
        self._write(packets.COUNTER_TRACK, described)
        keys = counters["counter_key"].combine_chunks()
        for batch in self._trace.sql("FROM _perfetto_counter").reader():
            track = tracks.take(pc.index_in(batch["counter_key"], value_set=keys))
            columns = {each: batch[each] for each in ("timestamp_ns", "value")}
            self._write(packets.COUNTER, pa.table({**columns, "track": track}))

    def _write(self, parts: Sequence[Part], rows: pa.Table) -> None:
        encoder = self._encoders.get(parts)
        if encoder is None:
            encoder = self._encoders[parts] = Encoder(*parts)
        for piece in encoder.encode(rows):
            self._file.write(piece)

    def _intern(self, parts: Sequence[Part], iids: pa.Array, names: pa.Array) -> None:
        import pyarrow as pa

        self._write(parts, pa.table({"iid": iids, "name": names}))

    def _kernel(self, iids: pa.Array, names: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        known = self._kernel_names
        found = known.take(pc.index_in(names, value_set=known["mangled"].combine_chunks()))
        rows = {"iid": iids, "name": names, "demangled": found["demangled"]}
        rows["shown"] = pc.coalesce(found["shown"], names)
        self._write(packets.KERNELS, pa.table(rows))

    def _track(self, _numbers: pa.Array, tracks: pa.Array) -> None:
        """Tracks of threads and processes that come for the first time: they are few."""
        import pyarrow as pa

        for track in tracks.to_pylist():
            place, content = (track >> _PROCESS_BIT) - 1, track >> _CONTENT_BIT & 0xFF
            parent = place + 1 << _PROCESS_BIT
            if not place:
                self._write(packets.PROCESS, pa.table(_one(_UNKNOWN)))
            if content == _OF_THREAD:
                pid = self._pids.get(place, _NO_PID)
                thread = track & _THREAD_BITS
                row = {"track": track, "pid": pid, "thread_id": thread}
                row["name"] = self._threads.get((place, thread))
                self._write(packets.THREAD, pa.table(_one(row)))
            else:
                row = {"track": track, "parent": parent, "name": _CONTENTS[content]}
                self._write(packets.TRACK, pa.table(_one(row)))


def _one(row: Mapping[str, object]) -> dict[str, list[object]]:
    return {name: [value] for name, value in row.items()}


def _unnumbered(numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """The texts that have no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(numbers.is_null(), texts, pa.scalar(None, pa.string()))


def _track_of(process_place: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.shift_left(pc.add(process_place, 1), _PROCESS_BIT)


def _event(process_place: pa.Array, correlation_id: pa.Array) -> pa.Array:
    """What a call and its work have in common; NULL where the id is not known."""
    import pyarrow.compute as pc

    low = pc.bit_wise_and(correlation_id, (1 << _CORRELATION_BITS) - 1)
    return pc.bit_wise_or(pc.shift_left(pc.add(process_place, 1), _CORRELATION_BITS), low)
