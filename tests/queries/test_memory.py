"""Queries about memory: copies, allocations, managed memory."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows


def test_copies_that_block_the_host(trace: MakeTrace) -> None:
    opened = trace(
        memcpy="""
            process_id correlation_id start_ns end_ns copy_kind src_kind dst_kind bytes is_async
            1          1              100      110    HtoD      pageable device   64    true
            1          2              200      210    HtoD      pinned   device   64    true
            1          3              300      310    DtoH      device   pinned   64    false
        """,
        api_call="""
            process_id correlation_id domain  name            start_ns end_ns
            1          1              runtime cudaMemcpyAsync 0        105
            1          2              runtime cudaMemcpyAsync 190      195
            1          3              runtime cudaMemcpy      290      320
        """,
    )
    assert_rows(
        opened.query("memcpy_blocking"),
        """
        reason      api_name        copy_kind calls host_ns device_ns saved_ns
        pageable    cudaMemcpyAsync HtoD      1     105     10        100
        synchronous cudaMemcpy      DtoH      1     30      10        25
        """,
    )


def test_the_name_says_whether_an_imported_copy_blocks(trace: MakeTrace) -> None:
    opened = trace(
        memcpy="""
            process_id correlation_id start_ns end_ns copy_kind src_kind dst_kind bytes
            1          1              200      210    HtoD      pinned   device   64
            1          2              300      310    DtoH      device   pinned   64
            1          3              400      410    DtoD      device   device   64
        """,
        api_call="""
            process_id correlation_id domain  name            start_ns end_ns
            1          1              runtime cudaMemcpyAsync 190      195
            1          2              runtime cudaMemcpy      290      320
            1          3              runtime cudaGraphLaunch 390      395
        """,
    )
    assert_rows(
        opened.query("memcpy_blocking"),
        "reason api_name calls host_ns saved_ns\nsynchronous cudaMemcpy 1 30 25",
    )


def test_runs_of_small_copies(trace: MakeTrace) -> None:
    rows = [f"1 1 7 {at * 100} {at * 100 + 10} HtoD 64" for at in range(3)]
    rows += ["1 1 7 400 900 HtoD 1000000", "1 1 7 1000 1010 HtoD 64", "1 1 8 0 10 DtoH 64"]
    opened = trace(
        memcpy="process_id context_id stream_id start_ns end_ns copy_kind bytes\n" + "\n".join(rows)
    )
    assert_rows(
        opened.query("memcpy_small"),
        """
        copy_kind copies small_pct runs in_runs longest_run fixed_ns before_ns saved_ns
        HtoD      4      80        1    3       3           10       180       200
        DtoH      1      100       0    0       0           10       0         0
        """,
    )


def test_copies_with_a_kernel_between_them_are_no_run(trace: MakeTrace) -> None:
    # Of six copies, a kernel runs between the third and the fourth, and one beside the last two.
    copies = "process_id device_id context_id stream_id start_ns end_ns copy_kind bytes" + "".join(
        f"\n1 0 1 7 {at * 100} {at * 100 + 10} HtoD 64" for at in range(6)
    )
    kernels = "process_id device_id start_ns end_ns name"
    opened = trace(memcpy=copies, kernel=f"{kernels}\n1 0 220 290 a\n1 0 405 900 b")
    assert_rows(
        opened.query("memcpy_small"),
        "copies runs in_runs longest_run fixed_ns before_ns\n6 2 6 3 10 270",
    )
    between = "".join(f"\n1 0 {at * 100 + 20} {at * 100 + 90} a" for at in range(6))
    opened = trace(memcpy=copies, kernel=kernels + between)
    assert_rows(opened.query("memcpy_small"), "copies runs in_runs saved_ns\n6 0 0 0")
    assert not list(opened.query("finding_small_copies"))


MEMORY = """
    process_id device_id memory_kind operation  timestamp_ns address bytes
    1          0         device      allocation 100          1000    64
    1          0         device      allocation 200          2000    32
    1          0         device      release    300          1000    64
    1          0         device      allocation 400          1000    16
    1          0         device      release    500          9000    8
    2          0         device      release    500          2000    8
