"""``capture --range-metrics --range-by range`` with a fake CUPTI: ranges measured as wholes."""

from __future__ import annotations

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13

import cupti_etl

READ, CYCLES = "dram__bytes_read.sum", "sm__cycles_active.avg"
PIPES = ("adu", "alu", "cbu", "fma", "lsu", "tensor", "tex", "uniform")
BY_RANGE = ["--range-by", "range", "--capture-range", "nvtx:step"]
# Five launches inside, three outside, and so on: 4 ranges in 32.
RANGES = {"launches": 32, "range_every": 5, "range_gap": 3, "range_name": "step"}


def fake_value(metric: str, launches: int) -> float:
    """What the fake answers for so many launches of its first kernel; see metric_value()."""
    number = 2166136261
    for byte in metric.partition(".")[0].encode():
        number = ((number ^ byte) * 16777619) % 2**32
    return (0.5 + number % 1000 / 2000) * 0.5 * 1000 * launches


def calls(capture: Capture) -> list[str]:
    """What the fake was asked, in order."""
    (log,) = capture.trace.parent.glob("log*/*.ranges")
    return [line.split()[0] for line in log.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_each_range_has_each_metric_once(capturer: Capturer, release: str) -> None:
    options = ["--range-metrics", f"{READ},{CYCLES}", *BY_RANGE]
    capture = capturer.run(release, options, **RANGES)
    assert capture.status == 0, capture.stderr
    rows = capture.rows("launch_metric")
    assert len(rows) == 2 * 4
    assert {row["range_name"] for row in rows} == {"step"}
    assert {(row["function"], row["correlation_id"], row["passes"]) for row in rows} == {
        (None, None, 1)
    }
    for row in rows:
        assert row["value"] == pytest.approx(fake_value(row["metric"], 5))
    assert calls(capture)[1:] == ["start", "push", *["launch"] * 5, "pop", "stop", "decode"] * 4 + [
        "disable"
    ]
    assert set(capture.losses()) == {"replayed"}
    capture.check_sums()


@pytest.mark.slow
def test_metrics_of_several_passes_are_counted_by_turns(capturer: Capturer) -> None:
    metrics = [f"smsp__inst_executed_pipe_{pipe}.sum" for pipe in PIPES] + [
        "smsp__inst_executed.sum"
    ]
    capture = capturer.run(CUPTI_13, ["--range-metrics", ",".join(metrics), *BY_RANGE], **RANGES)
    found = [*cupti_etl.open(capture.trace).query("range_counter")]
    assert [row["metric"] for row in found] == sorted(metrics)
    # Four ranges: eight metrics in the first and the third, one in the others.
    assert {row["ranges"] for row in found} == {2}
    for row in found:
        assert row["mean"] == row["least"] == row["most"]
        assert row["mean"] == pytest.approx(fake_value(row["metric"], 5))
        assert (row["range"], row["launches"], row["same_launches"]) == ("step", 5, True)
    capture.check_sums()


@pytest.mark.slow
def test_a_range_that_is_open_at_the_end_is_dropped(capturer: Capturer) -> None:
    fake = {**RANGES, "launches": 18}  # ends inside of the third
    capture = capturer.run(CUPTI_13, ["--range-metrics", READ, *BY_RANGE], **fake)
    assert capture.status == 0, capture.stderr
    assert capture.count("launch_metric") == 2
    assert capture.losses()["range_dropped"][0]["records"] == 1
    capture.check_sums()


@pytest.mark.slow
def test_a_range_that_was_opened_before_cuda_is_counted(capturer: Capturer) -> None:
    options = ["--range-metrics", READ, "--range-by", "range", "--capture-range", "nvtx:all"]
    capture = capturer.run(CUPTI_13, options, launches=7, range_before="all")
    assert capture.count("launch_metric") == 0
    assert capture.losses()["range_left_out"][0]["records"] == 1


@pytest.mark.slow
def test_kernels_are_not_measured_one_by_one(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, ["--range-metrics", READ, *BY_RANGE], **RANGES)
    trace = cupti_etl.open(capture.trace)
    assert [*trace.query("kernel_counter")] == []
    assert [*trace.query("counter_join")] == []


@pytest.mark.slow
def test_what_refuses_is_a_loss(capturer: Capturer) -> None:
    fake = {"fail": "cuptiRangeProfilerPushRange=27"}
    capture = capturer.run(CUPTI_13, ["--range-metrics", READ, *BY_RANGE], fake, **RANGES)
    assert capture.count("api_call") >= 4 * 5
    assert "range_refused" in capture.losses()
    capture.check_sums()


def test_metrics_that_need_several_passes_by_themselves_are_null_with_a_reason(
    capturer: Capturer,
) -> None:
    options = ["--range-metrics", f"{READ},{CYCLES}", *BY_RANGE]
    capture = capturer.run(CUPTI_13, options, {"ranges_apart": CYCLES}, **RANGES)
    rows = capture.rows("launch_metric")
    assert [(row["metric"], row["value"] is None) for row in rows] == [
        (READ, False), (CYCLES, True),
    ] * 4  # fmt: skip
    assert {row["missing"] for row in rows} == {
        None, "it needs several passes, and one execution has one",
    }  # fmt: skip
    capture.check_sums()


def test_if_all_need_several_passes_nothing_is_measured(capturer: Capturer) -> None:
    options = ["--range-metrics", READ, *BY_RANGE]
    capture = capturer.run(CUPTI_13, options, {"ranges_apart": READ}, **RANGES)
    assert capture.count("launch_metric") == 0
    assert "each of the metrics" in capture.losses()["range_refused"][0]["detail"]


@pytest.mark.slow
def test_ranges_with_other_kernels_are_said_to_differ(capturer: Capturer) -> None:
    """The same calls, of two kernels by turns: 5 in each range, so that they begin with another."""
    fake = {**RANGES, "names": 2, "range_gap": 0}
    capture = capturer.run(CUPTI_13, ["--range-metrics", READ, *BY_RANGE], **fake)
    rows = capture.rows("launch_metric")
    assert {row["launches"] for row in rows} == {5}
    assert len({row["launch_hash"] for row in rows}) > 1
    (found,) = cupti_etl.open(capture.trace).query("range_counter")
    assert found["same_launches"] is False
