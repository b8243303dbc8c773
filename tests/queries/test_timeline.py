"""Queries about time on the GPU: small traces and every number of the answer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trace import ONE_THREAD, MakeTrace, assert_rows, write_tables

import cupti_etl
from cupti_etl.errors import UsageError

# Compute 0-10 and 8-20, communication 15-40, a copy 35-60, nothing until 80, compute to 100.
MIXED = {
    "kernel": """
        process_id device_id stream_id start_ns end_ns name
        1          0         7         1000     1010   a
        1          0         8         1008     1020   b
        1          0         9         1015     1040   ncclDevKernel_AllReduce
        1          0         7         1080     1100   a
        1          0         7         1050     -      a
        1          0         7         1090     1090   a
    """,
    "memcpy": """
        process_id device_id stream_id start_ns end_ns copy_kind bytes
        1          0         10        1035     1060   HtoD      100
    """,
    "device": "process_id device_id device_uuid name\n 1 0 GPU-a H200",
    "process": "process_id host\n 1 node",
}


def test_the_parts_of_the_time_add_to_all_of_it(trace: MakeTrace) -> None:
    assert_rows(
        trace(**MIXED).query("busy_breakdown"),
        """
        gpu device_name host compute_ns exposed_communication_ns exposed_copy_ns idle_ns span_ns
        0   H200        node 40         20                       20              20      100
        """,
    )


def test_busy_intervals_touch_nothing_between(trace: MakeTrace) -> None:
    assert_rows(
        trace(**MIXED).sql("FROM _busy_interval ORDER BY work, start_ns"),
        """
        gpu work                     start_ns end_ns busy_before_ns
        0   any                      1000     1060   0
        0   any                      1080     1100   60
        0   compute                  1000     1020   0
        0   compute                  1080     1100   20
        0   compute_or_communication 1000     1040   0
        0   compute_or_communication 1080     1100   40
        """,
    )


def test_a_gap_has_what_ran_before_and_after(trace: MakeTrace) -> None:
    assert_rows(
        trace(**MIXED).query("gpu_gaps", min_ns=1),
        """
        gpu start_ns end_ns gap_ns percent previous_kind previous_name next_kind next_name
        0   1060     1080   20     100     memcpy        HtoD          kernel    a
        """,
    )
    assert trace(**MIXED).query("gpu_gaps", min_ns=21).count() == 0


def test_overlap_is_of_unions(trace: MakeTrace) -> None:
    assert_rows(
        trace(**MIXED).query("overlap_matrix"),
        """
        category      other         category_ns overlap_ns overlap_pct
        communication compute       25          5          20
        communication copy          25          5          20
        compute       communication 40          5          12.5
        compute       copy          40          0          0
        copy          communication 25          5          20
        copy          compute       25          0          0
        """,
    )


def test_kernels_at_once(trace: MakeTrace) -> None:
    assert_rows(
        trace(**MIXED).query("concurrency"),
        """
        gpu kernels total_ns percent
        0   0       40       40
        0   1       53       53
        0   2       7        7
        """,
    )


def test_buckets_hold_what_lies_in_them(trace: MakeTrace) -> None:
    assert_rows(
        trace(**MIXED).query("utilization_timeline", bucket_ns=30),
        """
        start_ns busy_pct compute_ns exposed_communication_ns exposed_copy_ns idle_ns
        1000     100      20         10                       0               0
        1030     100      0          10                       20              0
        1060     33.3333  10         0                        0               20
        1090     100      10         0                        0               0
        """,
    )


def test_devices_and_processes_that_share_them(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         100      200    a
            2          1         150      300    a
            1          1         100      110    a
            3          0         100      120    a
        """,
        device="""
            process_id device_id device_uuid
            1          0         GPU-a
            2          1         GPU-a
            1          1         GPU-b
        """,
    )
    assert_rows(
        opened.sql(
            "SELECT gpu >= 0 AS known, compute_ns, span_ns FROM busy_breakdown ORDER BY ALL"
        ),
        """
        known compute_ns span_ns
        false 20         20
        true  10         10
        true  200        200
        """,
    )


HOST = {
    "kernel": """
        process_id device_id start_ns end_ns name correlation_id
        1          0         1000     1100   a    1
        1          0         1300     1400   a    2
        1          0         2000     2100   a    3
    """,
    # The first gap: 20 in a sync, 50 outside, 60 launching, 70 queued.  The second: 100 in the
    # allocation, of which 30 the profiler's; 480 outside; 20 launching until the kernel begins.
    "api_call": """
        process_id thread_id domain  name                 correlation_id start_ns end_ns
        1          5         runtime cudaLaunchKernel     1              900      950
        1          5         runtime cudaStreamSynchronize 9             1050     1120
        1          5         runtime cudaLaunchKernel     2              1170     1230
        1          5         runtime cudaMalloc           10             1400     1500
        1          5         runtime cudaLaunchKernel     3              1980     2010
    """,
    "overhead": "process_id start_ns end_ns overhead_kind\n 1 1420 1450 cupti_buffer_flush",
}


