"""capture_health: the verdict, and the numbers that it rests on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.trace import MakeTrace, add_part, assert_rows, write_tables

import cupti_etl
from cupti_etl.schema.kinds import KINDS

ENDED = "capture_id start_ns end_ns\n 1 0 1000"
FINISHED = "process_id pid host state emitted stored\n 1 77 node7 finished 3 3"
KERNELS = """
    process_id start_ns end_ns
    1          100      200
    1          300      350
    1          400      -
"""


def verdict(opened) -> str:
    found = opened.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
    return next(iter(found))["subject"]


def test_a_complete_capture(trace: MakeTrace) -> None:
    opened = trace(capture=ENDED, process=FINISHED, kernel=KERNELS)
    assert_rows(
        opened.sql(
            "FROM capture_health WHERE section != 'table' OR subject IN ('kernel', 'memcpy')"
        ),
        """
        section subject            records stored lost start_ns span_ns records_per_s detail
        verdict complete           3       3      0    0        1000    3e+06         -
        table   kernel             3       3      0    100      300     1e+07         -
        table   memcpy             0       0      0    -        -       -             -
        process "pid 77 on node7"  3       3      0    -        -       -             finished
        """,
    )


def test_of_an_imported_trace_nobody_knows_what_was_lost(trace: MakeTrace) -> None:
    opened = trace(
        capture=ENDED,
        process="process_id pid host state stored\n 1 77 node7 imported 3",
        kernel=KERNELS,
    )
    # Of tables that have no row, nobody knows whether their kind was recorded.
    assert_rows(
        opened.query("capture_health"),
        """
        section subject                     records stored lost detail
        verdict "no losses known, imported" -       3      -    -
        table   kernel                      3       3      -    -
        process "pid 77 on node7"           -       3      -    imported
        """,
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a unsupported x 3\na unsupported y 4", "unsupported 7"),
        ("a unsupported x 3\na unsupported y -", "unsupported at least 3"),
        ("a unsupported y -\na invalid z 2", "invalid 2, unsupported ?"),
    ],
)
def test_what_an_import_did_not_keep(trace: MakeTrace, rows: str, said: str) -> None:
    opened = trace(capture=ENDED, import_skipped=f"file category what events\n{rows}")
    assert verdict(opened).endswith(f"; not kept: {said}")


def test_every_table_of_records_is_counted(trace: MakeTrace) -> None:
    found = trace().sql("SELECT subject FROM capture_health WHERE section = 'table'")
    assert sorted(row["subject"] for row in found) == sorted(
        [*(kind.table for kind in KINDS), "pm_sample"]
    )


def test_losses_by_cause(trace: MakeTrace) -> None:
    opened = trace(
        capture=ENDED,
        process="""
            process_id pid state    detail      rank host  emitted stored
            1          77  finished -           0    node7 10      3
            2          78  killed   "signal 9"  1    node7 5       5
        """,
        kernel=KERNELS,
        memset="process_id\n 2\n 2\n 2\n 2\n 2",
        loss="""
            process_id cause     table_name records is_stored start_ns end_ns detail
            1          ring_full kernel     4       false     100      200    "the ring was full"
            1          ring_full memcpy     3       false     150      300    "the ring was full"
            1          incomplete kernel    1       true      -        -      "still running"
            2          killed    -          -       false     500      600    "killed by signal 9"
        """,
    )
    assert verdict(opened) == "losses: incomplete 1, killed ?, ring_full 7"
    assert_rows(
        opened.sql("FROM capture_health WHERE section IN ('process', 'loss') ORDER BY ALL"),
        """
        section subject                  records stored lost start_ns span_ns
        loss    incomplete               1       -      0    -        -
        loss    killed                   -       -      -    500      100
        loss    ring_full                7       -      7    100      200
        process "pid 77 rank 0 on node7" 10      3      7    -        -
        process "pid 78 rank 1 on node7" 5       5      -    -        -
        """,
    )
    details = {row["subject"]: row["detail"] for row in opened.query("capture_health")}
    assert details["ring_full"] == "kernel, memcpy; the ring was full"
    assert details["pid 78 rank 1 on node7"] == "killed: signal 9"


def test_overheads_by_kind(trace: MakeTrace) -> None:
    # The trace is from 100 to 600.  One overhead has no end, one is of no kind.
    opened = trace(
        kernel="process_id start_ns end_ns\n 1 100 600",
        overhead="""
            process_id thread_id start_ns end_ns overhead_kind
            1          5         200      250    cupti_buffer_flush
            2          6         210      260    cupti_buffer_flush
            1          5         300      -      cupti_buffer_flush
            1          5         400      405    -
            1          5         500      -      module_loading
            1          7         510      530    lazy_loading
            1          7         515      520    lazy_loading
            1          7         525      540    lazy_loading
        """,
    )
    assert_rows(
        opened.sql("FROM capture_health WHERE section = 'overhead'"),
        """
        subject            records lost start_ns span_ns records_per_s overhead_ns overhead_pct
        cupti_buffer_flush 3       -    200      60      5e+07         100         20
        lazy_loading       3       -    510      30      1e+08         30          6
        module_loading     1       -    500      -       -             -           -
        unknown            1       -    400      5       2e+08         5           1
        """,
    )


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        ("process_id pid state\n 1 77 killed", "losses: killed ?"),
        ("process_id pid state\n 1 77 failed", "losses: failed ?"),
        ("process_id pid state emitted stored\n 1 77 finished 5 3", "losses: unaccounted 2"),
        ("process_id pid state emitted stored\n 1 77 tracing 5 3", "losses: tracing ?"),
        ("process_id pid rank world_size\n 1 77 1 2", "losses: rank_missing ?"),
    ],
)
def test_what_the_loss_table_does_not_say_is_a_loss_all_the_same(
    trace: MakeTrace, process: str, expected: str
) -> None:
    assert verdict(trace(capture=ENDED, kernel=KERNELS, process=process)) == expected


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({}, "nothing captured"),
        ({"device": "process_id device_id\n 1 0"}, "nothing captured"),
        ({"overhead": "process_id start_ns end_ns\n 1 0 9"}, "nothing captured"),
        ({"api_call": "process_id name\n 1 cudaFree"}, "complete"),
        ({"process": "process_id pid state\n 1 7 failed"}, "nothing captured; losses: failed ?"),
    ],
)
def test_nothing_captured(trace: MakeTrace, tables: dict[str, str], expected: str) -> None:
    assert verdict(trace(capture=ENDED, **tables)) == expected


COUNTED = """
    process_id table_name stored
    1          kernel     2
    2          kernel     1
    -          capture    1
    -          process    1
    -          clock      2
    -          pm_sample  1
