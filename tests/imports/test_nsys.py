"""Exports of Nsight Systems: small files, and the rows they become."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from imports.conftest import Import, nsys
from support.trace import assert_rows

from cupti_etl.errors import ForeignError
from cupti_etl.imports.run import import_traces

START = "utcEpochNs\n1700000000000000000"
KERNEL = """
    start end deviceId contextId streamId correlationId globalPid demangledName shortName mangledName gridX launchType clusterX
    100   300 0        1         7        5             11:0      2             3         1           64    1          0
    150   0   1        1         7        5             12:0      2             3         -           32    2          2
"""
STRINGS = """
    id value
    1  _Z4gemmIfEvPT_
    2  "void gemm<float>(float*)"
    3  gemm
    4  cudaLaunchKernel_v7000
    5  cuMemcpyHtoD_v2
    6  registered
"""
RUNTIME = """
    start end eventClass globalTid correlationId nameId returnValue
    50    90  0          11:70     5             4      0
    60    160 1          12:71     5             5      700
    70    80  0          12:71     6             4      0
"""


def test_two_processes_with_the_same_ids(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        TARGET_INFO_SESSION_START_TIME=START,
        CUPTI_ACTIVITY_KIND_KERNEL=KERNEL,
        CUPTI_ACTIVITY_KIND_RUNTIME=RUNTIME,
        StringIds=STRINGS,
        PROCESSES="globalPid pid name\n11:0 11 python3",
        TARGET_INFO_SYSTEM_ENV="name value\nHostname node5\nCudaDriverVersion 13000",
    )
    trace = imported(file)
    # The second has not ended, has no mangled name, and began before its launch returned.
    assert_rows(
        trace.sql("""
            SELECT pid, kernel.* EXCLUDE (queued_ns), short,
                       kernel.end_ns - kernel.start_ns AS ns,
                   kernel.start_ns - launch.end_ns AS queued_ns, launch.name AS api_name,
                   launch.domain, thread_id
            FROM kernel JOIN process USING (process_id) JOIN kernel_name ON mangled = kernel.name
            JOIN launch USING (process_id, correlation_id) ORDER BY pid
        """),
        """
        pid start_ns            ns  name                       short grid_x launch_type cluster_x queued_ns api_name         domain  thread_id
        11  1700000000000000100 200 _Z4gemmIfEvPT_             gemm  64     regular     0         10        cudaLaunchKernel runtime 70
        12  1700000000000000150 -   "void gemm<float>(float*)" gemm  32     cooperative 2         -10       cuMemcpyHtoD_v2  driver  71
        """,
    )
    assert_rows(
        trace.sql("FROM process ORDER BY pid"),
        """
        pid argv    host  driver_version start_ns            end_ns              stored
        11  python3 node5 13000          1700000000000000050 1700000000000000300 3
        12  -       node5 13000          1700000000000000060 1700000000000000160 4
        """,
    )
    assert_rows(trace.sql("SELECT source FROM capture"), "source\n'import of nsys 3.25.0 SQLite'")


def test_no_end_is_before_its_start(tmp_path: Path, imported: Import) -> None:
    """Nor at the other end of the numbers, after the start of the session was added."""
    file = nsys(
        tmp_path / "t.sqlite",
        TARGET_INFO_SESSION_START_TIME=START,
        CUPTI_ACTIVITY_KIND_KERNEL="""
            start end                 deviceId correlationId globalPid
            300   100                 0        5             11:0
            400   9223372036854775800 0        6             11:0
            500   500                 0        7             11:0
            -     600                 0        8             11:0
        """,
    )
    assert_rows(
        imported(file).sql("FROM kernel ORDER BY correlation_id"),
        """
        start_ns            end_ns
        1700000000000000300 -
        1700000000000000400 -
        1700000000000000500 1700000000000000500
        -                   1700000000000000600
        """,
    )


def test_nvtx_ranges_marks_domains_and_payloads(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        NVTX_EVENTS="""
            start end eventType text  textId globalTid endGlobalTid domainId color category int64Value doubleValue jsonText
            0     -   75        NCCL  -      11:70     -            3        -     -        -          -           -
            0     -   75        other -      12:70     -            3        -     -        -          -           -
            0     -   33        io    -      11:70     -            0        -     2        -          -           -
            10    90  59        step  -      11:70     -            0        -     -        -          -           -
            20    30  59        -     6      11:70     -            3        -     -        7          -           '{"bytes": 4}'
            40    -   60        open  -      12:70     -            3        255   2        -          -           -
            50    60  60        moved -      11:70     11:71        0        -     -        -          0.5         -
            70    -   34        mark  -      11:70     -            0        -     -        -          -           -
            80    -   99        odd   -      11:70     -            0        -     -        -          -           -
        """,
        StringIds=STRINGS,
    )
    trace = imported(file)
    assert_rows(
        trace.sql("""
            SELECT nvtx_range.*, arguments FROM nvtx_range
            LEFT JOIN argument USING (process_id, marker_id) ORDER BY start_ns
        """),
        """
        name       domain start_ns end_ns thread_id end_thread_id payload_int payload_double category color arguments
        step       -      10       90     70        70            -           -              -        -     -
        registered NCCL   20       30     70        70            7           -              -        -     '{"bytes": 4}'
        open       other  40       -      70        -             -           -              2        255   -
        moved      -      50       60     70        71            -           0.5            -        -     -
        """,
    )
    assert_rows(
        trace.sql("FROM marker WHERE event = 'instant'"), "name timestamp_ns thread_id\nmark 70 70"
    )


@pytest.mark.parametrize("form", ["sqlite", "parquetdir"])
def test_binary_payloads_are_counted(tmp_path: Path, form: str) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        NVTX_EVENTS="""
            start end eventType text          globalTid domainId binaryData
            10    20  59        ncclAllReduce 11:70     1        0107
            30    40  59        ncclAllReduce 11:70     1        0108
            50    60  59        step          11:70     0        -
        """,
    )
    given = as_parquetdir(file, tmp_path / "t_pqtdir") if form == "parquetdir" else file
    summary = import_traces([given], tmp_path / "trace", 1)
    assert summary.rows["marker"] == 6
    skipped = {row["what"]: (row["category"], row["events"]) for row in summary.skipped}
    assert skipped == {"NVTX_EVENTS.binaryData": ("unsupported", 2)}


def test_copies_go_where_they_belong(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_MEMCPY="""
            start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind srcDeviceId dstDeviceId virtualAddress migrationCause
            1     2   0        1         7        5             11:0      64    1        0       2       -           -           -              -
            1     2   0        1         7        6             11:0      32    10       2       2       0           1           -              -
            1     2   0        1         7        0             11:0      16    11       -       -       -           -           4096           3
        """,
        CUPTI_ACTIVITY_KIND_MEMSET="""
            start end deviceId contextId streamId correlationId globalPid value bytes memKind
            1     2   0        1         7        8             11:0      255   128   2
        """,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION="""
            start end deviceId contextId streamId   correlationId globalPid syncType eventId eventSyncId
            3     4   0        1         4294967295 9             11:0      4        -1      -
        """,
        CUDA_GPU_MEMORY_USAGE_EVENTS="""
            start globalPid deviceId contextId address pc bytes memKind memoryOperationType name   correlationId
            5     11:0      0        1         4096    -  256   2       1                   -      3
            6     11:0      0        1         8192    -  512   5       0                   lookup 4
        """,
        CUDA_UM_GPU_PAGE_FAULT_EVENTS="""
            start end globalPid deviceId address numberOfPageFaults faultAccessType
            6     7   11:0      0        4096    12                 2
        """,
        PROFILER_OVERHEAD="start end globalTid nameId overheadType\n1 2 11:70 1 4",
        OSRT_API="start end\n1 2\n3 4",
    )
    trace = imported(file)
    assert_rows(
        trace.sql("FROM memcpy"),
        "copy_kind src_kind dst_kind bytes correlation_id\nHtoD pageable device 64 5",
    )
    assert_rows(
        trace.sql("FROM memcpy_p2p"), "copy_kind src_device_id dst_device_id bytes\nPtoP 0 1 32"
    )
    assert_rows(
        trace.sql("FROM unified_memory ORDER BY start_ns"),
        """
        counter             bytes address src_device_id dst_device_id migration_cause page_faults access_type
        bytes_transfer_HtoD 16    4096    -             0             prefetch        -           -
        gpu_page_fault      -     4096    0             -             -               12          write
        """,
    )
    assert_rows(trace.sql("FROM memset"), "value bytes memory_kind\n255 128 device")
    assert_rows(
        trace.sql("FROM synchronization"),
        "type stream_id event_id context_id\ncontext_synchronize - - 1",
    )
    assert_rows(
        trace.sql("FROM memory ORDER BY timestamp_ns"),
        """
        operation  bytes memory_kind   name
        release    256   device        -
        allocation 512   device_static lookup
        """,
    )
    assert_rows(trace.sql("FROM overhead"), "overhead_kind thread_id\ncupti_instrumentation 70")


def test_devices_contexts_streams_and_threads(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=KERNEL,
        StringIds=STRINGS,
        TARGET_INFO_GPU="""
            id name totalMemory memoryBandwidth clockRate  uuid      smCount computeMajor
            4  H100 80000       3000000         1980000000 554a-6988 132     9
        """,
        TARGET_INFO_CUDA_DEVICE="gpuId cudaId pid uuid numMultiprocessors\n4 0 11 - 100\n4 0 99 - 100",
        TARGET_INFO_CUDA_STREAM="streamId processId contextId priority flag\n7 11 1 4294967291 2",
        TARGET_INFO_CUDA_CONTEXT_INFO="nullStreamId processId deviceId contextId isGreenContext\n7 11 0 1 0",
        ThreadNames="nameId globalTid\n6 11:70\n6 99:99",
    )
    trace = imported(file)
    assert_rows(
        # Of the GPU of the other process, the export says nothing.
        trace.sql("FROM device ORDER BY name"),
        """
        device_id device_uuid   name multiprocessors global_memory_bandwidth_kbps core_clock_khz
        0         GPU-554a-6988 H100 100             3000                         1980000
        1         -             -    -               -                            -
        """,
    )
    assert_rows(trace.sql("FROM stream"), "stream_id priority flag\n7 -5 non_blocking")
    assert_rows(trace.sql("FROM context"), "context_id null_stream_id is_green_context\n1 7 false")
    assert_rows(trace.sql("FROM name"), "name thread_id pid\nregistered 70 11")


OLD = """
    start end deviceId contextId streamId correlationId demangledName shortName
    100   300 0        1         7        5             2             3