def test_causes_of_a_gap_add_to_it(trace: MakeTrace) -> None:
    opened = trace(**HOST)
    assert_rows(
        opened.query("gap_attribution", min_ns=1),
        """
        gap_ns queued_ns profiler_ns waiting_ns memory_ns launching_ns outside_ns cause
        600    0         30          0          70        20           480        "outside CUDA"
        200    70        0           20         0         60           50         queued
        """,
    )
    parts = "queued_ns + profiler_ns + loading_ns + waiting_ns + memory_ns + launching_ns"
    parts = f"{parts} + other_cuda_ns + outside_ns + unknown_ns"
    left = opened.sql(f"SELECT gap_ns - ({parts}) AS x FROM gap_attribution(min_ns := 0)")
    assert {row["x"] for row in left} == {0}


def test_the_gap_before_a_copy_that_is_waited_for_is_waiting(trace: MakeTrace) -> None:
    # The copy's call, for item(), goes on from 90 until the copy is done; that of the copy from
    # pinned memory returns at once, and what is between is memory only as far as it lasts.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name correlation_id
            1          0         0        100    a    1
            1          0         400      500    a    4
        """,
        memcpy="""
            process_id device_id start_ns end_ns correlation_id copy_kind src_kind dst_kind
            1          0         120      150    2              DtoH      device   pageable
            1          0         300      350    3              HtoD      pinned   device
        """,
        api_call="""
            process_id domain  name                  correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel      1              0        10
            1          runtime cudaMemcpyAsync       2              90       170
            1          runtime cudaMemcpyAsync       3              200      280
            1          runtime cudaLaunchKernel      4              290      300
        """,
    )
    assert_rows(
        opened.query("gap_attribution", min_ns=1),
        """
        start_ns gap_ns queued_ns waiting_ns memory_ns outside_ns cause
        150      150    20        20         80        30         memory
        350      50     50        0          0         0          queued
        100      20     0         20         0         0          waiting
        """,
    )


def test_a_gap_before_work_without_a_recorded_call_is_not_blamed(trace: MakeTrace) -> None:
    # The kernels of 100 and 200 were launched before the recording began, though the process has
    # calls in their gaps; that of 300 has no id; the call of that of 400 goes on beyond the gap.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name correlation_id
            1          0         0        50     a    1
            1          0         100      150    a    2
            1          0         200      250    a    3
            1          0         300      350    a    -
            1          0         400      450    a    4
            1          0         500      550    a    5
        """,
        api_call="""
            process_id domain  name                   correlation_id start_ns end_ns
            1          runtime cudaDeviceSynchronize  8              40       120
            1          runtime cudaLaunchKernel       4              360      430
            1          runtime cudaLaunchKernel       5              460      470
            1          runtime cudaLaunchKernel       6              480      -
        """,
        overhead="process_id start_ns end_ns\n 1 160 190",
    )
    assert_rows(
        opened.query("gap_attribution", min_ns=0),
        """
        gap_ns queued_ns profiler_ns waiting_ns launching_ns outside_ns unknown_ns cause
        50     0         0           0          0            0          50         unknown
        50     0         0           0          0            0          50         unknown
        50     0         0           0          0            0          50         unknown
        50     0         0           0          40           10         0          launching
        50     30        0           0          10           10         0          queued
        """,
    )
    assert_rows(opened.query("launch_bound"), "launching_ns between_calls_ns idle_ns\n 50 20 250")


def test_gaps_have_no_cause_without_calls(trace: MakeTrace) -> None:
    assert trace(kernel=HOST["kernel"]).query("gap_attribution").count() == 0


def test_a_gap_of_a_process_without_calls_is_of_unknown_cause(trace: MakeTrace) -> None:
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 10 20 a\n 1 0 50 60 a",
        api_call="process_id name start_ns end_ns\n 2 cudaMalloc 0 100",
    )
    assert_rows(
        opened.query("gap_attribution", min_ns=0),
        "gap_ns unknown_ns outside_ns cause\n 30 30 0 unknown",
    )


def test_launch_bound_is_idle_time_of_launching_and_of_short_pauses(trace: MakeTrace) -> None:
    assert_rows(
        trace(**HOST).query("launch_bound"),
        """
        verdict        saved_ns launching_ns between_calls_ns idle_ns span_ns
        "launch bound" 610      80           530              800     1100
        """,
    )


