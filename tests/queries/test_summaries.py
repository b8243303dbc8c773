"""kernel_summary, memcpy_summary, api_summary: small traces and every number of the answer."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows


def test_kernels_of_all_devices_and_processes_by_demangled_name(trace) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         100      110    _Z1av
            1          1         100      130    _Z1av
            2          0         100      160    _Z1av
            1          0         105      405    _Z1bv
        """,
        kernel_name="""
            mangled demangled short
            _Z1av   "a(int)"  a
            _Z1bv   "b()"     b
        """,
    )
    assert_rows(
        opened.query("kernel_summary"),
        """
        name demangled percent span_pct calls total_ns mean_ns median_ns p95_ns min_ns max_ns stddev_ns unfinished
        b    "b()"     75      98.3607  1     300      300     300       300    300    300    -         0
        a    "a(int)"  25      32.7869  3     100      33.3333 30        57     10     60     25.1661   0
        """,  # noqa: E501
    )


def test_kernels_that_never_ended_are_counted_apart(trace) -> None:
    opened = trace(
        kernel="""
            start_ns end_ns name
            100      110    a
            120      -      a
            -        -      a
            130      -      b
        """
    )
    assert_rows(
        opened.query("kernel_summary"),
        """
        name calls total_ns mean_ns p95_ns min_ns max_ns percent span_pct unfinished
        a    1     10       10      10     10     10     100     100      2
        b    0     0        -       -      -      -      0       0        1
        """,
    )


def test_what_never_ended_is_no_line_of_the_page(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            start_ns end_ns name
            100      110    a
            120      -      a
            -        -      a
            130      -      b
        """,
        memcpy="""
            start_ns end_ns bytes copy_kind
            -        -      8     HTOD
        """,
    )
    assert_rows(
        opened.sql("SELECT subject, value, detail FROM run_summary WHERE section != 'gpu'"),
        """
        subject    value detail
        executions 1     "2 different kernels, 3 unfinished"
        a          10    "100.0 % of all, 1 call"
        """,
    )


def test_a_kernel_of_no_duration_is_a_call(trace) -> None:
    opened = trace(
        kernel="""
            start_ns end_ns name
            100      100    a
        """
    )
    assert_rows(
        opened.query("kernel_summary"),
        """
        name calls total_ns mean_ns percent
        a    1     0        0       -
        """,
    )


def test_a_kernel_without_readable_name_keeps_its_mangled_one(trace) -> None:
    opened = trace(
        kernel="""
            start_ns end_ns name
            100      110    _Z1av
            120      130    -
        """
    )
    assert_rows(
        opened.query("kernel_summary"),
        """
        name  demangled calls
        _Z1av _Z1av     1
        -     -         1
        """,
    )


def test_a_name_written_twice_doubles_no_kernel(trace) -> None:
    opened = trace(
        kernel="""
            start_ns end_ns name
            100      110    _Z1av
        """,
        kernel_name="""
            mangled demangled short
            _Z1av   a()       a
            _Z1av   a()       a
        """,
    )
    assert_rows(opened.query("kernel_summary"), "name calls\n a 1")
    assert_rows(opened.query("kernel_named"), "name short demangled\n _Z1av a a()")


def test_copies_by_direction(trace) -> None:
    opened = trace(
        memcpy="""
            start_ns end_ns copy_kind bytes src_kind
            0        100    HtoD      2000  pinned
            0        300    HtoD      4000  pinned
            0        100    DtoH      50    device
            0        -      HtoD      999   pinned
        """,
        memcpy_p2p="start_ns end_ns copy_kind bytes\n 5 5 PtoP 0",
    )
    assert_rows(
        opened.query("memcpy_summary"),
        """
        copy_kind src_kind size       percent copies bytes total_ns rate_gbps mean_bytes mean_ns
        HtoD      pinned   "<= 4 KiB" 80      2      6000  400      15        3000       200
        DtoH      device   "<= 4 KiB" 20      1      50    100      0.5       50         100
        PtoP      -        "<= 4 KiB" 0       1      0     0        -         0          0
        """,
    )
    assert_rows(
        opened.query("memcpy_summary"),
        """
        copy_kind min_ns max_ns unfinished
        HtoD      100    300    1
        DtoH      100    100    0
        PtoP      0      0      0
        """,
    )


def test_copies_beside_kernels_of_the_same_gpu(trace) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         100      200    a
            1          0         150      300    ncclDevKernel_AllReduce
            1          1         0        900    a
            2          0         400      500    a
            2          0         500      -      a
        """,
        memcpy="""
            process_id device_id start_ns end_ns copy_kind bytes
            1          0         0        50     HtoD      10
            1          0         90       110    HtoD      10
            1          0         180      220    HtoD      10
            1          0         290      450    HtoD      10
            1          0         300      -      HtoD      10
            1          1         100      130    DtoH      10
            2          0         100      300    DtoD      10
        """,
        memcpy_p2p="process_id device_id start_ns end_ns copy_kind bytes\n 1 0 250 350 PtoP 10",
        device="""
            process_id device_id device_uuid
            1          0         A
            1          1         B
        """,
    )
    assert_rows(
        opened.sql("FROM memcpy_summary ORDER BY copy_kind"),
        """
        copy_kind total_ns beside_kernels_ns beside_kernels_pct
        DtoD      200      0                 0
        DtoH      30       30                100
        HtoD      270      60                22.2222
        PtoP      100      50                50
        """,
    )