"""


def test_memory_in_use_over_time(trace: MakeTrace) -> None:
    assert_rows(
        trace(memory=MEMORY).query("memory_timeline"),
        """
        timestamp_ns change_bytes in_use_bytes allocations is_peak
        100          64           64           1           false
        200          32           96           2           true
        300          -64          32           1           false
        400          16           48           2           false
        """,
    )


def test_memory_of_a_context_that_was_reset_is_not_in_use_with_what_took_its_place(
    trace: MakeTrace,
) -> None:
    """cudaDeviceReset releases it, and nobody records that."""
    opened = trace(
        memory="""
            process_id device_id memory_kind operation  timestamp_ns address bytes
            1          0         device      allocation 100          1000    64
            1          0         device      allocation 200          1000    32
            1          0         device      release    300          1000    32
        """
    )
    assert_rows(
        opened.query("memory_timeline"),
        """
        timestamp_ns change_bytes in_use_bytes allocations is_peak
        100          64           64           1           true
        200          -64          0            0           false
        200          32           32           1           false
        300          -32          0            0           false
        """,
    )
    assert_rows(opened.query("memory_leaks"), "bytes")


def test_what_was_allocated_at_no_known_time_is_at_no_peak(trace: MakeTrace) -> None:
    opened = trace(
        memory="""
            process_id device_id timestamp_ns operation  memory_kind address bytes
            1          0         100          allocation device      1       64
            1          0         -            allocation device      2       32
        """
    )
    assert_rows(opened.query("memory_timeline"), "timestamp_ns in_use_bytes is_peak\n 100 64 true")
    assert_rows(opened.query("memory_peak_holders"), "peak_ns allocations bytes\n 100 1 64")


def test_who_held_memory_at_the_peak(trace: MakeTrace) -> None:
    # At 300 one is released, then another made; at 400 the device's peak is past; process 2 has the
    # same addresses and ids.
    opened = trace(
        memory="""
            process_id device_id memory_kind operation  timestamp_ns address bytes correlation_id \
source pool_type pool_address
            1          0         device      allocation 100          1000    64    1 a.so local 8
            1          0         device      allocation 200          2000    32    2 a.so local 8
            1          0         device      allocation 210          3000    8     3 b.so none  -
            1          0         device      release    300          2000    32    4 a.so local 8
            1          0         device      allocation 301          2000    40    5 a.so local 8
            1          0         device      release    400          1000    64    6 a.so local 8
            1          0         pinned      allocation 500          9000    7     9 a.so none  -
            2          0         device      allocation 100          1000    10    1 c.so none  -
            2          0         device      release    200          1000    10    2 c.so none  -
        """,
        api_call="""
            process_id thread_id correlation_id domain  name            start_ns end_ns
            1          5         1              runtime cudaMallocAsync 90       105
            1          5         1              driver  cuMemAllocAsync 92       104
            1          5         3              runtime cudaMalloc      205      215
            1          6         5              runtime cudaMallocAsync 290      305
            2          5         1              runtime cudaMalloc      90       105
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 10           train
            1          5         2         start 50           layer
            1          5         2         end   150          -
            1          5         1         end   600          -
        """,
    )
    assert_rows(
        opened.query("memory_peak_holders"),
        """
        process_id memory_kind peak_ns range         api_name        source pool_type pool_address \
allocations bytes percent
        1          device      301     "train / layer" cudaMallocAsync a.so local     8 1 64 57.1429
        1          device      301     -             cudaMallocAsync a.so   local     8 1 40 35.7143
        1          device      301     train         cudaMalloc      b.so   none      - 1 8  7.14286
        1          pinned      500     -             -               a.so   none      - 1 7  100
        2          device      100     -             cudaMalloc      c.so   none      - 1 10 100
        """,
    )


def test_what_pools_reserve_and_use(trace: MakeTrace) -> None:
    opened = trace(
        memory_pool="""
            process_id device_id operation timestamp_ns address bytes utilized_bytes \
