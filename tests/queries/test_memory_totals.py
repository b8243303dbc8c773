"""Memory of an allocator that says how much it has given out."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

# 1000 bytes were given out before the recording, 600 of which are given back under way.
TOLD = """
    process_id device_id memory_kind operation  timestamp_ns address bytes source pool_type \
pool_bytes pool_utilized_bytes
    1          0         device      allocation 100          1       64    PyTorch local 2048 1064
    1          0         device      allocation 200          2       32    PyTorch local 2048 1096
    1          0         device      release    300          9       600   PyTorch local 2048 496
    1          0         device      release    400          1       64    PyTorch local 1024 432
    1          1         device      allocation 100          1       8     PyTorch local 512  8
    1          -         pageable    allocation 150          5       7     PyTorch local -    7
    1          0         pinned      allocation 160          6       5     a.so    none  -    -
"""


def test_what_the_allocator_says_is_in_use(trace: MakeTrace) -> None:
    opened = trace(memory=TOLD)
    assert_rows(
        opened.sql("FROM memory_timeline ORDER BY memory_kind, device_id, timestamp_ns"),
        """
        memory_kind device_id timestamp_ns change_bytes in_use_bytes allocations is_peak
        device      0         100          64           1064         1           false
        device      0         200          32           1096         2           true
        device      0         300          -600         496          2           false
        device      0         400          -64          432          1           false
        device      1         100          8            8            1           true
        pageable    -         150          7            7            1           true
        pinned      0         160          5            5            1           true
        """,
    )
    assert_rows(
        opened.sql("FROM memory_peak_holders WHERE memory_kind = 'device' AND device_id = 0"),
        """
        source                           allocations bytes percent
        "allocated before the recording" -           1000  91.2409
        PyTorch                          2           96    8.75912
        """,
    )


def test_changes_at_one_time_are_in_the_order_of_what_is_in_use(trace: MakeTrace) -> None:
    """Older PyTorch writes whole microseconds, in which several are given out or come back."""
    opened = trace(
        memory="""
            process_id device_id memory_kind operation  timestamp_ns address bytes pool_bytes \
pool_utilized_bytes
            1          -         pageable    allocation 1000         3       4     8          7
            1          -         pageable    allocation 1000         1       1     8          1
            1          -         pageable    allocation 1000         2       2     8          3
            1          -         pageable    release    2000         1       1     8          2
            1          -         pageable    release    2000         3       4     8          3
        """
    )
    assert_rows(
        opened.query("memory_timeline"),
        """
        timestamp_ns change_bytes in_use_bytes allocations is_peak
        1000         1            1            1           false
        1000         2            3            2           false
        1000         4            7            3           true
        2000         -4           3            2           false
        2000         -1           2            1           false
        """,
    )
    assert_rows(opened.query("_memory_held"), "memory_kind in_use_bytes\n pageable 2")
    assert_rows(opened.query("memory_pool_usage"), "mean_used_bytes last_used_bytes\n 7 2")


def test_what_the_allocator_reserved(trace: MakeTrace) -> None:
    assert_rows(
        trace(memory=TOLD).sql("FROM memory_pool_usage ORDER BY device_id"),
        """
        device_id pool_address allocations peak_reserved_bytes peak_used_bytes last_reserved_bytes
        0         -            2           2048                1096            1024
        1         -            1           512                 8               512
        """,
    )


def test_an_allocation_of_unknown_size_is_in_no_sum(trace: MakeTrace) -> None:
    opened = trace(
        memory="""
            process_id device_id memory_kind operation  timestamp_ns address bytes
            1          0         device      allocation 100          1       -
            1          0         device      allocation 200          2       8
            1          0         device      release    300          1       -
        """
    )
    assert_rows(opened.query("memory_timeline"), "timestamp_ns in_use_bytes is_peak\n 200 8 true")


def test_without_addresses_only_sums_are_known(trace: MakeTrace) -> None:
    """As PyTorch 1.8 writes it: 40 bytes of what is released were there before."""
    opened = trace(
        memory="""
            process_id device_id memory_kind operation  timestamp_ns address bytes
            1          0         device      allocation 100          -       64
            1          0         device      release    200          -       104
            1          0         device      allocation 300          -       16
        """
    )
    assert_rows(
        opened.sql("FROM memory_timeline ORDER BY timestamp_ns"),
        """
        timestamp_ns change_bytes in_use_bytes allocations is_peak
        100          64           104          -           true
        200          -104         0            -           false
        300          16           16           -           false
        """,
    )
    assert_rows(
        opened.query("memory_peak_holders"),
        "source allocations bytes percent\n'addresses are not known' - 104 100",
    )
    assert opened.query("memory_leaks").count() == 0


def test_ranges_of_a_thread_that_called_nothing(trace: MakeTrace) -> None:
    """Memory of PyTorch's allocator, of whose events the thread is known and no call."""
    opened = trace(
        memory="""
            process_id thread_id device_id memory_kind operation  timestamp_ns address bytes
            1          7         0         device      allocation 110          1       64
            1          8         0         device      allocation 120          2       32
            1          7         0         device      release    130          1       64
            1          -         0         device      allocation 140          3       8
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          7         1         start 100          conv
            1          7         1         end   200          -
        """,
    )
    assert_rows(
        opened.query("range_memory"),
        """
        path allocations allocated_bytes releases released_bytes most_bytes
        conv 1           64              1        64             64
        """,
    )
    assert_rows(
        opened.query("memory_peak_holders"),
        "range allocations bytes\nconv 1 64\n- 1 32",
    )
    assert_rows(
        opened.query("memory_operation"),
        "thread_id path\n7 conv\n8 -\n7 conv\n- -",
    )