def test_without_kernels_nothing_is_said_of_what_runs_beside_copies(trace) -> None:
    opened = trace(memcpy="process_id device_id start_ns end_ns copy_kind\n 1 0 0 50 HtoD")
    assert_rows(opened.query("memcpy_summary"), "total_ns beside_kernels_ns\n 50 -")


def test_calls_by_domain_and_name(trace) -> None:
    opened = trace(
        api_call="""
            start_ns end_ns domain  name       return_value
            0        10     runtime cudaMalloc 0
            0        30     runtime cudaMalloc 2
            0        10     driver  cuMemAlloc 0
            0        -      runtime cudaFree   0
            0        50     runtime cudaEventQuery 600
        """
    )
    assert_rows(
        opened.query("api_summary"),
        """
        domain  name           percent calls errors total_ns mean_ns median_ns p99_ns stddev_ns unfinished
        runtime cudaEventQuery 50      1     0      50       50      50        50     -         0
        runtime cudaMalloc     40      2     1      40       20      20        29.8   14.1421   0
        driver  cuMemAlloc     10      1     0      10       10      10        10     -         0
        runtime cudaFree       0       0     0      0        -       -         -      -         1
        """,  # noqa: E501
    )


@pytest.mark.parametrize("query", ["api_summary", "api_thread_summary"])
def test_what_calls_returned_may_not_be_known(trace, query: str) -> None:
    opened = trace(
        api_call="""
            thread_id start_ns end_ns domain  name
            5         0        10     runtime cudaMalloc
        """
    )
    assert_rows(opened.query(query), "name calls errors\n cudaMalloc 1 -")


def test_calls_by_thread(trace) -> None:
    # Two processes have a thread of the same number.
    opened = trace(
        api_call="""
            process_id thread_id start_ns end_ns domain  name       return_value
            1          5         0        10     runtime cudaMalloc 0
            1          5         20       50     runtime cudaMalloc 2
            1          6         0        5      runtime cudaMalloc 0
            1          5         60       120    runtime cudaFree   0
            1          6         70       -      runtime cudaFree   0
            2          5         0        15     driver  cuMemAlloc 0
            2          -         0        1      driver  cuMemAlloc 0
        """
    )
    assert_rows(
        opened.query("api_thread_summary"),
        """
        process_id thread_id name       percent calls errors total_ns median_ns p99_ns max_ns unfinished
        1          5         cudaFree   60      1     0      60       60        60     60     0
        1          5         cudaMalloc 40      2     1      40       20        29.8   30     0
        2          5         cuMemAlloc 100     1     0      15       15        15     15     0
        1          6         cudaMalloc 100     1     0      5        5         5      5      0
        2          -         cuMemAlloc 100     1     0      1        1         1      1      0
        1          6         cudaFree   0       0     0      0        -         -      -      1
        """,  # noqa: E501
    )


def test_an_empty_trace_has_empty_summaries(trace) -> None:
    opened = trace()
    for name in ("kernel_summary", "memcpy_summary", "api_summary", "gpu_busy", "nvtx_range"):
        assert opened.query(name).arrow().num_rows == 0, name


def test_times_of_today_and_long_sums_are_exact(trace) -> None:
    start = 1763668800123456789
    opened = trace(
        kernel=f"""
            start_ns end_ns                          name
            {start}  {start + 1}                     a
            {start}  {start + 4_000_000_000_000_001} a
        """
    )
    assert_rows(opened.query("kernel_summary"), "name total_ns\n a 4000000000000002")


def test_the_wall_time_is_of_the_capture_of_a_command(trace: MakeTrace) -> None:
    """What runs before a process uses CUDA is not traced."""
    wall = "SELECT value::BIGINT AS ns, detail FROM run_summary WHERE subject = 'wall'"
    process = "process_id start_ns end_ns\n1 11000000000 13000000000"
    opened = trace(
        process=process,
        capture="start_ns end_ns command\n0 14000000000 'python train.py'",
    )
    assert_rows(opened.sql(wall), 'ns detail\n14000000000 "traced from 11.0 s on"')
    opened = trace(process=process, capture="start_ns end_ns command\n0 14000000000 -")
    assert_rows(opened.sql(wall), 'ns detail\n2000000000 "of the traced processes"')


