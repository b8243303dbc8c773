"""A trace in Perfetto's format: what its own definitions read there is what the tables hold."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf import text_format
from support.command import etl, etl_bytes
from support.perfetto import Replay, definitions, extensions, read
from support.trace import write_trace

import cupti_etl
from cupti_etl.render.perfetto import trace as writer
from cupti_etl.schema.arrow import arrow_schema

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
PROCESS = "process_id pid argv\n 1 4242 train"


def exported(trace: Path, *options: str | Path) -> bytes:
    out = trace.with_name(f"{trace.name}.pftrace")
    done = etl("export", trace, "--to", "perfetto", out, "--overwrite", *options)
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


def replay(trace: Path, *options: str) -> Replay:
    return Replay(read(exported(trace, *options)))


def test_a_kernel_its_call_and_the_range_around_it(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        device="process_id device_id device_uuid name\n 1 0 GPU-a H200",
        capture="start_ns\n 900",
        marker="""
            process_id marker_id event timestamp_ns name   domain thread_id
            1          1         start 1000         "a b"  NCCL   7
            1          1         end   9500         -      -      7
        """,
        api_call="""
            process_id start_ns end_ns domain  name             cbid correlation_id thread_id
            1          2000     2501   runtime cudaLaunchKernel 211  5              7
        """,
        kernel="""
            process_id start_ns end_ns name device_id stream_id context_id correlation_id grid_x block_x registers_per_thread
            1          4000     8000   k    0         13        1          5              300    32      24
        """,  # noqa: E501
    )
    packets = read(exported(trace))
    for packet in packets:
        assert packet.trusted_packet_sequence_id == 1
        packet.ClearField("trusted_packet_sequence_id")
        packet.ClearField("sequence_flags")
    # All but the one that names stages and arguments, which is the same in every trace.
    made = [each for each in packets if len(each.interned_data.gpu_specifications) != 4]
    assert made == list(text_format.Parse(EXPECTED, definitions.Trace()).packet)


# The process is the first, which gives tracks 2 << 40, and events 2 << 44.
EXPECTED = """
    packet { clock_snapshot { clocks { clock_id: 1 timestamp: 900 }
                              primary_trace_clock: BUILTIN_CLOCK_REALTIME }
             trace_packet_defaults { timestamp_clock_id: 1 } first_packet_on_sequence: true }
    packet { gpu_info { gpus { name: "GPU 0: H200" vendor: "NVIDIA" } } }
    packet { track_descriptor { uuid: 2199023255552
                                process { pid: 4242 process_name: "train" } } }
    packet { interned_data { gpu_specifications { iid: 16 name: "stream 13" } } }
    packet { interned_data { graphics_contexts { iid: 1 pid: 4242 api: CUDA } } }
    packet { interned_data { event_names { iid: 1048576 name: "k" }
                             [perfetto.protos.compute_kernels] { iid: 1048576 name: "k" } } }
    packet { timestamp: 4000
             gpu_render_stage_event {
               event_id: 35184372088837 duration: 4000 context: 1 gpu_id: 0
               hw_queue_iid: 16 stage_iid: 1 kernel_iid: 1048576 name_iid: 1048576
               launch { grid_size { x: 300 } workgroup_size { x: 32 }
                        args { name_iid: 1 int_value: 0 } args { name_iid: 2 int_value: 13 }
                        args { name_iid: 3 int_value: 24 } args { name_iid: 9 int_value: 5 } } } }
    packet { track_descriptor { uuid: 2203318222855 thread { pid: 4242 tid: 7 } } }
    packet { interned_data { event_names { iid: 1 name: "a b" } } }
    packet { interned_data { event_names { iid: 2 name: "cudaLaunchKernel" } } }
    packet { interned_data { event_categories { iid: 1 name: "NCCL" } } }
    packet { interned_data { event_categories { iid: 2 name: "cuda_runtime" } } }
    packet { timestamp: 1000
             track_event { type: TYPE_SLICE_BEGIN track_uuid: 2203318222855
                           category_iids: 1 name_iid: 1 } }
    packet { timestamp: 9500
             track_event { type: TYPE_SLICE_END track_uuid: 2203318222855 } }
    packet { timestamp: 2000
             track_event { type: TYPE_SLICE_BEGIN track_uuid: 2203318222855
                           category_iids: 2 name_iid: 2
                           debug_annotations { name_iid: 2 int_value: 5 }
                           [perfetto.protos.gpu_correlation] {
                             render_stage_submission_event_ids: 35184372088837 }
                           [perfetto.protos.gpu_api]: 4 } }
    packet { timestamp: 2501
             track_event { type: TYPE_SLICE_END track_uuid: 2203318222855 } }
