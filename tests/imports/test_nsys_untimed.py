"""Rows of an nsys export that have no start, or one that is no time: stored, and told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from imports.conftest import Import, nsys
from support.trace import assert_rows

import cupti_etl
from cupti_etl.cli import cli


@pytest.mark.slow
def test_rows_without_a_start_are_stored_counted_and_named(tmp_path: Path) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL="""
            start end deviceId correlationId globalPid
            100   200 0        5             11:0
            -     600 0        6             11:0
            -     700 0        7             12:0
            -     -   0        8             12:0
        """,
        CUPTI_ACTIVITY_KIND_CUDA_EVENT="globalPid timestamp eventId\n 11:0 0 1",
    )
    done = CliRunner().invoke(cli, ["import", str(file), "-o", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert "cupti-etl: without a start, and so in no query about time: kernel 3\n" in done.stderr
    with cupti_etl.open(tmp_path / "out") as trace:
        assert_rows(
            trace.sql("SELECT pid, loss.* FROM loss JOIN process USING (process_id) ORDER BY pid"),
            """
            pid cause          table_name records is_stored
            11  zero_timestamp kernel     1       true
            12  zero_timestamp kernel     2       true
            """,
        )
        assert trace.sql("FROM kernel").count() == 4


def test_nothing_is_said_of_starts_that_are_there(tmp_path: Path) -> None:
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL="start end deviceId globalPid\n 100 - 0 11:0",
    )
    done = CliRunner().invoke(cli, ["import", str(file), "-o", str(tmp_path / "out")])
    assert "without a start" not in done.stderr


def test_a_time_that_is_out_of_range_is_not_known(tmp_path: Path, imported: Import) -> None:
    # Of four starts one lies beyond what 64 bits hold, and one before the epoch.
    file = nsys(
        tmp_path / "t.sqlite",
        TARGET_INFO_SESSION_START_TIME="utcEpochNs\n1700000000000000000",
        CUPTI_ACTIVITY_KIND_KERNEL="""
            start                end                 deviceId correlationId globalPid
            100                  300                 0        1             11:0
            9223372036854775807  9223372036854775807 0        2             11:0
            -9000000000000000000 200                 0        3             11:0
            150                  9223372036854775807 0        4             11:0
        """,
    )
    trace = imported(file)
    assert_rows(
        trace.sql("SELECT correlation_id AS id, start_ns, end_ns FROM kernel ORDER BY id"),
        """
        id start_ns            end_ns
        1  1700000000000000100 1700000000000000300
        2  -                   -
        3  -                   1700000000000000200
        4  1700000000000000150 -
        """,
    )
    assert_rows(trace.sql("SELECT cause, records FROM loss"), "cause records\nzero_timestamp 2")


def test_times_out_of_range_do_not_wrap_in_queries(tmp_path: Path, imported: Import) -> None:
    # The session's start is not known, so that times are as they are.
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL="""
            start                end                 deviceId globalPid
            -50                  300                 0        11:0
            -9223372036854775807 9223372036854775807 0        11:0
            100                  9223372036854775807 0        11:0
        """,
    )
    assert_rows(imported(file).query("kernel_summary"), "calls total_ns unfinished\n 1 350 2")
