"""Traces of PyTorch's profiler: small files, and the rows they become."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from imports.conftest import Import, event, kineto
from support.trace import assert_rows

LAUNCH = {"External id": 3, "cbid": 211, "correlation": 9}
PLACE = {"device": 0, "context": 1, "stream": 7}


def test_a_launch_its_kernel_and_the_operator_around_them(tmp_path: Path, imported: Import) -> None:
    file = kineto(
        tmp_path / "rank3.json",
        event("cpu_op", "aten::mm", 2e9, 50, tid=70, **{"External id": 3, "Input Dims": [[2, 3]]}),
        event("cuda_runtime", "cudaLaunchKernel", 2e9 + 10, 5, tid=70, **LAUNCH),
        event(
            "kernel",
            "void gemm<float>(float*)",
            2e9 + 20,
            30,
            pid=0,
            correlation=9,
            **PLACE,
            **{"grid": [4, 106, 2], "block": [128, 1, 1], "registers per thread": 30},
        ),
        baseTimeNanoseconds=1_700_000_000_000_000_000,
        distributedInfo={"rank": 3, "world_size": 8},
        host_name="node5",
        deviceProperties=[{"id": 0, "name": "H200", "numSms": 132}],
    )
    trace = imported(file)
    assert_rows(
        trace.sql(
            "SELECT *, end_ns - start_ns AS ns FROM kernel JOIN kernel_name ON mangled = name"
        ),
        """
        start_ns            ns    short correlation_id stream_id grid_x grid_y grid_z block_x registers_per_thread
        1700002000000020000 30000 gemm  9              7         4      106    2      128     30
        """,
    )
    assert_rows(
        trace.sql("FROM launch"),
        """
        name             domain  start_ns            thread_id cbid
        cudaLaunchKernel runtime 1700002000000010000 70        211
        """,
    )
    # The operator, from the call that launched the kernel.
    assert_rows(
        trace.sql("""
            SELECT nvtx_range.*, arguments
            FROM kernel
            JOIN external_correlation USING (process_id, correlation_id)
            JOIN nvtx_range ON payload_int = external_id
            JOIN argument USING (marker_id)
        """),
        """
        name     domain thread_id arguments
        aten::mm cpu_op 70        '{"Input Dims":[[2, 3]]}'
        """,
    )
    assert_rows(trace.sql("FROM process"), "pid rank world_size host  state\n7 3 8 node5 imported")
    assert_rows(trace.sql("FROM device"), "device_id name multiprocessors\n0 H200 132")
    assert_rows(trace.sql("SELECT source FROM capture"), "source\n'import of kineto'")


def test_copies_sets_waits_and_allocations(tmp_path: Path, imported: Import) -> None:
    on_gpu = {**PLACE, "correlation": 1, "bytes": 64}
    file = kineto(
        tmp_path / "t.json",
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1e15, 1.5, pid=0, **on_gpu),
        event("gpu_memcpy", "Memcpy PtoP", 1e15, 1, pid=0, fromDevice=0, toDevice=1, **on_gpu),
        event("gpu_memset", "Memset (Device)", 1e15, 0, pid=0, **on_gpu),
        event("cuda_sync", "Stream Wait Event", 1e15, 0, pid=0, wait_on_cuda_event_id=5, **on_gpu),
        event("overhead", "CUPTI Instrumentation", 1e15, 4, tid=0),
        {
            **event("cpu_instant_event", "[memory]", 1e15, 0, Bytes=-512, Addr=2**64 - 1),
            "ph": "i",
            "args": {"Bytes": -512, "Addr": 2**64 - 1, "Device Type": 1, "Device Id": 0}
            | {"Total Allocated": 1024, "Total Reserved": 2048},
        },
        # A GPU of AMD, and the host, which reserves nothing.
        *(
            event("cpu_instant_event", "[memory]", 1e15 + at, 0)
            | {
                "ph": "i",
                "args": {"Bytes": 64, "Addr": 8, "Device Type": kind, "Device Id": number}
                | {"Total Allocated": 64, "Total Reserved": 0},
            }
            for at, (kind, number) in enumerate(((6, 1), (0, -1)), 1)
        ),
    )
    trace = imported(file)
    assert_rows(
        trace.sql("SELECT *, end_ns - start_ns AS ns FROM memcpy"),
        "copy_kind src_kind dst_kind bytes ns device_id\nHtoD pinned device 64 1500 0",
    )
    assert_rows(
        trace.sql("FROM memcpy_p2p"), "copy_kind src_device_id dst_device_id bytes\nPtoP 0 1 64"
    )
    assert_rows(trace.sql("FROM memset"), "memory_kind bytes stream_id\ndevice 64 7")
    assert_rows(trace.sql("FROM synchronization"), "type stream_id event_id\nstream_wait_event 7 5")
    assert_rows(trace.sql("FROM overhead"), "overhead_kind\ncupti_instrumentation")
    assert_rows(
        trace.sql("FROM memory ORDER BY timestamp_ns"),
        """
        operation  bytes address memory_kind device_id pool_bytes pool_utilized_bytes
        release    512   -1      device      0         2048       1024
        allocation 64    8       device      1         0          64
        allocation 64    8       pageable    -         -          64
        """,
    )


def test_copies_between_devices_are_of_the_device_in_which_they_ran(
    tmp_path: Path, imported: Import
) -> None:
    where = {"fromDevice": 0, "inDevice": 1, "toDevice": 1}
    where |= {"fromContext": 1, "inContext": 2, "toContext": 2, "stream": 7}
    trace = imported(
        kineto(tmp_path / "t.json", event("gpu_memcpy", "Memcpy PtoP", 1e15, 1, pid=1, **where))
    )
    assert_rows(
        trace.sql("FROM memcpy_p2p"),
        """
        device_id context_id src_device_id src_context_id dst_device_id dst_context_id
        1         2          0             1              1             2
        """,
    )
    assert_rows(trace.query("gpu_busy"), "gpu activities\n1 1")


def test_marks_and_what_the_profiler_says_of_itself(tmp_path: Path, imported: Import) -> None:
    start = {"ph": "i", "s": "g", "pid": "Traces", "tid": "Trace PyTorch Profiler"}
    file = kineto(
        tmp_path / "t.json",
        event("Trace", "PyTorch Profiler (0)", 1e15, 9, pid="Spans", tid="PyTorch Profiler"),
        {**start, "name": "Iteration Start: PyTorch Profiler", "ts": 1e15},
        {**event("cpu_instant_event", "[OutOfMemory]", 1e15 + 2, 0, Total=5), "ph": "i"},
        event("cuda_runtime", "cudaLaunchKernel", 1e15 + 3, 1, pid=11, correlation=9),
        {"ph": "I", "name": "Record Window End", "pid": "", "tid": "", "ts": 1e15 + 9},
        event("gpu_user_annotation", "step", 1e15, 1, pid=0),
        *({"ph": ph, "cat": cat, "id": 1, "ts": 1e15} for ph in "sf" for cat in ("ac2g", "fwdbwd")),
    )
    trace = imported(file)
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category  what                events
        redundant "arrows ac2g"       2
        redundant "arrows fwdbwd"     2
        redundant gpu_user_annotation 1
        """,
    )
    assert_rows(
        trace.sql("FROM marker ORDER BY timestamp_ns, event, name"),
        """
        timestamp_ns        event   name                                domain            thread_id
        1000000000000000000 instant "Iteration Start: PyTorch Profiler" -                 -
        1000000000000000000 start   "PyTorch Profiler (0)"              Trace             -
        1000000000000002000 instant [OutOfMemory]                       cpu_instant_event 7
        1000000000000009000 end     -                                   Trace             -
        1000000000000009000 instant "Record Window End"                 -                 -
        """,
    )
    # No process is called Spans, and the one that called CUDA was not the first.
    assert_rows(
        trace.sql("SELECT pid, stored, end_ns - start_ns AS ns FROM process ORDER BY pid"),
        "pid stored ns\n7 2 0\n11 5 9000",
    )