release_threshold_bytes
            1          0         created   0            8       0     0   512
            1          0         trimmed   400          8       512   0   512
            1          0         created   10           9       -     -   -
        """,
        memory="""
            process_id device_id operation  timestamp_ns bytes address pool_type pool_address \
pool_bytes pool_utilized_bytes pool_release_threshold_bytes
            1          0         allocation 100          600   1       local     8 1024 600 256
            1          0         allocation 200          300   2       local     8 1024 900 256
            1          0         release    300          600   1       local     8 1024 300 256
            1          0         allocation 100          600   3       none      - -    -   -
            2          0         allocation 100          4     1       local     8 64   4   0
        """,
    )
    assert_rows(
        opened.query("memory_pool_usage"),
        """
        process_id pool_address allocations allocated_bytes trims peak_reserved_bytes \
peak_used_bytes peak_used_ns mean_reserved_bytes mean_used_bytes used_pct last_reserved_bytes \
last_used_bytes release_threshold_bytes
        1 8 2 900 1 1024 900 200 768 450 58.5938 512 0 512
        2 8 1 4   0 64   4   100 -   -   -       64  4 0
        """,
    )


def test_a_pool_of_which_some_records_do_not_say_what_is_in_use(trace: MakeTrace) -> None:
    # In use are 40 for 100 ns and 20 for 300, and for 100 it is not known.
    opened = trace(
        memory="""
            process_id operation  timestamp_ns bytes pool_type pool_address pool_bytes \
pool_utilized_bytes
            1          allocation 100          40    local     8            100 40
            1          allocation 200          -     local     8            100 -
            1          release    300          -     local     8            100 20
            1          release    600          -     local     8            100 -
        """
    )
    assert_rows(
        opened.query("memory_pool_usage"),
        """
        allocations allocated_bytes trims peak_used_bytes peak_used_ns mean_used_bytes \
