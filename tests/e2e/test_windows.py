"""Windows into a run: records are made while recording is on, and the times say when."""

from __future__ import annotations

import pytest
from support.captures import Capture, Capturer

RATE = {"rate": 2000, "launches": 3000}  # a second and a half


def windows(capture: Capture) -> list[dict[str, object]]:
    return sorted(capture.rows("capture_window"), key=lambda row: str(row["start_ns"]))


def kernels_are_inside(capture: Capture, slack_ns: int = 0) -> None:
    spans = [(w["start_ns"], w["end_ns"]) for w in capture.rows("capture_window")]
    for row in capture.rows("kernel"):
        assert any(a - slack_ns <= row["start_ns"] <= b + slack_ns for a, b in spans), (row, spans)


def test_whole_run_is_one_window(capturer: Capturer) -> None:
    capture = capturer.run(launches=100)
    (window,) = windows(capture)
    assert (window["opened_by"], window["closed_by"]) == ("process", "process")
    assert window["switch_on_ns"] > 0
    assert capture.count("kernel") == 100


def test_delay_and_duration(capturer: Capturer) -> None:
    capture = capturer.run(options=["--delay", "500ms", "--duration", "400ms"], **RATE)
    assert capture.status == 0, capture.stderr
    (window,) = windows(capture)
    assert (window["opened_by"], window["closed_by"]) == ("collector", "collector")
    assert 300e6 < window["end_ns"] - window["start_ns"] < 600e6
    assert 400 < capture.count("kernel") < 1400
    kernels_are_inside(capture, slack_ns=20_000_000)
    # Rows without which the window's work would belong to nothing.
    assert capture.count("device") == 1
    (row,) = capture.rows("capture")
    assert (row["delay_ns"], row["duration_ns"]) == (500_000_000, 400_000_000)
    assert row["stopped_by"] == "duration"
    capture.check_sums()


def test_a_delay_longer_than_the_program_records_nothing(capturer: Capturer) -> None:
    capture = capturer.run(options=["--delay", "1h"], launches=10)
    assert capture.status == 0, capture.stderr
    assert (capture.count("kernel"), windows(capture)) == (0, [])


def test_max_rows(capturer: Capturer) -> None:
    capture = capturer.run(options=["--max-rows", "1000"], **RATE)
    assert capture.rows("capture")[0]["stopped_by"] == "max_rows"
    # Two rows a launch; the limit is looked at after a flush (100 ms, 400 rows).
    assert 1000 <= sum(capture.count(t) for t in ("kernel", "api_call")) < 3000
    capture.check_sums()


def test_max_size(capturer: Capturer) -> None:
    capture = capturer.run(options=["--max-size", "1kB"], rate=2000, launches=6000)
    assert capture.rows("capture")[0]["stopped_by"] == "max_size"
    assert 0 < capture.count("kernel") < 6000


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--delay", "soon", "'soon' is not a duration"),
        ("--duration", "5 weeks", "'5 weeks' is not a duration"),
        ("--max-size", "much", "'much' is not a size"),
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
