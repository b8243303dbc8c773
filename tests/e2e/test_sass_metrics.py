"""``capture --sass-metrics`` with a fake CUPTI: exact counts, filter, losses, and what refuses."""

from __future__ import annotations

from collections import Counter

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13, kernel_name
from support.slow import few

_EXECUTED = "smsp__sass_inst_executed"
_THREADS = "smsp__sass_thread_inst_executed"
_DIVERGENT = "smsp__sass_branch_targets_threads_divergent"
_ASKED = ["--sass-metrics", f"{_EXECUTED},{_THREADS},{_DIVERGENT}"]
# What the fake counts for each launch; see fake_cupti_sass.c.
_PATTERN = {
    (0x10, _EXECUTED): 8,
    (0x10, _THREADS): 256,
    (0x50, _EXECUTED): 4,
    (0x50, _THREADS): 100,
    (0x50, _DIVERGENT): 2,
}


def found(capture: Capture) -> Counter[tuple[str, int, str]]:
    """Counts by function, place and metric."""
    sums: Counter[tuple[str, int, str]] = Counter()
    for row in capture.rows("sass_metric"):
        sums[row["function"], row["pc_offset"], row["metric"]] += row["value"]
    return sums


def expected(launches: dict[str, int]) -> Counter[tuple[str, int, str]]:
    """What launches by kernel come to."""
    return Counter(
        {
            (name, at, metric): count * value
            for name, count in launches.items()
            for (at, metric), value in _PATTERN.items()
        }
    )


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_each_launch_is_counted(capturer: Capturer, release: str) -> None:
    """With records of kernels the fake would end the program, of copies count nothing."""
    capture = capturer.run(release, _ASKED, launches=300, names=3)
    assert capture.status == 0, capture.stderr
    assert found(capture) == expected({kernel_name(i): 100 for i in range(3)})
    assert "kernels take longer, on an H100 7 times" in capture.stderr
    assert (capture.count("kernel"), capture.count("memcpy")) == (0, 0)
    assert capture.count("api_call") >= 300
    rows = capture.rows("sass_metric")
    assert f", {len(rows)} sass_metric from 1 process" in capture.stderr
    assert {row["cubin_crc"] for row in rows} == {0xC0BEA5}
    # Though there are no rows of them, kernels have names that one can read.
    named = {row["mangled"]: row["short"] for row in capture.rows("kernel_name")}
    assert named.keys() == {row["function"] for row in rows}
    assert named[kernel_name(0)] == "kernel_0"
    assert {(row["context_id"], row["device_id"]) for row in rows} == {(1, 0)}
    assert all(row["start_ns"] < row["end_ns"] for row in rows)
    assert [row["cubin_crc"] for row in capture.rows("cubin")] == [0xC0BEA5]
    capture.check_sums()
    assert capture.losses() == {}


def test_a_filter_chooses_functions(capturer: Capturer) -> None:
    options = [*_ASKED, "--sass-filter", f"^({kernel_name(1)}|nothing)$"]
    capture = capturer.run(CUPTI_13, options, launches=300, names=3)
    assert found(capture) == expected({kernel_name(1): 100})
    capture.check_sums()


@pytest.mark.slow
def test_counts_are_taken_at_the_end_alone(capturer: Capturer) -> None:
    """Inside of a launch's callback, CUPTI was seen to hang in it, on an H200."""
    capture = capturer.run(CUPTI_13, _ASKED, launches=30, rate=20)
    assert len({row["end_ns"] for row in capture.rows("sass_metric")}) == 1
    assert found(capture) == expected({kernel_name(0): 30})


def test_what_cupti_drops_is_counted(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, _ASKED, {"sass_dropped": 7}, launches=20)
    (loss,) = capture.losses()["sass_dropped"]
    assert (loss["table_name"], loss["records"]) == ("sass_metric", 7)
    capture.check_sums()


@pytest.mark.parametrize(
    ("fail", "says"),
    few(
        2,
        [
            ("cuptiSassMetricsEnable=35", "NVreg_RestrictProfilingToAdminUsers=0"),
            ("cuptiSassMetricsEnable=7", "another tool"),
            ("cuptiSassMetricsSetConfig=27", "does not support it"),
            ("cuptiSassMetricsSetConfig=7", "another tool"),
            ("cuptiSassMetricsGetProperties=1", "does not know one of the metrics"),
            ("cuptiSassMetricsGetProperties=26", "end it"),
            ("cuptiSassMetricsGetDataProperties=999", "CUPTI answered 999"),
            ("cuptiSassMetricsFlushData=8", "fewer metrics"),
            ("cuptiSassMetricsDisable=999", "CUPTI answered 999"),
        ],
    ),
)
def test_what_refuses_is_a_loss_with_a_reason_and_the_rest_is_recorded(
    capturer: Capturer, fail: str, says: str
) -> None:
    capture = capturer.run(CUPTI_13, _ASKED, {"fail": fail}, launches=50)
    assert capture.status == 0
    assert capture.count("api_call") >= 50
    (loss,) = capture.losses()["sass_refused"]
    assert loss["table_name"] == "sass_metric"
    assert says in loss["detail"]
    capture.check_sums()


def test_that_nothing_was_counted_is_a_loss(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, _ASKED, {"sass_nothing": 1}, launches=20)
    (loss,) = capture.losses()["sass_refused"]
    assert "counted nothing, though the program launched kernels" in loss["detail"]
    capture.check_sums()


def test_a_metric_that_the_chip_lacks_is_a_loss(capturer: Capturer) -> None:
    options = ["--sass-metrics", f"{_EXECUTED},smsp__sass_nothing"]
    capture = capturer.run(CUPTI_13, options, launches=20)
    assert capture.rows("sass_metric") == []
    (loss,) = capture.losses()["sass_refused"]
    assert "does not know one of the metrics" in loss["detail"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sass-metrics", "inst_executed"], "without a rollup"),
        (["--sass-metrics", "smsp__sass_inst_executed.sum"], "without a rollup"),
        (["--sass-metrics", ","], "from 1 to 64"),
        (["--sass-filter", "x"], "add --sass-metrics"),
        ([*_ASKED, "--sass-filter", "("], "extended regular expression"),
        ([*_ASKED, "--pm"], "two captures"),
        ([*_ASKED, "--pc-sampling"], "two captures"),
        ([*_ASKED, "--range-metrics", "dram__bytes_read.sum"], "two captures"),
        ([*_ASKED, "--duration", "1s"], "to the end of the program"),
        ([*_ASKED, "--capture-range", "nvtx:step"], "to the end of the program"),
        ([*_ASKED, "--kinds", "kernel"], "kernel cannot be recorded with --sass-metrics"),
        ([*_ASKED, "--kinds", "light, memset"], "memset cannot be recorded with --sass-metrics"),
        ([*_ASKED, "--max-rows", "5"], "to the end of the program"),
        ([*_ASKED, "--max-size", "1MB"], "to the end of the program"),
    ],
)
def test_options_that_cannot_be_are_refused(
    capturer: Capturer, options: list[str], says: str
) -> None:
    capture = capturer.run(CUPTI_13, options, launches=1)
    assert capture.status == 2
    assert says in capture.stderr


def test_a_program_that_is_killed_takes_its_counts_with_it(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, _ASKED, launches=50, exit="kill")
    assert capture.status == 137
    assert capture.rows("sass_metric") == []
    assert capture.losses()["killed"]