mean_reserved_bytes
        2           40              -     40              100          25              100
        """,
    )


def test_what_was_not_released(trace: MakeTrace) -> None:
    assert_rows(
        trace(memory=MEMORY).query("memory_leaks"),
        """
        process_id memory_kind allocations bytes first_ns last_ns verdict
        1          device      2           48    200      400     "cannot tell"
        """,
    )


# The five steps after the first add 116 on average, with a standard error of 9.798, and with four
# degrees of freedom Student's t is 2.776.
@pytest.mark.parametrize(
    ("sizes", "growth", "error", "verdict"),
    [
        ([900, 100, 100, 100, 100], 100, 0, "grows"),
        ([900, 100, 140, 100, 140, 100], 116, 9.798 * 2.776, "grows"),
        ([900, 0, 0, 800, 0, 0], 160, 160 * 2.776, "does not grow"),
        ([900, 0, 0, 0], 0, 0, "does not grow"),
    ],
    ids=["even", "uneven", "once", "at first"],
)
@pytest.mark.parametrize(("thread", "path"), [(5, "step*"), (6, None)], ids=["inside", "outside"])
@pytest.mark.parametrize("behind", [0, 10_000], ids=["at once", "all launched ahead"])
def test_a_leak_grows_with_the_steps(
    trace: MakeTrace,
    sizes: list[int],
    growth: float,
    error: float,
    verdict: str,
    thread: int,
    path: str | None,
    behind: int,
) -> None:
    steps = range(len(sizes))
    opened = trace(
        memory="process_id device_id memory_kind operation timestamp_ns address bytes thread_id\n"
        + "\n".join(
            f"1 0 device allocation {s * 1000 + 10} {s} {sizes[s]} {thread}" for s in steps
        ),
        marker="process_id marker_id event timestamp_ns name thread_id\n"
        + "\n".join(
            f"1 {s} start {s * 1000} step{s} 5\n1 {s} end {s * 1000 + 900} - 5" for s in steps
        ),
        api_call="process_id correlation_id domain name start_ns end_ns thread_id\n"
        + "\n".join(
            f"1 {s} runtime cudaLaunchKernel {s * 1000 + 1} {s * 1000 + 2} 5" for s in steps
        ),
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {s} {behind + s * 1000 + 5} {behind + s * 1000 + 800} a" for s in steps),
    )
    (row,) = opened.query("memory_leaks")
    assert (row["bytes"], row["verdict"], row["range"]) == (sum(sizes), verdict, path)
    assert row["growth_bytes_per_step"] == pytest.approx(growth)
    # The sums are of doubles, in an order that DuckDB chooses; t is of a series.
    assert row["growth_error"] == pytest.approx(error, rel=0.04, abs=1e-3)


def test_managed_memory_that_comes_back(trace: MakeTrace) -> None:
    opened = trace(
        unified_memory="""
            process_id counter             start_ns end_ns address bytes migration_cause
            1          bytes_transfer_HtoD 100      200    65536   4096  user
            1          bytes_transfer_DtoH 300      350    65600   4096  coherence
            1          bytes_transfer_HtoD 400      500    65536   4096  user
            1          gpu_page_fault      90       -      65536   -     -
        """
    )
    assert_rows(
        opened.query("unified_memory_migration"),
        """
        counter             cause     events bytes total_ns rate_gbps blocks round_trips
        bytes_transfer_HtoD user      2      8192  200      40.96     1      1
        bytes_transfer_DtoH coherence 1      4096  50       81.92     1      1
        gpu_page_fault      -         1      0     0        -         1      0
        """,
    )


def test_each_of_several_moves_back_is_a_round_trip(trace: MakeTrace) -> None:
    # Two pages go together, and come back one by one; the third was never there.
    opened = trace(
        unified_memory="""
            process_id counter             start_ns end_ns address bytes
            1          bytes_transfer_HtoD 100      200    65536   8192
            1          bytes_transfer_DtoH 300      350    65536   4096
            1          bytes_transfer_DtoH 400      450    69632   4096
            1          bytes_transfer_DtoH 500      550    73728   4096
        """
    )
    assert_rows(
        opened.query("unified_memory_migration"),
        """
        counter             events blocks page_faults round_trips
        bytes_transfer_DtoH 3      1      -           2
        bytes_transfer_HtoD 1      1      -           0
        """,
    )


def test_only_the_way_back_is_a_round_trip(trace: MakeTrace) -> None:
    # Block 1 goes to device 0, on to 1, back to 0, and to the host. Of block 2 the devices are not
    # known, and so not where a move between devices came from.
    opened = trace(
        unified_memory="""
            process_id counter             start_ns end_ns address src_device_id dst_device_id
            1          bytes_transfer_HtoD 100      110    65536   -             0
            1          bytes_transfer_DtoD 200      210    65536   0             1
            1          bytes_transfer_DtoD 300      310    65536   1             0
            1          bytes_transfer_DtoH 400      410    65536   0             -
            1          bytes_transfer_HtoD 500      510    65536   -             0
            1          bytes_transfer_HtoD 100      110    131072  -             -
            1          bytes_transfer_DtoD 200      210    131072  -             -
            1          bytes_transfer_DtoD 300      310    131072  -             -
        """
    )
    assert_rows(
        opened.sql(
            "SELECT counter, src_device_id AS src, dst_device_id AS dst, events, round_trips"
            " FROM unified_memory_migration ORDER BY ALL"
        ),
        """
        counter             src dst events round_trips
        bytes_transfer_DtoD 0   1   1      0
        bytes_transfer_DtoD 1   0   1      1
        bytes_transfer_DtoD -   -   2      0
        bytes_transfer_DtoH 0   -   1      0
        bytes_transfer_HtoD -   0   2      1
        bytes_transfer_HtoD -   -   1      0
        """,
    )