def test_what_is_launched_after_waiting_for_the_gpu_is_the_price_of_waiting(
    trace: MakeTrace,
) -> None:
    # After a, the host waits, and has b on its way 30 later; c, which it launches 50 after b had
    # ended, it could have launched before.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns correlation_id name
            1          0         100      200    1              a
            1          0         250      300    3              b
            1          0         360      400    4              c
        """,
        api_call="""
            process_id thread_id domain  name                   correlation_id start_ns end_ns
            1          5         runtime cudaLaunchKernel       1              10       20
            1          5         runtime cudaDeviceSynchronize  2              30       210
            1          5         runtime cudaLaunchKernel       3              225      240
            1          5         runtime cudaLaunchKernel       4              330      350
        """,
        device="process_id device_id device_uuid\n 1 0 A",
    )
    assert_rows(
        opened.query("launch_bound"),
        "saved_ns launching_ns between_calls_ns synchronized_ns\n 80 35 45 30",
    )
    assert_rows(
        opened.query("finding_synchronizing"),
        "saved_ns culprit\n 40 'above all in cudaDeviceSynchronize'",
    )
    assert_rows(opened.query("finding_launches"), "saved_ns kernel\n 50 c")


@pytest.mark.parametrize("query", ["utilization_timeline", "pm_timeline"])
@pytest.mark.parametrize(
    ("bucket_ns", "message"),
    [
        (0, "bucket_ns must be 1 or more"),
        (-5, "bucket_ns must be 1 or more"),
        (1, "bucket_ns = 1 makes more than ten million buckets: give 301 or more"),
        (300, "bucket_ns = 300 makes more than ten million buckets: give 301 or more"),
    ],
)
def test_buckets_that_are_too_small_are_refused(
    trace: MakeTrace, query: str, bucket_ns: int, message: str
) -> None:
    opened = trace(
        kernel="device_id start_ns end_ns name\n 0 0 9 a\n 0 3000000000 3000000007 a",
        pm_sample="device_uuid start_ns end_ns dram_pct\n A 0 10 1\n A 3000000000 3000000007 1",
        pm_metric="device_uuid metric unit aggregation interval_ns\n A dram_pct % mean 10",
        device="process_id device_id device_uuid\n 1 0 A",
    )
    with pytest.raises(UsageError, match=f"^{message}"):
        list(opened.query(query, bucket_ns=bucket_ns))


def test_what_the_host_did_never_overlaps(trace: MakeTrace) -> None:
    assert_rows(
        trace(**HOST).sql("FROM _host_activity WHERE start_ns >= 1400 ORDER BY start_ns"),
        """
        start_ns end_ns state
        1400     1420   memory
        1420     1450   profiler
        1450     1500   memory
        1980     2010   launching
        """,
    )


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "nccl", "copy"]), st.integers(1, 50), st.integers(0, 12)),
        min_size=1,
        max_size=90,
    )
)
@settings(max_examples=12, deadline=None)  # each opens a trace
def test_the_breakdown_is_that_of_brute_force(work: list[tuple[str, int, int]]) -> None:
    header = "process_id device_id start_ns end_ns"
    rows = [(name, start, start + length) for name, start, length in work]
    kernels = "\n".join(f"1 0 {s} {e} {name}" for name, s, e in rows if name != "copy")
    copies = "\n".join(f"1 0 {s} {e}" for name, s, e in rows if name == "copy")
    first, last = min(s for _, s, _ in rows), max(e for _, _, e in rows)
    expected = dict.fromkeys(("compute", "exposed_communication", "exposed_copy", "idle"), 0)
    for at in range(first, last):
        running = {name for name, s, e in rows if s <= at < e}
        part = (
            "compute"
            if "a" in running
            else "exposed_communication"
            if "nccl" in running
            else "exposed_copy"
            if running
            else "idle"
        )
        expected[part] += 1
    with tempfile.TemporaryDirectory() as folder:
        path = write_tables(
            Path(folder) / "run", kernel=f"{header} name\n{kernels}", memcpy=f"{header}\n{copies}"
        )
        with cupti_etl.open(path, settings=ONE_THREAD) as opened:
            (row,) = opened.query("busy_breakdown")
            buckets = list(opened.query("utilization_timeline", bucket_ns=7))
    assert {name: row[f"{name}_ns"] for name in expected} == expected
    for name in expected:
        assert sum(bucket[f"{name}_ns"] for bucket in buckets) == expected[name]


def test_gpus_of_several_profiles_of_one_process_are_numbered_in_their_order(
    trace: MakeTrace,
) -> None:
    """The numbers of these processes are drawn, and say nothing."""
    opened = trace(
        process="process_id pid start_ns\n7 100 300\n8 100 100\n9 100 200",
        device="process_id device_id\n7 0\n8 0\n9 0",
    )
    assert_rows(opened.sql("FROM gpu ORDER BY gpu"), "gpu process_id\n0 8\n1 9\n2 7")
