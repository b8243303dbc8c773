"""Exports of older Nsight Systems, which lack what came later, and names that replaced numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from imports.conftest import Import, nsys
from imports.test_nsys import STRINGS
from support.slow import few
from support.trace import assert_rows

# Columns of kernels that 3.25 has and the first schemas had not.  In which step each came is not
# documented, and no file older than 3.24 was at hand: the steps here are made up.
_NEWER = {
    (3, 4): "mangledName graphNodeId",
    (3, 13): "launchType clusterX clusterY clusterZ",
    (3, 20): "greenContextId graphId",
}


@pytest.mark.parametrize(
    "version", few(3, ["3.0.0", "3.1.7", "3.4.0", "3.13.1", "3.20.3", "3.23.0"])
)
def test_older_schemas(tmp_path: Path, imported: Import, version: str) -> None:
    number = tuple(map(int, version.split(".")[:2]))
    newer = [name for since, names in _NEWER.items() if number >= since for name in names.split()]
    values = {"mangledName": "1", "graphNodeId": "0", "graphId": "0", "launchType": "1"}
    added = " ".join(values.get(name, "0") for name in newer)
    meta = "META_DATA_EXPORT" if number > (3, 0) else "EXPORT_META_DATA"
    null_streams = {"TARGET_INFO_CUDA_NULL_STREAM": "streamId hwId\n7 1"} if number < (3, 4) else {}
    file = nsys(
        tmp_path / "t.sqlite",
        version=None,
        **{meta: f"name value\nEXPORT_SCHEMA_VERSION {version}"},
        **null_streams,
        CUPTI_ACTIVITY_KIND_KERNEL=f"""
            start end deviceId contextId streamId correlationId globalPid demangledName shortName gridX {" ".join(newer)}
            100   300 0        1         7        5             11:0      2             3         64    {added}
        """,
        CUPTI_ACTIVITY_KIND_MEMCPY="""
            start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind
            400   500 0        1         7        6             11:0      64    1        1       2
        """,
        CUPTI_ACTIVITY_KIND_RUNTIME="""
            start end eventClass globalTid correlationId nameId returnValue
            50    90  0          11:70     5             4      0
        """,
        NVTX_EVENTS="start end eventType text globalTid\n10 600 59 step 11:70",
        StringIds=STRINGS,
    )
    trace = imported(file)
    assert_rows(
        trace.sql("""
            SELECT short, grid_x, cluster_x, graph_id, launch.end_ns AS launched_ns, stream_id
            FROM kernel JOIN kernel_name ON mangled = kernel.name
            JOIN launch USING (process_id, correlation_id)
        """),
        f"""
        short grid_x cluster_x graph_id launched_ns stream_id
        gemm  64     {"0" if number >= (3, 13) else "-"} - 90 7
        """,
    )
    assert_rows(trace.sql("FROM memcpy"), "copy_kind src_kind bytes\nHtoD pinned 64")
    assert_rows(trace.sql("FROM nvtx_range"), "name start_ns end_ns\nstep 10 600")
    assert_rows(trace.sql("FROM capture"), f"source\n'import of nsys {version} SQLite'")


def test_devices_and_contexts_of_early_exports(tmp_path: Path, imported: Import) -> None:
    """Without a number of their schema; the first row has its memory in MiB."""
    trace = imported(
        nsys(
            tmp_path / "t.sqlite",
            version=None,
            StringIds=STRINGS,
            CUPTI_ACTIVITY_KIND_KERNEL="""
                start end deviceId contextId streamId correlationId globalPid demangledName gridX
                100   300 0        1         7        5             11:0      2             64
            """,
            TARGET_INFO_GPU="deviceId name\n0 V100",
            TARGET_INFO_CUDA_GPU="""
                deviceId pid name numMultiprocessors globalMemorySize globalMemoryBandwidth coreClockRate computeCapabilityMajor
                0        11  V100 80                 32510            0                     1380000       7
                1        11  RTX  68                 10495524864      760080000             1740000       8
                x        11  none 1                  1                1                     1             1
                0        99  V100 80                 32510            0                     1380000       7
            """,
            TARGET_INFO_CUDA_NULL_STREAM="streamId processId deviceId contextId\n7 11 0 1",
            TARGET_INFO_NIC_INFO="nicId name\n0 mlx5_0\n1 mlx5_1",
            # No records: what the program printed, and what says how others are to be read.
            ProcessStreams="globalPid filenameId contentId\n11:0 1 2",
            UnwindMethodType="number name\n0 unknown",
            NVTX_PAYLOAD_SCHEMAS="domainId schemaId\n0 1",
            NVTX_PAYLOAD_SCHEMA_ENTRIES="domainId schemaId idx\n0 1 0",
        )
    )
    assert_rows(
        trace.sql("FROM device ORDER BY device_id"),
        """
        device_id name multiprocessors global_memory_bytes global_memory_bandwidth_kbps core_clock_khz compute_capability_major
        0         V100 80              34089205760         -                            1380000        7
        1         RTX  68              10495524864         760080000                    1740000        8
        """,
    )
    assert_rows(trace.sql("FROM context"), "context_id device_id null_stream_id\n1 0 7")
    assert_rows(
        trace.sql("FROM import_skipped WHERE what NOT LIKE 'what only %'"),
        """
        category    what                          events
        invalid     TARGET_INFO_CUDA_GPU.deviceId 1
        unsupported TARGET_INFO_NIC_INFO          2
        """,
    )


def test_overheads_that_have_names_alone(tmp_path: Path, imported: Import) -> None:
    # What nsys does itself is no kind of CUPTI's.
    file = nsys(
        tmp_path / "t.sqlite",
        PROFILER_OVERHEAD="""
            start end globalTid nameId returnValue
            1     2   11:70     1      0
            3     4   11:70     2      0
            5     6   11:70     3      0
            7     8   11:70     4      0
            9     10  11:70     5      0
            11    12  11:70     6      0
            13    14  11:70     7      0
        """,
        StringIds="""
            id value
            1  "CUPTI: Buffer flush"
            2  "CUPTI Instrumentation"
            3  "CUPTI Resource Management"
            4  "dlopen(libcudnn_ops.so.9)"
            5  dlclose
            6  "TLS allocation"
            7  Unknown
        """,
    )
    assert_rows(
        imported(file).sql("FROM overhead ORDER BY start_ns"),
        """
        start_ns end_ns overhead_kind
        1        2      cupti_buffer_flush
        3        4      cupti_instrumentation
        5        6      cupti_resource
        7        8      library_loading
        9        10     library_loading
        11       12     -
        13       14     unknown
        """,
    )


def test_a_host_that_nsys_does_not_know_has_no_name(tmp_path: Path, imported: Import) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_MEMSET="start end deviceId globalPid bytes\n1 2 0 11:0 64",
        TARGET_INFO_SYSTEM_ENV="name value\nHostname UNKNOWN",
    )
    assert_rows(imported(file).sql("FROM process"), "pid host\n11 -")


@pytest.mark.parametrize(
    ("is_there", "returned", "expected"),
    [
        (False, 0, ["nsys: 2 calls launched, copied or set, and no work of a GPU is in the file"]),
        (False, 35, []),
        (True, 0, []),
    ],
)
def test_work_that_was_asked_for_and_not_recorded(
    tmp_path: Path, imported: Import, is_there: bool, returned: int, expected: list[str]
) -> None:
    # A file of which nsys says nothing has calls, and neither kernels nor copies.
    memset = "start end deviceId correlationId globalPid bytes\n1 2 0 9 11:0 64"
    file = nsys(
        tmp_path / "t.sqlite",
        **({"CUPTI_ACTIVITY_KIND_MEMSET": memset} if is_there else {}),
        CUPTI_ACTIVITY_KIND_RUNTIME=f"""
            start end globalTid correlationId nameId returnValue
            10    20  11:70     1             1      0
            30    40  11:70     2             2      {returned}
            50    60  11:70     3             3      {returned}
        """,
        StringIds="id value\n1 cudaMalloc_v3020\n2 cudaMemcpy_v3020\n3 cuLaunchKernel",
    )
    details = [row["detail"] for row in imported(file).sql("FROM loss")]
    assert [detail.split(": it may lack")[0] for detail in details] == expected


def test_a_call_with_a_backtrace_is_one(tmp_path: Path, imported: Import) -> None:
    """nsys --cudabacktrace has it twice, and the version in the name of one. Alone, it is kept."""
    twice = """
        start end eventClass globalTid correlationId nameId returnValue callchainId
        50    90  67         11:70     5             3      0           8
        52    88  0          11:70     5             4      0           -
        95    99  0          11:70     6             4      0           -
        100   101 67         11:70     7             3      0           9
    """
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_RUNTIME=twice,
        StringIds="id value\n3 cudaLaunchKernel\n4 cudaLaunchKernel_v7000",
    )
    trace = imported(file)
    assert_rows(trace.query("api_summary"), "name calls total_ns\ncudaLaunchKernel 3 41")
    assert_rows(
        trace.sql("FROM import_skipped"),
        "category what events\nredundant 'calls with backtraces' 1",
    )


def test_a_rank_of_mpi_is_in_the_name_of_its_thread(tmp_path: Path, imported: Import) -> None:
    """As nsys profile --trace mpi gives it, beside those that other threads have."""
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_RUNTIME="start end globalTid correlationId nameId\n5 6 11:70 1 1\n"
        "5 6 12:71 1 1",
        ThreadNames="nameId priority globalTid\n2 1 11:70\n3 1 11:72\n3 1 12:71",
        StringIds="id value\n1 cudaLaunchKernel\n2 'MPI Rank 3'\n3 python3",
    )
    assert_rows(imported(file).sql("FROM process ORDER BY pid"), "pid rank\n11 3\n12 -")
