"""The timeline of the page: lanes, marks of a window, search, and a call with its work."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trace import MakeTrace, assert_rows, write_tables

import cupti_etl
from cupti_etl.api import Trace

pytestmark = pytest.mark.slow

# A range around two calls, a driver call in the first of them; a kernel of 40 us, one of 5 us that
# begins before it has ended, a copy, and a kernel that never ended.
RUN = {
    "capture": "start_ns end_ns\n1000000 9000000",
    "process": "process_id pid host argv start_ns end_ns\n5 77 node train.py 1000000 9000000",
    "device": "process_id device_id device_uuid name\n5 0 GPU-a H200",
    "api_call": """
        process_id thread_id correlation_id domain  name              start_ns end_ns
        5          70        1              runtime cudaLaunchKernel  1010000  1020000
        5          70        -              driver  cuCtxGetCurrent   1012000  1013000
        5          70        2              runtime cudaMemcpyAsync   1030000  1035000
    """,
    "marker": """
        process_id thread_id marker_id event timestamp_ns name
        5          70        1         start 1005000      step
        5          70        1         end   1040000      -
    """,
    "kernel": """
        process_id device_id context_id stream_id correlation_id start_ns end_ns  name
        5          0         1          7         1              1100000  1140000 gemm
        5          0         1          7         1              1136000  1141000 relu
        5          0         1          7         1              1500000  -       hang
    """,
    "memcpy": """
        process_id device_id context_id stream_id correlation_id start_ns end_ns  copy_kind bytes
        5          0         1          8         2              1200000  1210000 HtoD      4096
    """,
    "capture_window": """
        process_id start_ns end_ns  opened_by closed_by
        5          1000000  3000000 process   range
        5          5000000  8900000 range     process
    """,
    "loss": """
        process_id cause     table_name records start_ns end_ns
        5          ring_full kernel     12      1300000  1350000
    """,
}


def test_lanes(trace: MakeTrace) -> None:
    assert_rows(
        trace(**RUN).sql(
            "SELECT lane, section, label, content, depths, items, begin_ns, end_ns"
            " FROM timeline_lane"
        ),
        """
        lane section                label                  content depths items begin_ns end_ns
        0    "GPU 0: H200"          idle                   idle    1      1     1000000  4000000
        1    "GPU 0: H200"          "stream 7"             stream  2      3     1000000  4000000
        2    "GPU 0: H200"          "stream 8"             stream  1      1     1000000  4000000
        3    "process 77, train.py" "not recorded"         loss    1      2     1000000  4000000
        4    "process 77, train.py" "thread 70 ranges"     range   1      1     1000000  4000000
        5    "process 77, train.py" "thread 70 CUDA calls" api     2      3     1000000  4000000
        """,
    )


def test_processes_are_in_the_order_of_their_ranks(trace: MakeTrace) -> None:
    """And not in that of their ids, which are drawn."""
    opened = trace(
        process="process_id pid rank\n8 80 0\n6 81 1\n7 82 2",
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        + "\n".join(f"{process} 1 1 start 0 a\n{process} 1 1 end 9 -" for process in (6, 7, 8)),
    )
    assert_rows(
        opened.sql("SELECT DISTINCT lane, section FROM timeline_lane ORDER BY lane"),
        """
        lane section
        0    "rank 0: process 80"
        1    "rank 1: process 81"
        2    "rank 2: process 82"
        """,
    )


def test_marks_of_a_window_one_by_one(trace: MakeTrace) -> None:
    """In the second row of a lane is what begins before the first one's has ended."""
    assert_rows(
        trace(**RUN).sql(
            "SELECT lane, depth, start_ns, end_ns, label, category, items, busy_ns"
            " FROM timeline_mark(from_ns := 0, to_ns := 1000000, bucket_ns := 1)"
        ),
        """
        lane depth start_ns end_ns  label             category         items busy_ns
        0    0     141000   200000  queued            "idle: queued"   1     59000
        1    0     100000   140000  gemm              gemm             1     40000
        1    0     500000   4000000 hang              other            1     3500000
        1    1     136000   141000  relu              elementwise      1     5000
        2    0     200000   210000  "HtoD 4.0 KiB"    "copy HtoD"      1     10000
        3    0     300000   350000  "ring_full: kernel" "not recorded"  1     50000
        4    0     5000     40000   step              NVTX             1     35000
        5    0     10000    20000   cudaLaunchKernel  "launching call" 1     10000
        5    0     30000    35000   cudaMemcpyAsync   "memory call"    1     5000
        5    1     12000    13000   cuCtxGetCurrent   "other call"     1     1000
        """,
    )


def test_what_is_shorter_than_a_pixel_is_counted(trace: MakeTrace) -> None:
    """Both calls begin in one bucket; what is alone there keeps its name and times."""
    assert_rows(
        trace(**RUN).sql(
            "SELECT lane, depth, start_ns, end_ns, label, category, items, busy_ns"
            " FROM timeline_mark(bucket_ns := 100000) WHERE lane >= 3"
        ),
        """
        lane depth start_ns end_ns  label               category         items busy_ns
        3    0     300000   350000  "ring_full: kernel" "not recorded"   1     50000
        3    0     2000000  4000000 "recording off"     "not recorded"   1     2000000
        4    0     5000     40000   step                NVTX             1     35000
        5    0     10000    35000   -                   "launching call" 2     15000
        5    1     12000    13000   cuCtxGetCurrent     "other call"     1     1000
        """,
    )