@pytest.mark.parametrize("query", ["run_summary", "capture_health"])
def test_a_process_whose_pid_is_not_known(trace: MakeTrace, query: str) -> None:
    opened = trace(process="process_id pid host start_ns end_ns\n 1 7 n 0 9\n 2 - n 0 9")
    assert_rows(
        opened.sql(f"SELECT subject FROM {query} WHERE section = 'process' ORDER BY subject"),
        "subject\n'pid 7 on n'\n'without a pid on n'",
    )


def test_versions_are_those_that_people_know(trace: MakeTrace) -> None:
    opened = trace(
        process="""
            process_id pid cupti_version driver_version start_ns end_ns state
            1          1   130001        13000          0        9      finished
            2          2   22            12080          0        9      finished
            3          3   -             13010          0        9      imported
        """
    )
    assert_rows(
        opened.sql("SELECT subject, detail FROM run_summary WHERE section = 'process'"),
        """
        subject detail
        "pid 1" "CUPTI 13.0, driver for CUDA 13.0"
        "pid 2" "CUPTI API version 22, driver for CUDA 12.8"
        "pid 3" "imported, driver for CUDA 13.1"
        """,
    )


def test_calls_after_which_something_did_not_run_are_on_the_page(trace: MakeTrace) -> None:
    # 600 says that an event is not there yet, and 1 that an address is not the device's.
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 10 20 a",
        api_call="""
            process_id correlation_id domain  name                     start_ns end_ns return_value
            1          1              runtime cudaLaunchKernel         1        2      701
            1          2              runtime cudaLaunchKernel         3        4      701
            1          3              runtime cudaLaunchKernel         5        6      0
            1          4              runtime cudaMalloc               7        8      2
            1          5              runtime cudaEventQuery           9        10     600
            1          6              runtime cudaPointerGetAttributes 11       12     1
            1          7              runtime cudaMemcpyAsync          13       14     1
        """,
    )
    assert_rows(
        opened.sql("SELECT subject, value, unit, detail FROM run_summary WHERE section = 'errors'"),
        """
        subject          value unit  detail
        cudaLaunchKernel 2     calls "failed: a block needs more registers or threads than there \
are (701)"
        cudaMalloc       1     calls "failed: out of memory (2)"
        cudaMemcpyAsync  1     calls "failed: error (1)"
        """,
    )


@pytest.mark.parametrize("ranks", [4, 5])
def test_many_processes_do_not_hide_what_ran(trace: MakeTrace, ranks: int) -> None:
    opened = trace(
        process="process_id pid rank start_ns end_ns\n"
        + "\n".join(f"{n} {n} {n} 0 100" for n in range(ranks)),
        device="process_id device_id device_uuid\n"
        + "\n".join(f"{n} 0 GPU-{n}" for n in range(ranks)),
        kernel="process_id device_id start_ns end_ns name\n"
        + "\n".join(f"{n} 0 10 20 a" for n in range(ranks)),
    )
    sections = [row["section"] for row in opened.query("run_summary")]
    others = ["process"] * ranks, ["gpu"] * ranks * 2
    assert sections == (
        ["run", *others[0], *others[1], "kernels", "kernels"]
        if ranks == 4
        else ["run", "kernels", "kernels", *others[1], *others[0]]
    )


def test_a_share_too_small_to_be_seen_is_told_from_none(trace: MakeTrace) -> None:
    opened = trace(kernel="start_ns end_ns name\n0 9998 a\n10000 10002 b\n20000 20000 c")
    assert_rows(
        opened.sql("SELECT subject, detail FROM run_summary WHERE length(subject) = 1"),
        """
        subject detail
        a       "100.0 % of all, 1 call"
        b       "<0.1 % of all, 1 call"
        c       "0.0 % of all, 1 call"
        """,
    )


def test_large_numbers_are_written_alike_in_words_and_in_columns(trace: MakeTrace) -> None:
    kernels = "\n".join(f"{at * 2} {at * 2 + 1} k" for at in range(1200))
    copies = "\n".join(f"{at * 2} {at * 2 + 1} HtoD 4" for at in range(1100))
    opened = trace(
        kernel=f"start_ns end_ns name\n{kernels}",
        memcpy=f"start_ns end_ns copy_kind bytes\n{copies}",
    )
    assert_rows(
        opened.sql("SELECT subject, detail FROM run_summary WHERE subject IN ('k', 'HtoD')"),
        """
        subject detail
        k       "100.0 % of all, 1,200 calls"
        HtoD    "1,100 copies, 4 GB/s"
        """,
    )
