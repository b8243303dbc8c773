"""A capture with a budget: windows that the collector opens and closes, and what they hold."""

from __future__ import annotations

import re

import pytest
from support.captures import Capturer
from support.windows import kernels_are_inside, run_until_windows

import cupti_etl

WINDOWS = 10


@pytest.mark.slow
def test_a_program_is_recorded_in_windows(capturer: Capturer) -> None:
    options = ("--budget", "20%", "--budget-window", "20ms", "--roll", "1s")
    capture = run_until_windows(capturer, WINDOWS, *options)
    capture.check_sums()
    kernels_are_inside(capture)
    windows = sorted(capture.rows("capture_window"), key=lambda row: row["start_ns"])
    # The last one may be closed by the program's end.
    assert {(row["opened_by"], row["closed_by"]) for row in windows[:-1]} == {
        ("collector", "collector")
    }
    (row,) = capture.rows("capture")
    assert row["budget_pct"] == 20.0
    assert re.search(r"--budget: [\d.]+ % of the time was recorded, in \d+ windows", capture.stderr)
    # Whatever was switched when the program ran was switched at the entry of a call: all but what
    # is switched on at the start, and off at the end.
    (log,) = capture.log
    switched = log.counters["enables"] + log.counters["disables"]
    assert log.counters["outside"] * WINDOWS < 2 * switched
    assert log.counters["callbacks"] < 100 * len(windows)
    # Not all was recorded, and of the rest it is known how much it was.
    (price,) = cupti_etl.open(capture.trace).query("capture_price")
    assert price["launches"] > price["recorded_launches"] > 0
    assert 0 < price["recorded_pct"] < 100


def test_a_program_without_cuda(capturer: Capturer) -> None:
    capture = capturer.run(options=("--budget", "1%"), command=["true"])
    assert capture.status == 3
    assert not capture.trace.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "0"), "'0' is not a percentage"),
        (("--budget", "nan"), "'nan' is not a percentage"),
        (("--budget", "100%"), "'100%' is not a percentage"),
        (("--budget-window", "1s"), "--budget-window goes with --budget"),
        (("--budget", "1%", "--budget-window", "1ms"), "--budget-window 1ms is too short"),
        (("--budget", "1%", "--pc-sampling"), "--budget does not go with --pc-sampling"),
        (("--budget", "1%", "--flight-recorder", "9s"), "does not go with --flight-recorder"),
    ],
)
def test_what_cannot_be(capturer: Capturer, options: tuple[str, ...], message: str) -> None:
    capture = capturer.run(options=options, launches=1)
    assert capture.status == 2
    assert message in capture.stderr