def test_microseconds_are_read_to_the_nanosecond(tmp_path: Path, imported: Import) -> None:
    """As a double, 1712195495519689.047 is ...689.0: a quarter of a microsecond is its step."""
    events = [
        f'{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{{}}}}'
        for ts, dur in (
            ("1712195495519689.047", "63.813"),
            ("1712195495519690", "0.0004"),
            ('"1712195495519691.5"', "1e1"),
        )
    ]
    file = tmp_path / "t.json"
    file.write_text(f'{{"traceEvents": [{",".join(events)}]}}')
    assert_rows(
        imported(file).sql("SELECT start_ns, end_ns - start_ns AS ns FROM kernel ORDER BY 1"),
        """
        start_ns            ns
        1712195495519689047 63813
        1712195495519690000 0
        1712195495519691500 10000
        """,
    )


def test_a_base_that_stands_behind_the_events(tmp_path: Path, imported: Import) -> None:
    file = kineto(
        tmp_path / "t.json", event("kernel", "k", 5, 1, **PLACE), last_baseTimeNanoseconds=10**18
    )
    assert_rows(imported(file).sql("FROM kernel"), "start_ns\n1000000000000005000")


def test_ranks_whose_ids_collide(tmp_path: Path, imported: Import) -> None:
    files = [
        kineto(
            tmp_path / f"rank{rank}.json",
            event("cuda_runtime", "cudaLaunchKernel", 1e15, 5, pid=rank, correlation=9),
            event("kernel", f"k{rank}", 1e15 + 9, 5, pid=0, correlation=9, **PLACE),
            distributedInfo={"rank": rank},
        )
        for rank in (0, 1, 2)
    ]
    trace = imported(*files)
    assert_rows(
        trace.sql("""
            SELECT rank, kernel.name, pid FROM kernel
            JOIN api_call USING (process_id, correlation_id) JOIN process USING (process_id)
            ORDER BY rank
        """),
        "rank name pid\n0 k0 0\n1 k1 1\n2 k2 2",
    )


