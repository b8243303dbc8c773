"""Events that end before they begin, or whose length is none: told, and never without an end."""

from __future__ import annotations

from pathlib import Path

from imports.conftest import Import, event, kineto, nsys
from support.trace import assert_rows

START = "utcEpochNs\n1700000000000000000"
PLACE = {"device": 0, "context": 1, "stream": 7}


def test_work_that_ends_before_it_begins_has_no_end(tmp_path: Path, imported: Import) -> None:
    trace = imported(
        nsys(
            tmp_path / "t.sqlite",
            CUPTI_ACTIVITY_KIND_KERNEL="""
                start end deviceId correlationId globalPid
                300   100 0        5             11:0
                400   0   0        6             11:0
                500   500 0        7             11:0
            """,
        )
    )
    assert_rows(trace.sql("FROM kernel ORDER BY start_ns"), "end_ns\n-\n-\n500")
    assert_rows(
        trace.sql("FROM import_skipped WHERE what = 'kernel.end_ns'"),
        """
        category what          events detail
        invalid  kernel.end_ns 1      "it is before the start: these have no end"
        """,
    )


def test_ranges_that_end_before_they_begin_are_marks(tmp_path: Path, imported: Import) -> None:
    trace = imported(
        nsys(
            tmp_path / "t.sqlite",
            TARGET_INFO_SESSION_START_TIME=START,
            NVTX_EVENTS="""
                start end                 eventType text     globalTid
                10    5                   59        backward 11:70
                20    9223372036854775800 59        endless  11:70
                30    30                  59        short    11:70
                40    -                   59        open     11:70
            """,
        )
    )
    assert_rows(
        trace.sql("SELECT name, depth, end_ns FROM nvtx_range ORDER BY start_ns"),
        "name depth end_ns\nshort 0 1700000000000000030\nopen 0 -",
    )
    assert_rows(
        trace.sql("SELECT name, timestamp_ns FROM marker WHERE event = 'instant' ORDER BY ALL"),
        "name timestamp_ns\nbackward 1700000000000000010\nendless 1700000000000000020",
    )
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category what            events detail
        invalid  NVTX_EVENTS.end 2      "it is no time after the start: these are kept as marks"
        """,
    )


def test_ranges_whose_length_is_none_are_marks(tmp_path: Path, imported: Import) -> None:
    """They would go on to the end of the trace, and take the work of all ranges behind them."""
    trace = imported(
        kineto(
            tmp_path / "t.json",
            event("user_annotation", "before", 1e15, -5),
            event("cpu_op", "aten::mm", 1e15 + 1, -1, **{"External id": 4}),
            event("python_function", "f", 1e15 + 2, float("nan")),
            event("user_annotation", "step", 1e15 + 10, 20),
            event("cuda_runtime", "cudaLaunchKernel", 1e15 + 12, 2, correlation=9),
            event("cuda_runtime", "cudaLaunchKernel", 1e15 + 40, 2, correlation=10),
            event("kernel", "inside", 1e15 + 20, 3, correlation=9, **PLACE),
            event("kernel", "outside", 1e15 + 50, 3, correlation=10, **PLACE),
        )
    )
    assert_rows(
        trace.sql("SELECT name, domain, event FROM marker ORDER BY timestamp_ns"),
        """
        name     domain          event
        before   user_annotation instant
        aten::mm cpu_op          instant
        f        python_function instant
        step     user_annotation start
        -        user_annotation end
        """,
    )
    assert_rows(trace.query("nvtx_projection"), "path gpu_ns\nstep 3000")
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category what                events detail
        invalid  cpu_op.dur          1      "it is no length: these are kept as marks"
        invalid  python_function.dur 1      "it is no length: these are kept as marks"
        invalid  user_annotation.dur 1      "it is no length: these are kept as marks"
        """,
    )
