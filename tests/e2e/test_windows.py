"""Windows into a run: records are made while recording is on, and the times say when."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.captures import Capture, Capturer
from support.slow import few
from support.windows import run_past_the_window

import cupti_etl
from cupti_etl.schema.kinds import KINDS
from cupti_etl.storage.disk import folder_bytes


def windows(capture: Capture) -> list[dict[str, object]]:
    return sorted(capture.rows("capture_window"), key=lambda row: str(row["start_ns"]))


def test_whole_run_is_one_window(capturer: Capturer) -> None:
    capture = capturer.run(launches=100)
    (window,) = windows(capture)
    assert (window["opened_by"], window["closed_by"]) == ("process", "process")
    assert window["switch_on_ns"] > 0
    assert capture.count("kernel") == 100


@pytest.mark.slow
def test_delay_and_duration(capturer: Capturer) -> None:
    capture = run_past_the_window(capturer, "--delay", "500ms", "--duration", "5s")
    (window,) = windows(capture)
    assert (window["opened_by"], window["closed_by"]) == ("collector", "collector")
    (row,) = capture.rows("capture")
    # When exactly they are switched: tests/unit/test_collector_limits.py.  Here the machine may be
    # late with all but the end, which is 5.5 s after the program's start or later; the trace's is
    # noted then.
    assert window["end_ns"] - row["start_ns"] > 5000e6
    # Rows without which the window's work would belong to nothing.
    assert capture.count("device") == 1
    assert (row["delay_ns"], row["duration_ns"]) == (500_000_000, 5_000_000_000)
    assert row["stopped_by"] == "duration"


@pytest.mark.slow
def test_a_delay_counts_from_the_start_of_the_program(capturer: Capturer, tmp_path: Path) -> None:
    """And not from before, when the process that samples hardware counters begins."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, time\nif 'cupti_etl.pm.sampler' in sys.orig_argv:\n    time.sleep(3)\n"
    )
    options = ["--delay", "2500ms", "--pm"]
    words, env, trace, log = capturer.prepare("13.5.25", options, rate=1000, launches=4000)
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env["PYTHONPATH"]])
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    capture = Capture(trace, done, capturer.fakes.log(log))
    assert capture.status == 0, capture.stderr
    (window,), (process,) = windows(capture), capture.rows("process")
    # Else it would have recorded from its start on.
    assert window["opened_by"] == "collector"
    assert window["start_ns"] > process["start_ns"]


def test_a_delay_longer_than_the_program_records_nothing(capturer: Capturer) -> None:
    capture = capturer.run(options=["--delay", "1h"], launches=10)
    assert capture.status == 0, capture.stderr
    assert (capture.count("kernel"), windows(capture)) == (0, [])


@pytest.mark.slow
def test_max_rows(capturer: Capturer) -> None:
    capture = run_past_the_window(capturer, "--max-rows", "1000")
    assert capture.rows("capture")[0]["stopped_by"] == "max_rows"
    assert sum(capture.count(kind.table) for kind in KINDS) >= 1000


@pytest.mark.slow
def test_max_size(capturer: Capturer) -> None:
    # Larger than the trace of a program that did nothing, or it could be full before anything ran.
    empty = folder_bytes(capturer.run(launches=0).trace)
    capture = run_past_the_window(capturer, "--max-size", f"{empty + 10_000}B")
    assert capture.rows("capture")[0]["stopped_by"] == "max_size"


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--delay", "soon", "'soon' is not a duration"),
        ("--duration", "5 weeks", "'5 weeks' is not a duration"),
        ("--delay", "99999999999h", "'99999999999h' is too much"),
        ("--max-size", "much", "'much' is not a size"),
        ("--max-size", "9" * 5000, "is not a size"),
        ("--capture-range", "nvtx:", "is not a range"),
        ("--capture-range", "nvtx:@d", "is not a range"),
        ("--capture-range", "step", "is not a range"),
    ],
)
def test_nonsense_is_refused(capturer: Capturer, option: str, value: str, sentence: str) -> None:
    capture = capturer.run(options=[option, value], launches=1)
    assert capture.status == 2
    assert sentence in capture.stderr
    assert not capture.trace.exists()


# Fifty launches inside, thirty outside, and so on: 8 ranges of 50 in 640.
RANGES = {"launches": 640, "range_every": 50, "range_gap": 30, "range_name": "step"}