def test_callers_in_one_file_that_cannot_be_told_apart(tmp_path: Path, imported: Import) -> None:
    """Kernels do not say whose they are: rather no launch than a wrong one."""
    file = kineto(
        tmp_path / "merged.json",
        event("cuda_runtime", "cudaLaunchKernel", 1e15, 5, pid=11, correlation=9),
        event("cuda_runtime", "cudaLaunchKernel", 1e15, 5, pid=12, correlation=9),
        event("kernel", "a", 1e15 + 9, 5, pid=0, correlation=9, **PLACE, **{"comms": 1}),
        event("kernel", "b", 1e15 + 9, 5, pid=1, correlation=9, **PLACE),
    )
    trace = imported(file)
    assert_rows(trace.sql("SELECT count(*) AS n FROM launch"), "n\n0")
    assert_rows(
        trace.sql("""
            SELECT pid, stored, (SELECT count(*) FROM kernel WHERE process_id = p.process_id) AS k,
                   (SELECT count(*) FROM argument WHERE process_id = p.process_id) AS a
            FROM process AS p ORDER BY pid
        """),
        "pid stored k a\n11 1 0 0\n12 1 0 0\n- 4 2 1",
    )
    assert "processes 11, 12" in next(iter(trace.sql("FROM process WHERE pid IS NULL")))["detail"]


def test_the_caller_is_not_the_first_process(tmp_path: Path, imported: Import) -> None:
    file = kineto(
        tmp_path / "t.json",
        event("cpu_op", "load", 1e15, 5, pid=10),
        event("kernel", "k", 1e15 + 9, 5, pid=0, correlation=9, **PLACE),
        event("cuda_runtime", "cudaLaunchKernel", 1e15, 5, pid=11, correlation=9),
    )
    assert_rows(
        imported(file).sql("SELECT pid FROM kernel JOIN process USING (process_id)"), "pid\n11"
    )