"""
WHOLE = {
    "capture": "capture_id start_ns end_ns row_counts\n 1 0 1000 6",
    "process": FINISHED,
    "kernel": KERNELS,
    "clock": "realtime_ns\n 100\n 200",
    "pm_sample": "start_ns\n 100",
    "row_count": COUNTED,
}


def test_as_many_rows_as_were_counted(trace: MakeTrace) -> None:
    assert verdict(trace(**WHOLE)) == "complete"


@pytest.mark.parametrize(
    ("table", "rest", "expected"),
    [
        ("kernel", "process_id\n 1", "losses: missing from kernel 2"),
        ("kernel", "", "nothing captured; losses: missing from kernel 3"),
        ("clock", "realtime_ns\n 100", "losses: missing from clock 1"),
        ("pm_sample", "", "losses: missing from pm_sample 1"),
        ("process", "", "losses: missing from process 1"),
        ("capture", "", "losses: missing from capture 1"),
        ("row_count", "", "losses: missing from row_count 6"),
    ],
)
def test_rows_that_were_counted_and_are_not_there(
    trace: MakeTrace, table: str, rest: str, expected: str
) -> None:
    assert verdict(trace(**{**WHOLE, table: rest})) == expected


def test_a_lost_part_is_not_missing_as_well(trace: MakeTrace) -> None:
    lost = "cause table_name records\n part_lost kernel 2"
    opened = trace(**{**WHOLE, "kernel": "process_id\n 1", "loss": lost})
    assert verdict(opened) == "losses: part_lost 2"


def test_an_older_trace_has_totals_alone(trace: MakeTrace) -> None:
    opened = trace(capture=ENDED, process=FINISHED, kernel="process_id\n 1")
    assert verdict(opened) == "losses: missing from all tables 2"


def test_while_rows_are_still_counted_none_is_missing(trace: MakeTrace) -> None:
    running = {**WHOLE, "capture": "capture_id start_ns\n 1 0", "kernel": "process_id\n 1"}
    assert verdict(trace(**running)) == "complete so far"


def test_while_a_capture_runs_the_verdict_is_not_final(trace: MakeTrace) -> None:
    opened = trace(capture="capture_id start_ns\n 1 0", process=FINISHED, kernel=KERNELS)
    assert verdict(opened) == "complete so far"


def test_rows_of_a_table_that_comes_later_are_counted(tmp_path: Path) -> None:
    run = write_tables(tmp_path / "run", **WHOLE)
    shutil.rmtree(run / "kernel")
    lost = "SELECT cause, records FROM _loss_cause"
    with cupti_etl.open(run) as opened:
        assert_rows(opened.sql(lost), 'cause records\n "missing from kernel" 3')
        add_part(run, "kernel", WHOLE["kernel"])
        assert_rows(opened.sql(lost), "cause records")