def test_the_row_of_a_thing(trace: MakeTrace) -> None:
    """Each thing is found in its lane's source, by the lane's filter and its start."""
    opened = trace(**RUN)
    for lane in list(opened.sql("FROM timeline_lane")):
        where = f"lane = {lane['lane']}"
        for mark in list(opened.sql(f"FROM timeline_mark(bucket_ns := 1) WHERE {where}")):
            at = int(lane["begin_ns"]) + mark["start_ns"]
            rows = opened.sql(f"FROM {lane['source']} WHERE {lane['filter']} AND start_ns = {at}")
            assert len(list(rows)) == 1, (lane, mark)


def test_a_search_finds_names(trace: MakeTrace) -> None:
    assert_rows(
        trace(**RUN).sql("FROM timeline_search(text := 'CUDA')"),
        """
        lane depth start_ns end_ns label            found
        5    0     10000    20000  cudaLaunchKernel 2
        5    0     30000    35000  cudaMemcpyAsync  2
        """,
    )
    assert list(trace(**RUN).sql("FROM timeline_search(text := '%')")) == []


@pytest.mark.parametrize(("lane", "at_ns"), [(5, 30000), (2, 200000)], ids=["call", "work"])
def test_a_call_and_its_work(trace: MakeTrace, lane: int, at_ns: int) -> None:
    assert_rows(
        trace(**RUN).sql(f"FROM timeline_flow(lane := {lane}, at_ns := {at_ns})"),
        """
        from_lane from_depth from_ns to_lane to_depth to_ns  kind
        5         0          30000   2       0        200000 launch
        """,
    )


def test_metrics_are_means_over_time(trace: MakeTrace) -> None:
    """100 for 10 us and 40 for 50 us: as samples, and as one bucket of a millisecond."""
    opened = trace(
        capture="start_ns\n0",
        process="process_id pid\n5 77",
        device="process_id device_id device_uuid name\n5 0 GPU-a H200",
        pm_metric="metric device_uuid unit\nsm_active_pct GPU-a %",
        pm_sample="""
            device_uuid start_ns end_ns sm_active_pct
            GPU-a       0        10000  100
            GPU-a       10000    60000  40
        """,
    )
    assert_rows(
        opened.sql("SELECT section, label, content, unit, max_value FROM timeline_lane"),
        """
        section       label         content unit max_value
        "GPU 0: H200" sm_active_pct metric  %    100
        """,
    )
    marks = "SELECT start_ns, end_ns, items, value FROM timeline_mark(bucket_ns := {})"
    assert_rows(
        opened.sql(marks.format(1000)),
        """
        start_ns end_ns items value
        0        10000  1     100
        10000    60000  1     40
        """,
    )
    assert_rows(opened.sql(marks.format(1_000_000)), "start_ns end_ns items value\n0 60000 2 50")


def test_python_functions_are_as_long_as_they_launch(trace: MakeTrace) -> None:
    """main calls step for the first two launches, and itself launches the third one."""
    opened = trace(
        capture="start_ns\n0",
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            5          70        1              runtime cudaLaunchKernel 10       20
            5          70        2              runtime cudaLaunchKernel 30       40
            5          70        3              runtime cudaLaunchKernel 50       60
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            5          0         1              15       16     a
            5          0         2              35       36     a
            5          0         3              55       56     a
        """,
        launch_stack="process_id correlation_id stack_id\n5 1 1\n5 2 2\n5 3 3",
        python_stack="""
            process_id stack_id depth function file line first_line
            5          1        0     step     a.py 7    5
            5          1        1     main     a.py 20   15
            5          2        0     step     a.py 9    5
            5          2        1     main     a.py 20   15
            5          3        0     main     a.py 21   15
        """,
    )
    assert_rows(
        opened.sql("FROM _timeline_frame ORDER BY depth"),
        """
        process_id thread_id depth start_ns end_ns function file first_line launches
        5          70        0     10       60     main     a.py 15         3
        5          70        1     10       40     step     a.py 5          2
        """,
    )


@settings(max_examples=4, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 3 * 10**6)), min_size=1, max_size=40),
    st.lists(st.integers(1, 10**7), min_size=5, max_size=5),
)
def test_nothing_is_left_out(
    tmp_path_factory: Any, spans: list[tuple[int, int]], buckets: list[int]
) -> None:
    """Whatever the width of a pixel, marks count each thing once, and long things stand alone."""
    rows = "\n".join(f"5 0 1 7 {start} {start + length} k" for start, length in spans)
    folder = tmp_path_factory.mktemp("trace") / "run"
    write_tables(
        folder,
        capture="start_ns\n0",
        kernel=f"process_id device_id context_id stream_id start_ns end_ns name\n{rows}",
    )
    with cupti_etl.open(folder) as opened:
        for bucket in buckets:
            check_marks(opened, spans, bucket)


def check_marks(opened: Trace, spans: list[tuple[int, int]], bucket: int) -> None:
    (lane,) = opened.sql("SELECT lane FROM timeline_lane WHERE content = 'stream'")
    marks = list(
        opened.sql(f"FROM timeline_mark(bucket_ns := {bucket}) WHERE lane = {lane['lane']}")
    )
    assert sum(mark["items"] for mark in marks) == len(spans)
    things = [(mark["start_ns"], mark["end_ns"]) for mark in marks if mark["items"] == 1]
    for start, length in spans:
        if length >= 8 * bucket:
            assert (start, start + length) in things
    assert sum(mark["busy_ns"] for mark in marks) <= sum(length for _, length in spans)
    # A first row has room for whatever does not overlap.
    for at, mark in enumerate(marks):
        if mark["depth"] == 0 and mark["items"] == 1 and at and marks[at - 1]["items"] == 1:
            assert marks[at - 1]["depth"] != 0 or marks[at - 1]["end_ns"] <= mark["start_ns"]