"""


def test_an_old_schema_without_processes(tmp_path: Path, imported: Import) -> None:
    """Then they can only be of the process that called CUDA, if it is one."""
    file = nsys(
        tmp_path / "t.sqlite",
        version=None,
        EXPORT_META_DATA="name value\nEXPORT_SCHEMA_VERSION 3.0.0",
        CUPTI_ACTIVITY_KIND_KERNEL=OLD,
        CUPTI_ACTIVITY_KIND_RUNTIME="start end globalTid correlationId nameId\n50 90 11:70 5 4",
        StringIds=STRINGS,
    )
    assert_rows(
        imported(file).sql(
            "SELECT pid, thread_id FROM kernel JOIN launch USING (process_id,"
            " correlation_id) JOIN process USING (process_id)"
        ),
        "pid thread_id\n11 70",
    )


def test_no_process_and_two_that_it_could_be(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=OLD,
        CUPTI_ACTIVITY_KIND_RUNTIME=RUNTIME,
        StringIds=STRINGS,
    )
    trace = imported(file)
    assert_rows(trace.sql("SELECT count(*) AS n FROM launch"), "n\n0")
    assert_rows(
        trace.sql("SELECT pid, detail FROM kernel JOIN process USING (process_id)"),
        "pid detail\n- 'rows that name no process; they join with no call'",
    )


def test_times_since_the_epoch_stay(tmp_path: Path, imported: Import) -> None:
    """nsys export --ts-normalize=true."""
    file = nsys(
        tmp_path / "t.sqlite",
        TARGET_INFO_SESSION_START_TIME=START,
        CUPTI_ACTIVITY_KIND_RUNTIME="""
            start               end                 globalTid nameId
            1700000000000000050 1700000000000000090 11:70     4
        """,
        StringIds=STRINGS,
    )
    assert_rows(imported(file).sql("SELECT start_ns AS t FROM api_call"), "t\n1700000000000000050")


def as_parquetdir(file: Path, folder: Path) -> Path:
    """The same tables as ``nsys export --type parquetdir`` writes them."""
    folder.mkdir()
    with closing(sqlite3.connect(file)) as con:
        for (table,) in con.execute("SELECT name FROM sqlite_master").fetchall():
            cursor = con.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
            pq.write_table(pa.Table.from_pylist(rows), folder / f"{table}.parquet")
    return folder


def test_parquetdir_gives_the_same(tmp_path: Path, imported: Import) -> None:
    tables = {"StringIds": STRINGS, "CUPTI_ACTIVITY_KIND_RUNTIME": RUNTIME}
    file = nsys(tmp_path / "t.sqlite", CUPTI_ACTIVITY_KIND_KERNEL=KERNEL, **tables)
    trace = imported(as_parquetdir(file, tmp_path / "t_pqtdir"))
    assert_rows(
        trace.sql("""
            SELECT kernel.*, return_value, thread_id
            FROM kernel JOIN launch USING (process_id, correlation_id) ORDER BY kernel.start_ns
        """),
        """
        start_ns end_ns name                       grid_x return_value thread_id
        100      300    _Z4gemmIfEvPT_             64     0            70
        150      -      "void gemm<float>(float*)" 32     700          71
        """,
    )
    assert_rows(
        trace.sql("SELECT source FROM capture"), "source\n'import of nsys 3.25.0 parquetdir'"
    )


def damaged(file: Path, how: str) -> Path:
    whole = file.read_bytes()
    if how == "cut":
        file.write_bytes(whole[: len(whole) // 2])
    elif how == "header":
        file.write_bytes(whole[:60])
    elif how == "zeros":
        file.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    else:
        file.with_name(file.name + "-wal").write_bytes(b"changes")
    return file


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("cut", "is truncated"),
        ("header", "is truncated"),
        ("zeros", "is damaged"),
        ("wal", "is not complete"),
    ],
)
def test_damaged_files_leave_nothing(tmp_path: Path, imported: Import, how: str, said: str) -> None:
    file = nsys(tmp_path / "t.sqlite", CUPTI_ACTIVITY_KIND_KERNEL=KERNEL, StringIds=STRINGS)
    with pytest.raises(ForeignError, match=said) as raised:
        imported(damaged(file, how))
    assert raised.value.hint
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("tables", "version", "said"),
    [
        ({"users": "id\n1"}, None, "is no export of nsys"),
        (
            {"CUPTI_ACTIVITY_KIND_MEMCPY": "start end\n1 2", "StringTable": "_id_ value\n1 k"},
            None,
            "is a profile of nvprof",
        ),
        ({"rocpd_metadata": "id tag value\n1 a b"}, None, "is a database of ROCm's profilers"),
        ({"StringIds": STRINGS}, "3.25.0", "no CUDA activity"),
        ({"CUPTI_ACTIVITY_KIND_KERNEL": KERNEL}, "4.0.0", "schema 4.0.0 .* 3.25 is the newest"),
        ({"CUPTI_ACTIVITY_KIND_KERNEL": "begin end\n1 2"}, "3.99.0", "has no start, deviceId"),
    ],
)
def test_foreign_and_newer_files(
    tmp_path: Path, imported: Import, tables: dict[str, str], version: str | None, said: str
) -> None:
    with pytest.raises(ForeignError, match=said) as raised:
        imported(nsys(tmp_path / "t.sqlite", version=version, **tables))
    assert raised.value.hint
    assert not (tmp_path / "trace").exists()


def test_a_newer_minor_schema_with_all_columns_is_read(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite", "3.99.0", CUPTI_ACTIVITY_KIND_KERNEL=KERNEL, StringIds=STRINGS
    )
    assert_rows(imported(file).sql("SELECT count(*) AS n FROM kernel"), "n\n2")