def test_no_process_and_launches_that_do_not_match(tmp_path: Path, imported: Import) -> None:
    """GPU work alone, as in a sampled trace; and a kernel that began within its launch."""
    alone = kineto(
        tmp_path / "a.json", event("kernel", "k", 1e15, 5, pid=0, correlation=4, **PLACE)
    )
    early = kineto(
        tmp_path / "b.json",
        event("cuda_runtime", "cudaLaunchKernel", 1e15, 50, correlation=1),
        event("kernel", "early", 1e15 + 10, 5, pid=0, correlation=1, **PLACE),
        event("cuda_runtime", "cudaLaunchKernel", 1e15, 50, correlation=2),
    )
    trace = imported(alone, early)
    assert_rows(trace.sql("SELECT pid, stored FROM process ORDER BY pid"), "pid stored\n7 4\n- 2")
    assert_rows(
        trace.sql("""
            SELECT kernel.name, kernel.start_ns - launch.end_ns AS queued_ns FROM kernel
            LEFT JOIN launch USING (process_id, correlation_id) ORDER BY 1
        """),
        "name queued_ns\nearly -40000\nk -",
    )


def test_a_time_that_is_missing_is_counted(tmp_path: Path, imported: Import) -> None:
    untimed = event("kernel", "k", 0, 5, **PLACE)
    del untimed["ts"]
    trace = imported(kineto(tmp_path / "t.json", untimed, event("kernel", "k", 1e15, 5, **PLACE)))
    assert_rows(trace.sql("SELECT count(*) AS n FROM kernel"), "n\n1")
    assert_rows(trace.sql("FROM loss"), "cause")
    assert_rows(trace.sql("FROM import_skipped"), "category what events\ninvalid kernel.ts 1")
    assert_rows(
        trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'"),
        "subject\n'no losses known, imported; not kept: invalid 1'",
    )


def test_numbers_that_cannot_be_are_null(tmp_path: Path, imported: Import) -> None:
    """Times end where nanoseconds no longer count, and nothing ends before it begins."""
    odd = [
        event("kernel", "backwards", 1e15, -5, **PLACE),
        event("kernel", "endless", 1e15 + 1, 9e15, **PLACE),
        event("kernel", "text", 1e15 + 2, "5.25", grid="1x1", **{**PLACE, "device": "cuda:0"}),  # type: ignore[arg-type]
        event("kernel", "nan", 1e15 + 3, float("nan"), grid=[float("nan"), 2.5, 3], **PLACE),
        event("kernel", "far", 1e15 + 4, 5, grid=[1 << 40], **{**PLACE, "device": 1 << 40}),
        event("kernel", "late", 9.3e15, 5, **PLACE),
        {**event("kernel", "", 1e15 + 5, 5), "name": None, "args": None},
    ]
    properties = [
        {"id": 0, "numSms": 1 << 40, "warpSize": "32", "maxThreadsPerMultiprocessor": "2048"},
        {"id": True, "name": 5},
        {"id": 1 << 40},
        None,
    ]
    file = kineto(
        tmp_path / "t.json",
        *odd,
        deviceProperties=properties,
        distributedInfo={"rank": "0", "world_size": True},
    )
    file.write_text("\ufeff" + file.read_text())
    trace = imported(file)
    assert_rows(
        trace.sql("SELECT *, end_ns - start_ns AS ns FROM kernel ORDER BY start_ns"),
        """
        name      ns   device_id grid_x grid_y grid_z
        backwards -    0         -      -      -
        endless   -    0         -      -      -
        text      5250 -         -      -      -
        nan       -    0         -      -      3
        far       5000 -         -      -      -
        -         5000 -         -      -      -
        """,
    )
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category what        events
        invalid  args.grid   2
        invalid  kernel.device_id 1
        invalid  kernel.dur  3
        invalid  kernel.grid_x 1
        invalid  kernel.ts   1
        """,
    )
    (row,) = trace.sql("SELECT arguments FROM argument")
    assert json.loads(row["arguments"]) == {"device": "cuda:0", "grid": "1x1"}  # as it is
    assert_rows(trace.sql("FROM device"), "device_id name multiprocessors\n0 - -")
    assert_rows(trace.sql("FROM process"), "rank world_size\n- -")


def test_compressed_whatever_it_is_called(tmp_path: Path, imported: Import) -> None:
    plain = kineto(tmp_path / "t.json", event("kernel", "k", 1e15, 5, **PLACE))
    odd = tmp_path / "trace.dat"
    odd.write_bytes(gzip.compress(plain.read_bytes()))
    assert_rows(imported(odd).sql("FROM kernel"), "name\nk")
