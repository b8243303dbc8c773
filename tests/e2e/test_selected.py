"""User-defined records give the same rows as whole structs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.captures import Capture, Capturer, table
from support.fakes import CUPTI_13
from support.windows import run_past_the_window

from cupti_etl.commands import replay
from cupti_etl.schema.kinds import KINDS

pytestmark = pytest.mark.slow

PROGRAM = {
    "launches": 500, "streams": 3, "names": 9, "copy_every": 7, "set_every": 11,
    "malloc_every": 13, "sync_every": 17, "nvtx_every": 19, "noise": 2,
}  # fmt: skip
SELECTED = ["--records", "selected"]
# What differs from run to run.
TIMES_AND_IDS = {"process_id", "start_ns", "end_ns", "timestamp_ns", "thread_id"}
# CUPTI asks for as many buffers as it needs until one comes back, which depends on the load.
BUFFER_REQUEST = "activity_buffer_request"
# No field of a user-defined record holds these.
MISSING = {"marker": {"object_kind"}, "memory": {"name", "pc"}, "overhead": {"object_kind"}}


def rows(capture: Capture, table: str) -> list[dict[str, Any]]:
    """The rows in the order of the calls, without what differs from run to run."""
    others = {"marker": "timestamp_ns", "memory": "timestamp_ns", "marker_data": "marker_id"}
    time = others.get(table, "start_ns")
    found = sorted(
        (row for row in capture.rows(table) if row.get("overhead_kind") != BUFFER_REQUEST),
        key=lambda row: (row.get("correlation_id") or 0, row.get(time) or 0),
    )
    hidden = TIMES_AND_IDS | MISSING.get(table, set())
    return [{key: value for key, value in row.items() if key not in hidden} for row in found]


@pytest.mark.parametrize("kinds", ["light", "default", "full"])
def test_same_rows_as_fixed_records(capturer: Capturer, kinds: str) -> None:
    options = ["--kinds", kinds]
    fixed, selected = (
        capturer.run(CUPTI_13, ["--records", form, *options], **PROGRAM)
        for form in ("fixed", "selected")
    )
    assert (fixed.status, selected.status) == (0, 0), selected.stderr
    assert [row["records"] for row in fixed.rows("process")] == ["fixed"]
    assert [row["records"] for row in selected.rows("process")] == ["selected"]
    for kind in KINDS:
        if kind.table != "environment":  # cannot be had so
            assert rows(selected, kind.table) == rows(fixed, kind.table), kind.table
    assert selected.count("kernel") == 500
    selected.check_sums()
    if kinds == "full":
        (process,) = selected.rows("process")
        assert "environment" in process["detail"]


def test_threads_are_those_of_the_system(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, SELECTED, launches=20)
    (process,) = capture.rows("process")
    assert {row["thread_id"] for row in capture.rows("api_call")} == {process["pid"]}


def test_calls_can_still_be_chosen(capturer: Capturer) -> None:
    for level, least in (("all", 3), ("default", 1), ("launch", 1), ("none", 0)):
        capture = capturer.run(CUPTI_13, [*SELECTED, "--api", level], launches=50, noise=1)
        calls = {row["name"] for row in capture.rows("api_call")}
        assert len(calls) >= least, level
        assert ("cudaGetDevice" in calls) == (level == "all")
        assert capture.status == 0, capture.stderr


def test_recording_replays_the_same(capturer: Capturer, tmp_path: Path) -> None:
    recording, replayed = tmp_path / "run.etlrec", tmp_path / "again"
    capture = capturer.run(CUPTI_13, [*SELECTED, "--save-raw", recording], **PROGRAM)
    done = CliRunner().invoke(replay.command, [str(recording), "-o", str(replayed)])
    assert done.exit_code == 0, done.output
    for name in ("kernel", "api_call", "memcpy", "marker", "capture_window"):
        key = "start_ns" if name != "marker" else "timestamp_ns"
        again = sorted(table(replayed, name).to_pylist(), key=lambda row: row[key])
        assert again == sorted(capture.rows(name), key=lambda row: row[key]), name


def test_an_older_cupti_is_named_as_the_reason(capturer: Capturer) -> None:
    capture = capturer.run("13.3.75", SELECTED, launches=5)
    assert capture.status == 4
    assert "selected records cannot be had: they need CUPTI 13.4 or later" in capture.stderr
    # Whoever leaves the choice to us gets what works.
    assert capturer.run("13.3.75", launches=5).count("kernel") == 5


def test_auto_takes_selected_records_where_nothing_is_lost_by_it(capturer: Capturer) -> None:
    auto = ["--records", "auto"]
    library = str(capturer.fakes.cupti(CUPTI_13))
    for release, options, program, form in (
        (CUPTI_13, [], {}, "selected"),
        ("13.3.75", [], {}, "fixed"),
        (CUPTI_13, ["--kinds", "full"], {}, "fixed"),
        # Switching costs more with selected records.
        (CUPTI_13, ["--capture-range", "nvtx:x"], {"range_before": "x"}, "fixed"),
        # A program that brings its own libcupti may want to use it.
        (CUPTI_13, [], {"preload": library}, "fixed"),
    ):
        capture = capturer.run(release, [*auto, *options], launches=20, **program)
        assert [row["records"] for row in capture.rows("process")] == [form], (release, options)
        assert capture.count("kernel") == 20


def test_functions_that_the_driver_lacks_are_left_out(capturer: Capturer) -> None:
    refused = {"fail": "cuptiActivityEnable_v2:4=1"}
    capture = capturer.run(CUPTI_13, SELECTED, fake=refused, launches=20, driver_api=1)
    assert capture.count("kernel") == 20
    assert "api_call" in capture.rows("process")[0]["detail"]


def test_another_client_is_named(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, SELECTED, fake={"other_client": 1}, launches=5)
    assert capture.status == 4
    assert "another CUPTI client" in capture.stderr


def test_pause_and_resume(capturer: Capturer) -> None:
    options = [*SELECTED, "--delay", "300ms", "--duration", "3s"]
    capture = run_past_the_window(capturer, *options)
    assert capture.count("kernel") > 0
    assert len(capture.rows("capture_window")) == 1
