"""``capture --range-metrics`` with a fake CUPTI: values, losses, and what refuses."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from click.testing import CliRunner
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13, kernel_name
from support.slow import few

import cupti_etl
from cupti_etl.capture.obstacles import pc_obstacle, range_obstacle, sass_obstacle
from cupti_etl.cli import cli
from cupti_etl.errors import UsageError

READ, CYCLES, HITS = "dram__bytes_read.sum", "sm__cycles_active.avg", "lts__t_sector_hit_rate.pct"
METRICS = ["--range-metrics", f"{READ},{CYCLES},{HITS}"]


def fake_value(metric: str, name: int) -> float:
    """What the fake answers for a launch of the kernel with this number; see metric_value()."""
    base, _, rollup = metric.partition(".")
    number = 2166136261
    for byte in base.encode():
        number = ((number ^ byte) * 16777619) % 2**32
    weight = 0.5 + number % 1000 / 2000
    return 100 * weight * 0.5 if rollup == "pct" else weight * 0.5 * 1000 * (name + 1)


def calls(capture: Capture) -> list[str]:
    """What the fake was asked and what was launched, in order."""
    (log,) = capture.trace.parent.glob("log*/*.ranges")
    return log.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_each_launch_has_each_metric_exactly(capturer: Capturer, release: str) -> None:
    capture = capturer.run(release, METRICS, launches=7, names=3)
    assert capture.status == 0, capture.stderr
    rows = capture.rows("launch_metric")
    kernels = {row["correlation_id"]: row["name"] for row in capture.rows("kernel")}
    assert len(kernels) == 7
    found = {(row["correlation_id"], row["metric"]): row["value"] for row in rows}
    number = {kernel_name(n): n for n in range(3)}
    assert found == pytest.approx(
        {
            (launch, metric): fake_value(metric, number[name])
            for launch, name in kernels.items()
            for metric in (READ, CYCLES, HITS)
        }
    )
    assert all(row["function"] == kernels[row["correlation_id"]] for row in rows)
    assert {row["passes"] for row in rows} == {1}
    assert {row["one_pass"] for row in rows} == {True}
    assert {row["missing"] for row in rows} == {None}
    (replayed,) = capture.losses().pop("replayed")
    assert (replayed["records"], replayed["is_stored"]) == (7, True)
    assert set(capture.losses()) == {"replayed"}
    capture.check_sums()
    can_empty = release == CUPTI_13
    assert {row["cache_control"] for row in rows} == {"flush" if can_empty else None}
    assert calls(capture)[0] == f"enable {int(can_empty)} 0"
    asked = [line.split()[0] for line in calls(capture)]
    assert asked == ["enable", *["start", "launch", "stop", "decode"] * 7, "disable"]


@pytest.mark.slow
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_instructions_are_those_of_the_program(capturer: Capturer, release: str) -> None:
    """And none that CUPTI adds for records of kernels."""
    executed = "smsp__inst_executed.sum"
    capture = capturer.run(release, ["--range-metrics", executed], launches=3)
    assert [row["value"] for row in capture.rows("launch_metric")] == pytest.approx(
        [fake_value(executed, 0)] * 3
    )
    assert capture.count("kernel") == 3
    capture.check_sums()


def measured(capture: Capture) -> dict[str, int]:
    """Launches that were measured, by kernel."""
    rows = {row["range_id"]: row["function"] for row in capture.rows("launch_metric")}
    return {name: list(rows.values()).count(name) for name in rows.values()}


def test_a_filter_and_a_limit_choose_launches(capturer: Capturer) -> None:
    first, second, third = map(kernel_name, range(3))
    options = [*METRICS, "--range-filter", f"^({first}|{third})$", "--range-limit", "2"]
    capture = capturer.run(CUPTI_13, options, launches=12, names=3)
    assert measured(capture) == {first: 2, third: 2}
    assert second not in measured(capture)
    assert capture.losses().keys() == {"replayed"}


def test_metrics_of_several_passes_say_what_cannot_be_trusted(capturer: Capturer) -> None:
    pipes = ("adu", "alu", "cbu", "fma", "lsu", "tensor", "tex", "uniform")
    counters = [f"smsp__inst_executed_pipe_{pipe}.sum" for pipe in pipes]
    counters += ["smsp__inst_executed.sum"]
    ratio = "smsp__thread_inst_executed_per_inst_executed.ratio"
    capture = capturer.run(CUPTI_13, ["--range-metrics", ",".join([*counters, ratio])], launches=2)
    rows = {row["metric"]: row for row in capture.rows("launch_metric")}
    assert {row["passes"] for row in rows.values()} == {2}
    assert rows["smsp__inst_executed.sum"]["one_pass"] is True
    assert rows[ratio]["one_pass"] is None
    assert rows[ratio]["value"] is not None


@pytest.mark.slow
def test_what_a_chip_lacks_of_a_preset_is_null_and_other_names_are_tried(
    capturer: Capturer,
) -> None:
    """The fake has no rollup ``per_cycle_active``, and no ``dram__bytes_get``."""
    names = f"instructions,dram__bytes_get.sum|{READ}"
    capture = capturer.run(CUPTI_13, ["--range-metrics", names], launches=2)
    rows = {row["metric"]: row for row in capture.rows("launch_metric")}
    lacking = "sm__inst_executed.avg.per_cycle_active"
    assert lacking in {name for name, row in rows.items() if row["value"] is None}
    assert {row["missing"] for row in rows.values() if row["value"] is None} == {
        "this chip has no such metric"
    }
    assert rows[READ]["value"] == pytest.approx(fake_value(READ, 0))
    assert rows["smsp__inst_issued.sum"]["value"] is not None
    assert "dram__bytes_get.sum" not in rows
    assert capture.count("launch_metric") == 2 * len(rows)
    capture.check_sums()


@pytest.mark.slow
def test_ranges_that_are_dropped_or_mixed_are_losses(capturer: Capturer) -> None:
    fake = {"ranges_drop_at": 2, "ranges_other_at": 4}
    capture = capturer.run(CUPTI_13, METRICS, fake, launches=6)
    assert sum(measured(capture).values()) == 4
    (dropped,) = capture.losses()["range_dropped"]
    assert (dropped["table_name"], dropped["records"]) == ("launch_metric", 2)
    capture.check_sums()


@pytest.mark.parametrize("contexts", [1, 2])
def test_launches_of_several_threads_are_measured_one_at_a_time(
    capturer: Capturer, contexts: int
) -> None:
    """Whoever launches first makes the session of the context, and the others wait for it."""
    fake = {"ranges_contexts": contexts}
    capture = capturer.run(CUPTI_13, METRICS, fake, threads=4, launches=5)
    kernels = {row["correlation_id"] for row in capture.rows("kernel")}
    rows = capture.rows("launch_metric")
    assert len(kernels) == 20
    assert {row["correlation_id"] for row in rows} == kernels
    assert {row["context_id"] for row in rows} == set(range(1, contexts + 1))
    assert capture.losses().keys() == {"replayed"}
    asked = [line.split()[0] for line in calls(capture)]
    assert asked.count("enable") == asked.count("disable") == contexts
    capture.check_sums()


def test_a_context_that_asks_what_can_be_counted_just_as_another_begins(capturer: Capturer) -> None:
    """CUPTI refuses to tell, before it is known that it counts."""
    fake = {"ranges_contexts": 2, "ranges_at_once": 200}
    capture = capturer.run(CUPTI_13, METRICS, fake, threads=2, launches=5)
    assert {row["context_id"] for row in capture.rows("launch_metric")} == {1, 2}
    assert sum(measured(capture).values()) == 10
    assert capture.losses().keys() == {"replayed"}


def test_graphs_are_left_out_and_counted(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, METRICS, {"graph_every": 3}, launches=9)
    (left_out,) = capture.losses()["range_left_out"]
    assert left_out["records"] == 3
    assert "CUDA graphs" in left_out["detail"]
    assert sum(measured(capture).values()) == 6
    capture.check_sums()


@pytest.mark.slow
def test_a_value_that_is_no_number_is_null_with_a_reason(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, METRICS, {"ranges_nan": HITS}, launches=2)
    for row in capture.rows("launch_metric"):
        is_bad = row["metric"] == HITS
        assert (row["value"] is None) is is_bad
        assert row["missing"] == ("CUPTI's value is no number" if is_bad else None)


@pytest.mark.parametrize(
    ("fail", "says"),
    few(
        1,
        [
            ("cuptiProfilerGetCounterAvailability=35", "NVreg_RestrictProfilingToAdminUsers=0"),
            ("cuptiProfilerHostConfigAddMetrics=17", "does not know one of the metrics"),
            ("cuptiRangeProfilerEnable=26", "end it"),
            ("cuptiRangeProfilerStart=999", "CUPTI answered 999"),
        ],
    ),
)
def test_what_refuses_is_a_loss_and_the_rest_is_recorded(
    capturer: Capturer, fail: str, says: str
) -> None:
    capture = capturer.run(CUPTI_13, METRICS, {"fail": fail}, launches=3)
    assert capture.status == 0
    assert capture.count("kernel") == 3
    assert capture.count("launch_metric") == 0
    (loss,) = capture.losses()["range_refused"]
    assert says in loss["detail"]
    capture.check_sums()


@pytest.mark.parametrize("obstacle", [range_obstacle, pc_obstacle, sass_obstacle])
def test_what_a_machine_does_not_allow_has_words(obstacle: Callable[[int], str]) -> None:
    """cupti_result.h: 33 and 40 are virtual GPUs, 41 confidential computing, 43 MIG."""
    said = {code: obstacle(code) for code in (8, 26, 27, 33, 35, *range(40, 47))}
    assert len(set(said.values())) == len(said)
    assert not [words for words in said.values() if words.startswith("CUPTI answered")]
    assert obstacle(47) == "CUPTI answered 47"


def test_each_refusal_has_words() -> None:
    said = {code: range_obstacle(code) for code in (8, 17, 26, 27, 33, 35, 43, 46)}
    said |= {-code: range_obstacle(-code) for code in (errno.ENOSYS, errno.ENOSPC, errno.E2BIG)}
    assert len(set(said.values())) == len(said)
    assert range_obstacle(2) == "CUPTI answered 2"
    assert range_obstacle(-(2**63)).startswith("error (")


def test_a_range_that_cannot_be_read_is_dropped(capturer: Capturer) -> None:
    fake = {"fail": "cuptiRangeProfilerDecodeData=999"}
    capture = capturer.run(CUPTI_13, METRICS, fake, launches=3)
    assert capture.count("kernel") == 3
    assert capture.losses()["range_dropped"][0]["records"] == 1
    assert "CUPTI answered 999" in capture.losses()["range_refused"][0]["detail"]
    capture.check_sums()


@pytest.mark.slow
def test_values_that_cannot_be_had_are_null_with_cuptis_answer(capturer: Capturer) -> None:
    fake = {"fail": "cuptiProfilerHostEvaluateToGpuValues=999"}
    capture = capturer.run(CUPTI_13, METRICS, fake, launches=3)
    assert {row["missing"] for row in capture.rows("launch_metric")} == {"CUPTI answered 999"}
    assert {row["value"] for row in capture.rows("launch_metric")} == {None}
    capture.check_sums()


def test_caches_are_left_alone_if_that_is_asked_for(capturer: Capturer) -> None:
    options = [*METRICS, "--range-cache-control", "none", "--records", "selected"]
    capture = capturer.run(CUPTI_13, options, launches=2)
    assert {row["cache_control"] for row in capture.rows("launch_metric")} == {"none"}
    assert calls(capture)[0] == "enable 0 0"
    assert sum(measured(capture).values()) == 2


def test_of_a_program_that_is_killed_what_was_measured_is_stored_or_counted(
    capturer: Capturer,
) -> None:
    capture = capturer.run(CUPTI_13, METRICS, launches=3, exit="kill")
    (replayed,) = capture.losses()["replayed"]
    assert replayed["records"] == 3
    lost = [loss for loss in capture.losses()["killed"] if loss["table_name"] == "launch_metric"]
    assert capture.count("launch_metric") + sum(loss["records"] for loss in lost) == 9
    capture.check_sums()


def test_nothing_is_measured_outside_of_what_is_recorded(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, [*METRICS, "--delay", "10m"], launches=3)
    assert capture.count("launch_metric") == 0
    assert capture.losses() == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--range-metrics", "sm__sass_inst_executed.sum"], "patching the code"),
        (["--range-metrics", "fast"], "no preset"),
        (["--range-metrics", ","], "0 metrics"),
        (["--range-filter", "gemm"], "add --range-metrics"),
        ([*METRICS, "--range-filter", "(("], "regular expression"),
        ([*METRICS, "--range-by", "range"], "--capture-range nvtx:NAME"),
        (["--range-by", "range", "--capture-range", "nvtx:a"], "add --range-metrics"),
        (
            [*METRICS, "--range-by", "range", "--capture-range", "nvtx:a", "--range-limit", "2"],
            "choose kernels",
        ),
        (
            [*METRICS, "--range-by", "range", "--capture-range", "nvtx:a", "--kinds", "kernel"],
            "another capture for their times",
        ),
        ([*METRICS, "--pm"], "two captures"),
        ([*METRICS, "--pc-sampling"], "two captures"),
    ],
)
def test_options_that_cannot_be_are_refused(options: list[str], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        CliRunner().invoke(cli, ["capture", *options, "--", "true"], catch_exceptions=False)
    assert says in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("how", ["untimed", "own"])
def test_kernels_of_measured_launches_are_one_each_and_their_times_no_loss(
    capturer: Capturer, how: str
) -> None:
    """As CUPTI 13.0 and 13.5 were seen to tell of them on an H200."""
    capture = capturer.run(CUPTI_13, METRICS, {"ranges_kernels": how}, launches=4)
    assert capture.count("kernel") == 4
    assert {row["start_ns"] is None for row in capture.rows("kernel")} == {how == "untimed"}
    (join,) = cupti_etl.open(capture.trace).query("counter_join")
    assert (join["is_whole"], join["joined"]) == (True, 4)
    assert set(capture.losses()) == {"replayed"}
    capture.check_sums()
