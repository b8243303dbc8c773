"""A trace as Chrome's JSON: its events, and what an import makes of them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import etl
from support.trace import assert_rows, write_trace

import cupti_etl

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_trace_duckdb")]

DATA = Path(__file__).parents[1] / "data"
PROCESS = "process_id pid\n 1 4242"


def exported(trace: Path, *options: str) -> dict[str, Any]:
    done = etl("export", trace, "--to", "chrome", "-", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def events(trace: Path, phase: str, *options: str) -> list[dict[str, Any]]:
    found = exported(trace, *options)["traceEvents"]
    return sorted(
        ({k: v for k, v in each.items() if k != "ph"} for each in found if each["ph"] == phase),
        key=lambda each: (each["ts"], str(each["pid"])),
    )


def test_a_kernel_its_call_and_the_range_around_it(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        marker="""
            process_id marker_id event timestamp_ns name   domain thread_id
            1          1         start 1000         "a\\"b" -      7
            1          1         end   9500         -      -      7
        """,
        api_call="""
            process_id start_ns end_ns domain  name             cbid correlation_id thread_id
            1          2000     2501   runtime cudaLaunchKernel 211  5              7
        """,
        kernel="""
            process_id start_ns end_ns name device_id stream_id correlation_id grid_x grid_y \
grid_z dynamic_shared_bytes
            1          4000     8000   k    0         13        5              1      2      \
