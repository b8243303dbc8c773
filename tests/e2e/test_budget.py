"""A capture with a budget: windows that the collector opens and closes, and what they hold."""

from __future__ import annotations

import re
import subprocess

import pytest
from support.captures import Capturer, running, table
from support.fake_cuda import script
from support.windows import kernels_are_inside, run_until_windows

import cupti_etl

WINDOWS = 20


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
    assert 0 < row["lasting_pct"] <= 10
    assert re.search(r"--budget: [\d.]+ % of the time was recorded, in \d+ windows", capture.stderr)
    # The fake says of most kernels that they are of a graph; what they cost is known all the same.
    assert re.search(r"in which it took (no|[\d.e+]+ %) longer \(± [\d.e+]+ %\)", capture.stderr)
    assert re.search(r"from the first one on, at most [\d.]+ % more for launches", capture.stderr)
    # Whatever was switched when the program ran was switched at the entry of a call: all but what
    # is switched on at the start, and off at the end.
    (log,) = capture.log
    switched = log.counters["enables"] + log.counters["disables"]
    assert log.counters["outside"] * WINDOWS < 2 * switched
    assert capture.rows("api_call") == []
    # The fake says of most kernels that they are of a graph, so the launches of these have no rows.
    (loss,) = capture.rows("loss")
    assert (loss["cause"], loss["table_name"]) == ("cupti_dropped", "kernel")
    launched = sum(row["graph_node_id"] is None for row in capture.rows("kernel"))
    found = re.search(r"no records of ([\d,]+) of ([\d,]+) launches", loss["detail"])
    assert found is not None
    missing, launches = (int(number.replace(",", "")) for number in found.groups())
    assert launches - missing == launched
    # At the ends of windows a launch can be on either side.
    assert abs(launches - capture.count("kernel")) <= 2 * len(windows)
    # Not all was recorded, and of the rest it is known how much it was.
    (price,) = cupti_etl.open(capture.trace).query("capture_price")
    assert price["launches"] > price["recorded_launches"] > 0
    assert 0 < price["recorded_pct"] < 100


def test_a_program_that_ends_before_it_is_known_what_it_can_afford(capturer: Capturer) -> None:
    capture = capturer.run(options=("--budget", "1%"), launches=300)
    assert capture.status == 0
    assert (capture.count("kernel"), capture.rows("capture_window")) == (0, [])
    assert "nothing was recorded, as the program ended before it was known" in capture.stderr


@pytest.mark.slow
def test_a_program_bound_by_launches_is_not_recorded(capturer: Capturer) -> None:
    """It does nothing else, and each of its launches takes less than the delay."""
    options = ("--budget", "2%", "--budget-window", "10ms")
    stop, counts = capturer.folder / "stop", capturer.folder / "launched"
    text = f"""
cuda()
launched = 0
while not os.path.exists({str(stop)!r}):
    launch(1000, 1)
    launched += 1000
time.sleep(0.5)
launch(launched, 1)
open({str(counts)!r}, "w").write(str(launched))
"""
    words, env, trace, log = capturer.prepare("13.5.25", options, command=script(text))
    with running(words, env, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "nothing is recorded" in line)
        stop.touch()
        _, stderr = process.communicate(timeout=120)
    assert "each launch is about 2.0 us longer" in said
    assert "--budget: nothing was recorded: from the first window" in stderr
    assert (table(trace, "kernel").num_rows, table(trace, "capture_window").num_rows) == (0, 0)
    (row,) = table(trace, "capture").to_pylist()
    assert row["lasting_pct"] > 10
    (counted,) = capturer.fakes.log(log)
    assert counted.counters["enables"] == counted.counters["disables"] + 2
    # Once that is known, launches are not called back any more, which has the injector's thread
    # some time: it was two callbacks for each until then.
    assert counted.counters["callbacks"] < 3 * int(counts.read_text())


@pytest.mark.slow
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
        (("--budget", "1%", "--api", "launch"), "--budget does not go with --api"),
        (("--budget", "1%", "--kinds", "light,api_call"), "api_call cannot be recorded with"),
    ],
)
def test_what_cannot_be(capturer: Capturer, options: tuple[str, ...], message: str) -> None:
    capture = capturer.run(options=options, launches=1)
    assert capture.status == 2
    assert message in capture.stderr