@pytest.mark.parametrize("form", few(3, ["push", "wide", "ex", "registered", "start", "start-ex"]))
def test_nvtx_ranges_are_windows(capturer: Capturer, form: str) -> None:
    capture = capturer.run(options=["--capture-range", "nvtx:step"], range_form=form, **RANGES)
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 8 * 50
    assert [w["opened_by"] for w in windows(capture)] == ["range"] * 8
    assert [w["closed_by"] for w in windows(capture)] == ["range"] * 8
    assert all(w["switch_on_ns"] > 0 and w["switch_off_ns"] > 0 for w in windows(capture))
    capture.check_sums()


def test_a_name_that_is_no_utf8(capturer: Capturer) -> None:
    capture = capturer.run(
        options=["--capture-range", "nvtx:\udcff"], launches=20, range_every=5, range_gap=5,
        range_name="\udcff",
    )  # fmt: skip
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 10
    assert capture.rows("capture")[0]["capture_range"] == "nvtx:\ufffd"


def test_the_range_itself_is_recorded(capturer: Capturer) -> None:
    capture = capturer.run(options=["--capture-range", "nvtx:step"], **RANGES)
    events = [row["event"] for row in capture.rows("marker")]
    assert (events.count("start"), events.count("end")) == (8, 8)


def test_a_thread_that_is_stuck_in_a_call(capturer: Capturer) -> None:
    """CUPTI gives all that it does from then on the correlation of that call."""
    capture = capturer.run(options=["--capture-range", "nvtx:step"], fake={"stuck": 300}, **RANGES)
    losses = {loss["table_name"]: loss for loss in capture.losses()["wrong_correlation"]}
    alone = {"kernel": "graph_node_id IS NULL", "api_call": "domain = 'runtime'"}
    assert losses.keys() == alone.keys()
    for table, condition in alone.items():
        (rows,) = cupti_etl.open(capture.trace).sql(
            "SELECT count(*) - count(DISTINCT correlation_id) AS repeated"
            f" FROM {table} WHERE {condition}"
        )
        assert losses[table]["is_stored"]
        # At most, as batches are looked at one by one.
        assert 0 < losses[table]["records"] <= rows["repeated"]


@pytest.mark.slow
def test_range_of_a_domain(capturer: Capturer) -> None:
    for domain, kernels in (("mine", 400), ("other", 0)):
        capture = capturer.run(
            options=["--capture-range", "nvtx:step@mine"],
            range_form="registered",
            range_domain=domain,
            **RANGES,
        )
        assert capture.count("kernel") == kernels, domain


def test_range_of_another_name_is_none(capturer: Capturer) -> None:
    capture = capturer.run(options=["--capture-range", "nvtx:ste"], **RANGES)
    assert (capture.status, capture.count("kernel")) == (0, 0)


def test_range_that_was_opened_before_cuda(capturer: Capturer) -> None:
    capture = capturer.run(options=["--capture-range", "nvtx:all"], launches=70, range_before="all")
    assert capture.count("kernel") == 70


def test_ranges_of_several_threads_are_one_window_while_any_is_open(capturer: Capturer) -> None:
    capture = capturer.run(options=["--capture-range", "nvtx:step"], threads=4, **RANGES)
    assert 4 * 400 <= capture.count("kernel") <= 4 * 640
    capture.check_sums()


@pytest.mark.parametrize("records", ["fixed", "selected"])
def test_profiler_start_and_stop(capturer: Capturer, records: str) -> None:
    capture = capturer.run(
        options=["--capture-range", "cudaProfilerApi", "--records", records],
        launches=600,
        profiler_every=50,
    )
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 300
    assert [w["opened_by"] for w in windows(capture)] == ["range"] * 6
    capture.check_sums()


@pytest.mark.slow
def test_many_switches_in_one_process(capturer: Capturer) -> None:
    capture = capturer.run(
        options=["--capture-range", "nvtx:step"],
        launches=6000,
        range_every=1,
        range_gap=1,
        range_name="step",
    )
    assert capture.count("kernel") == 3000
    capture.check_sums()
    found = windows(capture)
    # Where over a thousand came between two looks, one row stands for them.
    assert sum(w["windows"] for w in found) == 3000
    assert all((w["opened_by"] is None) == (w["windows"] > 1) for w in found)
