"""Copies whose size or time nobody knows."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

COPIES = """
    start_ns end_ns copy_kind bytes
    0        100    HtoD      20000000
    100      200    HtoD      -
    200      250    HtoD      1000
    300      -      HtoD      3000
    400      420    DtoH      -
    500      500    DtoD      64
"""


def test_they_have_a_row_and_no_rate(trace: MakeTrace) -> None:
    assert_rows(
        trace(memcpy=COPIES).query("memcpy_summary"),
        """
        copy_kind size       copies bytes    total_ns rate_gbps rate_median_gbps mean_bytes unfinished
        HtoD      "> 16 MiB" 1      20000000 100      200000    200000           2e+07      0
        HtoD      -          1      -        100      -         -                -          0
        HtoD      "<= 4 KiB" 1      1000     50       20        20               1000       1
        DtoH      -          1      -        20       -         -                -          0
        DtoD      "<= 4 KiB" 1      64       0        -         -                64         0
        """,  # noqa: E501
    )


def test_the_rate_of_a_run_is_of_the_others(trace: MakeTrace) -> None:
    rows = trace(memcpy=COPIES).sql(
        "SELECT subject, value, detail FROM run_summary WHERE section = 'copies' ORDER BY subject"
    )
    assert_rows(
        rows,
        """
        subject value      detail
        DtoD    64         "1 copy"
        DtoH    -          "1 copy, 1 of unknown size"
        HtoD    2.0001e+07 "3 copies, 133,340 GB/s, 1 of unknown size"
        """,
    )


def test_moves_of_managed_memory_of_unknown_size(trace: MakeTrace) -> None:
    opened = trace(
        unified_memory="""
            process_id counter             start_ns end_ns address bytes
            1          bytes_transfer_HtoD 0        10     65536   100
            1          bytes_transfer_HtoD 20       60     131072  -
        """
    )
    assert_rows(
        opened.query("unified_memory_migration"), "events bytes total_ns rate_gbps\n 2 100 50 10"
    )
