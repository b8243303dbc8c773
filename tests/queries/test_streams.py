"""Queries about streams: how they overlap, and when they are idle."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.render.table import View, table

# Stream 7 of one process: 0-20, 10-30 (dependent launch) and a copy 35-40; its stream 8: 20-50;
# stream 7 of another process: 25-45.  Then nothing until 80, and a kernel of no length.
STREAMS = {
    "kernel": """
        process_id device_id context_id stream_id start_ns end_ns name
        1          0         1          7         1000     1020   a
        1          0         1          7         1010     1030   b
        1          0         1          8         1020     1050   a
        1          0         1          8         1060     -      a
        2          0         1          7         1025     1045   a
        1          0         -          7         1080     1080   a
        1          0         1          8         1080     1100   a
        1          1         1          9         1000     1010   a
    """,
    "memcpy": """
        process_id device_id context_id stream_id start_ns end_ns copy_kind
        1          0         1          7         1035     1040   HtoD
    """,
    "device": """
        process_id device_id device_uuid
        1          0         GPU-a
        2          0         GPU-a
        1          1         GPU-b
    """,
}


def test_streams_at_once(trace: MakeTrace) -> None:
    opened = trace(**STREAMS)
    assert_rows(
        opened.query("stream_concurrency"),
        """
        gpu streams total_ns percent kernel_ns
        0   0       30       30      0
        0   1       45       45      55
        0   2       20       20      40
        0   3       5        5       15
        1   1       10       100     10
        """,
    )


def test_kernels_of_one_stream_that_overlap(trace: MakeTrace) -> None:
    # From 10 to 20 two of stream 7; what runs beside it in other streams is no overlap within one.
    assert_rows(
        trace(**STREAMS).query("kernel_overlap"),
        """
        gpu kernel_ns busy_ns ratio   overlap_ns overlap_pct same_stream_ns same_stream_pct \
max_kernels max_streams
        0   110       70      1.57143 35 50 10 14.2857 3 3
        1   10        10      1       0  0  0  0       1 1
        """,
    )


def test_pairs_of_streams_are_compared_by_all_their_work(trace: MakeTrace) -> None:
    # The stream without a context had no time in which it worked, and no share of it.
    opened = trace(**STREAMS)
    assert_rows(
        opened.query("stream_overlap", streams=3),
        """
        gpu process_id stream_id other_process_id other_stream_id busy_ns overlap_ns overlap_pct
        0   1          8         1                7               50      15         30
        0   1          8         2                7               50      20         40
        0   1          7         1                8               35      15         42.8571
        0   1          7         2                7               35      10         28.5714
        0   2          7         1                8               20      20         100
        0   2          7         1                7               20      10         50
        """,
    )
    assert opened.query("stream_overlap").count() == 4 * 3
    assert [
        (row["context_id"], row["overlap_ns"], row["overlap_pct"])
        for row in opened.sql("FROM stream_overlap() WHERE busy_ns = 0")
    ] == [(None, 0, None)] * 3


def test_a_stream_is_idle_while_others_work(trace: MakeTrace) -> None:
    # That of the other process begins anew; its gap is one of 35, though stream 8 goes on.
    opened = trace(
        **STREAMS
        | {
            "memset": """
                process_id device_id context_id stream_id correlation_id start_ns end_ns
                2          0         1          7         5              1080     1090
            """
        }
    )
    assert_rows(
        opened.query("stream_gaps", min_ns=5),
        """
        gpu process_id stream_id start_ns end_ns gap_ns previous_kind previous_name next_kind \
next_name next_correlation_id
        0   2          7         1045     1080   35     kernel        a             memset    \
-         5
        0   1          8         1050     1080   30     kernel        a             kernel    \
a         -
        0   1          7         1030     1035   5      kernel        b             memcpy    \
HtoD      -
        """,
    )
    assert opened.query("stream_gaps", min_ns=6).count() == 2
    assert opened.query("stream_gaps", min_ns=0).count() == 3  # work without a gap makes none


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("stream_overlap", {"stream_id", "other_stream_id"}),
        ("stream_gaps", {"stream_id"}),
        ("queue_depth", {"stream_id"}),
    ],
)
def test_a_table_says_which_stream_a_row_is_about(
    trace: MakeTrace, name: str, columns: set[str]
) -> None:
    calls = """
        process_id correlation_id start_ns end_ns
        1          1              990      995
    """
    kernels = """
        process_id device_id context_id stream_id correlation_id start_ns end_ns name
        1          0         1          7         1              1000     1020   a
        1          0         1          8         1              1020     1050   b
        1          0         1          8         1              9000     9100   b
    """
    opened = trace(api_call=calls, kernel=kernels, device=STREAMS["device"])
    rows = opened.query(name)
    assert rows.count()
    assert columns <= {column.name for column in table(rows, View()).columns}