3      0
        """,
        external_correlation="process_id correlation_id external_id\n 1 5 77",
    )
    found = exported(trace)
    assert found["baseTimeNanoseconds"] == 1000
    assert events(trace, "X") == [
        {
            "cat": "user_annotation", "name": 'a"b', "pid": 4242, "tid": 7,
            "ts": 0.0, "dur": 8.5, "args": {"NVTX domain": ""},
        },
        {
            "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 7,
            "ts": 1.0, "dur": 0.501, "args": {"cbid": 211, "correlation": 5, "External id": 77},
        },
        {
            "cat": "kernel", "name": "k", "pid": 0, "tid": 13, "ts": 3.0, "dur": 4.0,
            "args": {"device": 0, "stream": 13, "correlation": 5, "External id": 77,
                     "shared memory": 0, "grid": [1, 2, 3]},
        },
    ]  # fmt: skip
    (begin,), (end,) = events(trace, "s"), events(trace, "f")
    assert (begin["id"], begin["pid"], begin["tid"], begin["ts"]) == (5, 4242, 7, 1.0)
    assert (end["id"], end["pid"], end["tid"], end["ts"], end["bp"]) == (5, 0, 13, 3.0, "e")
    names = {(each["name"], each["args"]["name"]) for each in events(trace, "M")}
    assert names == {
        ("process_name", "process 4242"),
        ("process_name", "GPU 0"),
        ("thread_name", "stream 13"),
    }


def test_a_copy_as_pytorch_writes_it(tmp_path: Path) -> None:
    """HolisticTraceAnalysis reads the bandwidth, and rounds to whole microseconds since 1970."""
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        memcpy="""
            process_id start_ns end_ns copy_kind src_kind dst_kind       bytes
            1          1900     2400   HtoD      pinned   managed_static 1000
            1          2500     2500   HtoD      -        device         1000
        """,
        memset="process_id start_ns end_ns memory_kind bytes\n 1 3000 3010 device 20",
    )
    assert exported(trace)["baseTimeNanoseconds"] == 1000
    found = [
        (e["name"], e["ts"], e["args"].get("memory bandwidth (GB/s)")) for e in events(trace, "X")
    ]
    assert found == [
        ("Memcpy HtoD (Pinned -> Managed Static)", 0.9, 2.0),
        ("Memcpy HtoD", 1.5, None),
        ("Memset (Device)", 2.0, 2.0),
    ]


def test_a_graph_as_a_whole_is_drawn_and_comes_back(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        api_call="""
            process_id thread_id start_ns end_ns name            domain  correlation_id
            1          7         1000     1500   cudaGraphLaunch runtime 5
        """,
        graph_trace="""
            process_id start_ns end_ns correlation_id device_id stream_id graph_id end_context_id
            1          2000     5000   5              0         7         3        1
        """,
    )
    (graph,) = (each for each in events(trace, "X") if each["cat"] == "cuda_graph")
    assert (graph["name"], graph["pid"], graph["tid"], graph["dur"]) == ("graph 3", 0, 7, 3.0)
    assert {each["args"]["name"] for each in events(trace, "M")} >= {"GPU 0", "stream 7"}
    assert [each["pid"] for each in events(trace, "f")] == [0]
    assert etl("export", trace, "--to", "chrome", tmp_path / "out.json").returncode == 0
    assert etl("import", tmp_path / "out.json", "-o", tmp_path / "two").returncode == 0
    with cupti_etl.open(trace) as one, cupti_etl.open(tmp_path / "two") as two:
        rows = "SELECT * EXCLUDE (process_id) FROM graph_trace"
        assert two.sql(rows).arrow() == one.sql(rows).arrow()


def test_threads_have_their_names(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process=PROCESS,
        name="process_id thread_id object_kind name\n1 7 thread loader\n1 - stream copies",
    )
    (thread,) = (each for each in events(trace, "M") if each["name"] == "thread_name")
    assert (thread["pid"], thread["tid"], thread["args"]) == (4242, 7, {"name": "loader"})


def test_what_has_no_end_only_begins(tmp_path: Path) -> None:
    kernel = "process_id start_ns end_ns name\n 1 10 - k\n 1 - - never"
    trace = write_trace(tmp_path / "run", process=PROCESS, kernel=kernel)
    (begun,) = events(trace, "B")
    assert (begun["name"], "dur" in begun) == ("k", False)
    assert not events(trace, "X")


def test_gpus_of_several_processes_are_apart(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "run",
        process="process_id pid rank\n 1 10 0\n 2 20 1",
        kernel="process_id device_id start_ns end_ns name\n 1 0 1 2 a\n 2 0 1 2 b",
    )
    assert [each["pid"] for each in events(trace, "X")] == ["GPU 0 of 10", "GPU 0 of 20"]
    assert "distributedInfo" not in exported(trace)
    one = exported(trace, "--rank", "1")
    assert [each["name"] for each in one["traceEvents"] if each["ph"] == "X"] == ["b"]
    assert one["distributedInfo"] == {"rank": 1}


def test_a_gpu_with_the_number_of_the_process_is_apart(tmp_path: Path) -> None:
    # In a container, its first program has the pid 1.
    trace = write_trace(
        tmp_path / "run",
        process="process_id pid\n 1 1",
        kernel="process_id device_id start_ns end_ns name\n 1 1 2 3 a",
        api_call="process_id thread_id start_ns end_ns name\n 1 1 1 2 cudaMalloc",
    )
    assert [each["pid"] for each in events(trace, "X")] == [1, "GPU 1 of 1"]
    assert etl("export", trace, "--to", "chrome", tmp_path / "out.json").returncode == 0
    assert etl("import", tmp_path / "out.json", "-o", tmp_path / "two").returncode == 0
    with cupti_etl.open(tmp_path / "two") as two:
        row = 'pid argv detail\n 1 - "its times are not since the epoch"'
        assert_rows(two.sql("SELECT pid, argv, detail FROM process"), row)
        both = "FROM kernel JOIN api_call USING (process_id)"
        row = "device_id thread_id dynamic_shared_bytes\n 1 1 -"
        assert_rows(two.sql(f"SELECT device_id, thread_id, dynamic_shared_bytes {both}"), row)


def test_processes_that_share_a_number_are_apart_and_come_back(tmp_path: Path) -> None:
    # Of two containers; their calls have the same ids, too.
    trace = write_trace(
        tmp_path / "run",
        process="process_id pid rank world_size host argv\n1 10 0 8 n train\n2 10 1 8 n train",
        api_call="process_id thread_id start_ns end_ns correlation_id domain name\n"
        "1 10 1000 2000 5 runtime cudaLaunchKernel\n2 10 1500 2500 5 runtime cudaLaunchKernel",
        kernel="process_id device_id stream_id start_ns end_ns correlation_id name\n"
        "1 0 7 3000 5000 5 a\n2 0 7 4000 6000 5 b",
    )
    ends = [[each["id"] for each in events(trace, phase)] for phase in "sf"]
    assert ends[0] == ends[1]
    assert len(set(ends[0])) == 2
    assert etl("export", trace, "--to", "chrome", tmp_path / "out.json").returncode == 0
    assert etl("import", tmp_path / "out.json", "-o", tmp_path / "two").returncode == 0
    with cupti_etl.open(tmp_path / "two") as two:
        assert_rows(
            two.sql(
                "SELECT pid, rank, world_size, host, argv, kernel.name, launch.start_ns FROM kernel"
                " JOIN launch USING (process_id, correlation_id) JOIN process USING (process_id)"
                " ORDER BY rank"
            ),
            """
            pid     rank world_size host argv  name start_ns
            4194305 0    8          n    train a    1000
            4194306 1    8          n    train b    1500
            """,
        )


def test_what_a_gpu_says_of_itself_may_be_large(tmp_path: Path) -> None:
    device = "process_id device_id max_warps_per_multiprocessor threads_per_warp"
    trace = write_trace(tmp_path / "run", device=f"{device}\n 1 0 881283404 69436557")
    (gpu,) = exported(trace)["deviceProperties"]
    assert gpu["maxThreadsPerMultiprocessor"] == 881283404 * 69436557


def test_a_scope(tmp_path: Path) -> None:
    kernel = "process_id start_ns end_ns name\n 1 0 10 a\n 1 20 30 b\n 1 40 50 c"
    trace = write_trace(tmp_path / "run", process=PROCESS, kernel=kernel)
    assert [each["name"] for each in events(trace, "X", "--from", "15ns")] == ["b", "c"]


def test_an_empty_trace_is_well_formed(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "run")
    assert exported(trace)["traceEvents"] == []


def test_names_of_any_kind_stay_as_they_are(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "run", process=PROCESS)
    hostile = ['</script>"\\', "\u202eü\n\t", "\x01", "x" * 70000]
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cupti_etl.schema.arrow import arrow_schema

    rows = [
        {"process_id": 1, "start_ns": at, "end_ns": at + 1, "name": name}
        for at, name in enumerate(hostile)
    ]
    pq.write_table(
        pa.Table.from_pylist(rows, arrow_schema("kernel")),
        trace / "kernel" / "part-000009.parquet",
    )
    assert [each["name"] for each in events(trace, "X")] == hostile


@pytest.mark.parametrize(
    "file", ["kineto_h100_with_stack.json.gz", "kineto_rank1.json.gz", "kineto_fwdbwd.json.gz"]
)
def test_an_import_of_the_export_is_the_same_trace(tmp_path: Path, file: str) -> None:
    out = tmp_path / "out.json"
    for source, trace in ((DATA / file, "one"), (out, "two")):
        done = etl("import", source, "-o", tmp_path / trace)
        assert done.returncode == 0, done.stderr
        if trace == "one":
            assert etl("export", tmp_path / "one", "--to", "chrome", out).returncode == 0
    with cupti_etl.open(tmp_path / "one") as one, cupti_etl.open(tmp_path / "two") as two:
        for rows in (
            "SELECT * EXCLUDE (process_id) FROM kernel",
            "SELECT * EXCLUDE (process_id) FROM memcpy",
            "SELECT * EXCLUDE (process_id) FROM memset",
            "SELECT * EXCLUDE (process_id) FROM api_call",
            "SELECT * EXCLUDE (process_id) FROM device",
            "SELECT start_ns, end_ns, name, domain, thread_id, path, payload_int FROM nvtx_range",
            "SELECT * EXCLUDE (process_id, marker_id) FROM argument WHERE arguments <> '{}'",
            "FROM operator_summary",
        ):
            ordered = f"FROM ({rows}) ORDER BY ALL"
            assert two.sql(ordered).arrow() == one.sql(ordered).arrow(), rows


def test_ranges_of_nvtx_come_back(tmp_path: Path) -> None:
    # As of emit_nvtx, of a library, of capture --pytorch and of PyTorch's profiler; and a mark.
    trace = write_trace(
        tmp_path / "one",
        process="process_id pid\n1 7",
        marker="""
            process_id thread_id marker_id event   timestamp_ns domain          name
            1          5         1         start   1000         -               "aten::mm, seq = 7"
            1          5         1         end     2000         -               -
            1          5         2         start   3000         NCCL            AllReduce
            1          5         2         end     4000         NCCL            -
            1          5         3         start   5000         pytorch.module  "model: Net"
            1          5         3         end     6000         pytorch.module  -
            1          5         4         start   7000         user_annotation step
            1          5         4         end     8000         user_annotation -
            1          5         5         instant 9000         -               here
        """,
    )
    assert etl("export", trace, "--to", "chrome", tmp_path / "out.json").returncode == 0
    assert etl("import", tmp_path / "out.json", "-o", tmp_path / "two").returncode == 0
    with cupti_etl.open(trace) as one, cupti_etl.open(tmp_path / "two") as two:
        for rows in (
            "SELECT timestamp_ns, event, domain, name FROM marker ORDER BY ALL",
            "SELECT name, kind, sequence FROM _operator ORDER BY ALL",
        ):
            assert two.sql(rows).arrow() == one.sql(rows).arrow()
        assert_rows(
            two.sql("SELECT name, kind, sequence FROM _operator ORDER BY start_ns"),
            "name kind sequence\n aten::mm operator 7\n step annotation -",
        )


def test_what_allocators_did_comes_back(tmp_path: Path) -> None:
    # Of CUDA's own allocations PyTorch says nothing.
    trace = write_trace(
        tmp_path / "one",
        process="process_id pid\n1 7",
        kernel="process_id device_id start_ns end_ns name\n1 0 2000 3000 k",
        memory="process_id thread_id timestamp_ns operation memory_kind device_id address bytes"
        " pool_type pool_bytes pool_utilized_bytes source"
        """
            1 5 1000 allocation device   0 4096 512 local 2048 1536 "PyTorch allocator"
            1 5 2500 release    device   0 4096 512 local 2048 1024 "PyTorch allocator"
            1 5 2600 allocation pageable - 64   100 local -    100  "PyTorch allocator"
            1 5 2700 allocation device   0 8192 99  -     -    -    cudaMalloc
        """,
    )
    assert etl("export", trace, "--to", "chrome", tmp_path / "out.json").returncode == 0
    assert etl("import", tmp_path / "out.json", "-o", tmp_path / "two").returncode == 0
    rows = (
        "SELECT * EXCLUDE (process_id) FROM memory WHERE source = 'PyTorch allocator'"
        " ORDER BY timestamp_ns"
    )
    with cupti_etl.open(trace) as one, cupti_etl.open(tmp_path / "two") as two:
        assert two.sql("FROM memory").count() == 3
        assert two.sql(rows).arrow() == one.sql(rows).arrow()


def test_the_overhead_of_gaps_comes_back(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path / "one",
        process="process_id pid\n1 7",
        kernel="""
            process_id device_id start_ns end_ns correlation_id name
            1          0         2000     3000   1              k
            1          0         9000     9500   2              k
        """,
        api_call="""
            process_id thread_id start_ns end_ns domain  name             correlation_id
            1          5         1000     1500   runtime cudaLaunchKernel 1
            1          5         3500     8500   runtime cudaLaunchKernel 2
        """,
        overhead="""
            process_id start_ns end_ns overhead_kind
            1          4000     6000   module_loading
            1          6000     6500   lazy_function_loading
            1          7000     7100   cupti_buffer_flush
        """,
    )
    assert [
        (each["pid"], each["name"]) for each in events(trace, "X") if each["cat"] == "overhead"
    ] == [
        (-1, "Runtime Triggered Module Loading"),
        (-1, "Lazy Function Loading"),
        (-1, "Cupti Buffer Flush"),
    ]
    assert etl("export", trace, "--to", "chrome", tmp_path / "out.json").returncode == 0
    assert etl("import", tmp_path / "out.json", "-o", tmp_path / "two").returncode == 0
    with cupti_etl.open(trace) as one, cupti_etl.open(tmp_path / "two") as two:
        rows = "SELECT start_ns, end_ns, overhead_kind FROM overhead ORDER BY ALL"
        assert two.sql(rows).arrow() == one.sql(rows).arrow()
        rows = "SELECT profiler_ns, loading_ns, launching_ns FROM _gap_cause"
        assert two.sql(rows).arrow() == one.sql(rows).arrow()
        # Other tools do not say which number a function has.
        rows = "SELECT start_ns, end_ns, name, cbid FROM api_call ORDER BY ALL"
        assert two.sql(rows).arrow() == one.sql(rows).arrow()


def test_an_import_of_an_exported_capture_has_its_rows(tmp_path: Path) -> None:
    recording = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
    assert etl("import", recording, "-o", tmp_path / "one").returncode == 0
    assert etl("export", tmp_path / "one", "--to", "chrome", tmp_path / "out.json").returncode == 0
    assert etl("import", tmp_path / "out.json", "-o", tmp_path / "two").returncode == 0
    place = "start_ns, end_ns, device_id, context_id, stream_id, correlation_id"
    with cupti_etl.open(tmp_path / "one") as one, cupti_etl.open(tmp_path / "two") as two:
        for rows in (
            f"SELECT {place}, demangled, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
            " registers_per_thread FROM kernel_named",
            f"SELECT {place}, copy_kind, src_kind, dst_kind, bytes FROM memcpy",
            f"SELECT {place}, memory_kind, bytes FROM memset",
            "SELECT start_ns, end_ns, name, domain, correlation_id, thread_id FROM api_call",
            "SELECT start_ns, end_ns, name, thread_id FROM nvtx_range",
        ):
            ordered = f"FROM ({rows}) ORDER BY ALL"
            assert two.sql(ordered).count() > 0
            assert two.sql(ordered).arrow() == one.sql(ordered).arrow(), rows


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "run", process=PROCESS)
    out = tmp_path / "out.json"
    out.write_text("mine")
    assert etl("export", trace, "--to", "chrome", out).returncode == 2
    assert out.read_text() == "mine"
    assert etl("export", trace, "--to", "chrome", out, "--overwrite").returncode == 0
    assert json.loads(out.read_text())