"""


def test_two_processes_share_a_pid(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process="process_id host pid rank\n 1 one 10 1\n 2 two 10 0",
        device="process_id device_id device_uuid\n 1 0 GPU-a\n 2 0 GPU-b",
        kernel="process_id device_id start_ns end_ns name\n 1 0 1 2 a\n 2 0 1 2 b\n 3 0 1 2 c",
        api_call="process_id thread_id start_ns end_ns name\n 1 5 0 9 x\n 2 5 0 9 y\n 3 5 0 9 z",
    )
    found = replay(trace)
    names = {t.process.pid: t.process.process_name for t in found.tracks.values() if t.process.pid}
    assert names == {
        4194305: "rank 0: process 10 on two",
        4194306: "rank 1: process 10 on one",
        4194304: "unknown process",
    }
    pids = {each["name"]: (each["pid"], each["gpu"]) for each in found.work}
    assert pids == {"a": (4194306, 0), "b": (4194305, 1), "c": (0, 2)}
    calls = {each["name"]: each["track"].thread for each in found.slices}
    assert {name: (each.pid, each.tid) for name, each in calls.items()} == {
        "x": (4194306, 5), "y": (4194305, 5), "z": (4194304, 5),
    }  # fmt: skip


def test_threads_have_their_names(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        name="process_id object_kind name   pid  thread_id\n 1 thread loader 4242 -7",
        api_call="process_id thread_id start_ns end_ns name\n 1 -7 0 9 a\n 1 8 0 9 b",
    )
    named = {each["name"]: each["track"].thread.thread_name for each in replay(trace).slices}
    assert named == {"a": "loader", "b": ""}


def test_a_range_is_no_call_whatever_its_domain(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        marker="""
            process_id marker_id event timestamp_ns name domain       thread_id
            1          1         start 10           a    cuda_runtime 7
            1          1         end   20           -    -            7
        """,
    )
    events = [each.track_event for each in read(exported(trace)) if each.timestamp == 10]
    assert [each.Extensions[extensions()["gpu_api"]] for each in events] == [0]


def test_what_crosses_has_a_track_of_its_own(tmp_path: Path) -> None:
    """A viewer ends what began last: here that would be another range, or none."""
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        marker="""
            process_id marker_id event timestamp_ns name    thread_id
            1          1         start 0            outer   7
            1          2         start 10           crosses 7
            1          1         end   20           -       7
            1          2         end   30           -       7
            1          3         start 30           next    7
            1          4         start 30           inside  7
            1          5         start 35           open    7
            1          4         end   40           -       7
            1          3         end   40           -       7
            1          6         start 40           moment  7
            1          6         end   40           -       7
            1          7         start 40           after   7
            1          7         end   50           -       7
        """,
    )
    found = {each["name"]: each for each in replay(trace).slices}
    assert {
        name: (each["start_ns"], each["end_ns"], each["depth"], each["track"].name)
        for name, each in found.items()
    } == {
        "outer": (0, 20, 0, ""),
        "crosses": (10, 30, 0, "overlapping"),
        "next": (30, 40, 0, ""),
        "inside": (30, 40, 1, ""),
        "open": (35, None, 0, "overlapping"),
        "after": (40, 50, 0, ""),
        "moment": (40, 40, 1, ""),
    }
    assert found["crosses"]["track"].parent_uuid == found["outer"]["track"].uuid


def test_what_has_no_time_or_no_end(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        kernel="process_id start_ns end_ns name\n 1 10 - k\n 1 - - never\n 1 - 5 ended",
        api_call="process_id thread_id start_ns end_ns name\n 1 7 5 - c\n 1 7 - 9 d\n 1 - 6 7 e",
        memset="process_id start_ns end_ns bytes memory_kind\n 1 10 20 - -",
    )
    found = replay(trace)
    assert [(each["name"], each["start_ns"], each["end_ns"]) for each in found.work] == [
        ("k", 10, None),
        ("Memset", 10, 20),
    ]
    assert [(e["name"], e["start_ns"], e["end_ns"]) for e in found.slices] == [
        ("c", 5, None),
        ("e", 6, 7),
    ]


def test_an_empty_trace_is_well_formed(tmp_path: Path) -> None:
    found = replay(write_trace(tmp_path / "run"))
    assert (found.work, found.slices, found.counters, found.tracks) == ([], [], [], {})


def rows_of(table: str, rows: list[dict[str, Any]], trace: Path) -> None:
    content = pa.Table.from_pylist(rows, arrow_schema(table))
    pq.write_table(content, trace / table / "part-000009.parquet")


def test_names_of_any_kind_stay_as_they_are(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "run", process=PROCESS)
    hostile = ["", '</script>"\\', "\u202eü\n\t", "\x01", "x" * 70000, "\x00", "😀"]
    times = [{"process_id": 1, "start_ns": 9 * at, "end_ns": 9 * at + 1, "name": name}
             for at, name in enumerate(hostile)]  # fmt: skip
    rows_of("kernel", times, trace)
    rows_of("api_call", [{**each, "thread_id": -7} for each in times], trace)
    found = replay(trace)
    assert [each["mangled"] for each in found.work] == hostile
    assert [each["name"] for each in found.slices] == hostile
    assert {each["track"].thread.tid for each in found.slices} == {(1 << 32) - 7}


def test_more_names_than_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_trace(tmp_path / "run", process=PROCESS)
    names = [f"range {at % 40}" for at in range(100)]
    times = [{"process_id": 1, "thread_id": 7, "start_ns": 9 * at, "end_ns": 9 * at + 1,
              "name": name} for at, name in enumerate(names)]  # fmt: skip
    rows_of("api_call", times, trace)
    rows_of("kernel", [{k: v for k, v in e.items() if k != "thread_id"} for e in times], trace)
    monkeypatch.setattr(writer, "MOST_NAMES", 10)
    with cupti_etl.open(trace) as opened:
        writer.export_perfetto(opened, tmp_path / "out.pftrace")
    packets = read(tmp_path / "out.pftrace")
    assert sum(len(each.interned_data.event_names) for each in packets) == 20
    found = Replay(packets)
    assert [each["name"] for each in found.slices] == names
    assert [each["name"] for each in found.work] == names


def test_losses_windows_and_counters(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process="process_id pid start_ns end_ns\n 1 10 0 1000",
        device="process_id device_id device_uuid\n 1 0 GPU-a",
        loss="""
            process_id cause     table_name records start_ns end_ns detail
            1          ring_full kernel     5       100      200    "was full"
        """,
        capture_window="""
            process_id start_ns end_ns opened_by closed_by
            1          0        400    process   range
            1          600      1000   range     process
        """,
        pm_sample="device_uuid start_ns end_ns sm_active_pct\n GPU-a 0 10 50\n GPU-a 10 20 75.5",
        pm_metric="metric unit\n sm_active_pct %",
        environment="process_id device_id timestamp_ns sm_clock_mhz\n 1 0 5 1980",
        memory="""
            process_id timestamp_ns operation  address bytes memory_kind device_id
            1          7            allocation 64      4096  device      0
            2          9            allocation 64      8     pinned      -
        """,
    )
    found = replay(trace)
    gaps = [(e["name"], e["start_ns"], e["end_ns"], e["track"].name) for e in found.slices]
    assert gaps == [
        ("ring_full: kernel", 100, 200, "not recorded"),
        ("recording off", 400, 600, "not recorded"),
    ]
    assert found.slices[0]["arguments"] == {"args": '{"records":5,"detail":"was full"}'}
    assert sorted(found.counters) == [
        ("SM clock", 5, 1980.0),
        ("memory in use on device 0: device", 7, 4096.0),
        ("memory in use: pinned", 9, 8.0),
        ("sm_active_pct", 0, 50.0),
        ("sm_active_pct", 10, 75.5),
    ]
    counters = {t.name: t for t in found.tracks.values() if t.HasField("counter")}
    parents = {name: found.tracks[each.parent_uuid] for name, each in counters.items()}
    assert (counters["SM clock"].counter.unit_name, parents["SM clock"].name) == ("MHz", "GPU 0")
    assert parents["memory in use on device 0: device"].process.pid == 10
    assert parents["memory in use: pinned"].process.process_name == "unknown process"


def test_a_scope(tmp_path: Path) -> None:
    kernel = "process_id start_ns end_ns name\n 1 0 10 a\n 1 20 30 b\n 1 40 50 c"
    trace = write_trace(tmp_path / "run", process=PROCESS, kernel=kernel)
    assert [each["name"] for each in replay(trace, "--from", "15ns").work] == ["b", "c"]


@pytest.mark.parametrize(
    "file",
    [
        "kineto_h100_with_stack.json.gz",
        "kineto_rank1.json.gz",
        "kineto_fwdbwd.json.gz",
        "nsys_h100.sqlite.gz",
        "h200.etlrec",
    ],
)
def test_all_that_recorded_traces_hold(tmp_path: Path, file: str) -> None:
    source = DATA / file
    if file == "h200.etlrec":
        source = Path(cupti_etl.__file__).parent / "demo" / file
    elif file.startswith("nsys"):
        source = tmp_path / "report.sqlite"
        source.write_bytes(gzip.decompress((DATA / file).read_bytes()))
    assert etl("import", source, "-o", tmp_path / "run").returncode == 0
    found = replay(tmp_path / "run")
    with cupti_etl.open(tmp_path / "run") as trace:

        def rows(sql: str) -> list[tuple[Any, ...]]:
            return sorted((tuple(row.values()) for row in trace.sql(sql)), key=repr)

        def made(things: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
            return sorted((tuple(each[name] for name in names) for each in things), key=repr)

        kernels = [each for each in found.work if each["stage"] == "kernel"]
        assert kernels
        assert made(kernels, "mangled", "start_ns", "end_ns", "grid", "block") == rows(
            "SELECT name, start_ns, end_ns, [grid_x, grid_y, grid_z] AS grid,"
            " [block_x, block_y, block_z] AS block FROM kernel"
        )
        assert made(found.work, "start_ns", "end_ns") == rows(
            "SELECT start_ns, end_ns FROM gpu_activity"
        )
        calls = [e for e in found.slices if str(e["category"]).startswith("cuda_")]
        calls = [each for each in calls if each["category"] != "cuda_sync"]
        assert made(calls, "name", "start_ns", "end_ns") == rows(
            "SELECT name, start_ns, end_ns FROM api_call"
        )
        ranges = [
            e for e in found.slices if e not in calls and e["category"] not in ("cuda_sync", "loss")
        ]
        assert made(ranges, "name", "category", "start_ns", "end_ns") == rows(
            "SELECT name, domain, start_ns, end_ns FROM nvtx_range"
        )
        flows = [
            {"call": call["name"], "at": call["start_ns"], "work": work["start_ns"]}
            for call, work in found.flows
        ]
        assert made(flows, "call", "at", "work") == rows(
            "SELECT launch.name, launch.start_ns, work.start_ns AS work FROM launch"
            " JOIN gpu_activity AS work USING (process_id, correlation_id)"
        )


def test_the_bytes_are_the_same_each_time(tmp_path: Path) -> None:
    recording = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
    assert etl("import", recording, "-o", tmp_path / "run").returncode == 0
    made = exported(tmp_path / "run")
    for threads in (1, 7):
        with cupti_etl.open(tmp_path / "run") as trace:
            trace.sql(f"SET threads = {threads}")
            writer.export_perfetto(trace, tmp_path / f"{threads}.pftrace")
        assert (tmp_path / f"{threads}.pftrace").read_bytes() == made
    assert etl_bytes("export", tmp_path / "run", "--to", "perfetto", "-").stdout == made


def test_the_reader_sees_what_is_wrong() -> None:
    """Else the tests above could not fail."""
    whole = "{ timestamp: 1 trusted_packet_sequence_id: 1 sequence_flags: 1 %s }"
    unknown = b"\x0a\x03\xf8\x07\x01"
    with pytest.raises(AssertionError):
        read(unknown)
    for wrong, error in (
        ("track_event { type: TYPE_SLICE_BEGIN track_uuid: 5 }", KeyError),
        ("gpu_render_stage_event { name_iid: 5 }", KeyError),
        (
            "interned_data { event_names { iid: 1 } event_names { iid: 1 name: 'b' } }",
            AssertionError,
        ),
    ):
        trace = text_format.Parse(f"packet {whole % wrong}", definitions.Trace())
        with pytest.raises(error):
            Replay(read(trace.SerializeToString()))


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "run", process=PROCESS)
    out = tmp_path / "out.pftrace"
    out.write_text("mine")
    assert etl("export", trace, "--to", "perfetto", out).returncode == 2
    assert out.read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out.pftrace", "run"]
