"""``capture --pc-sampling`` with a fake CUPTI: rows, sums, losses, and what refuses."""

from __future__ import annotations

from collections import Counter

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13, kernel_name
from support.slow import few

# What the fake adds for each launch: where, why and how often; see fake_cupti_pcs.c.
_STALLED = "smsp__pcsamp_warps_issue_stalled_"
_PATTERN = {
    (0x10, f"{_STALLED}long_scoreboard"): 4,  # of which 2 were not issued
    (0x50, f"{_STALLED}selected"): 1,
    (0x2C0, f"{_STALLED}long_scoreboard"): 2,
    (0x2C0, f"{_STALLED}selected"): 3,
}


def found(capture: Capture) -> Counter[tuple[str, int, str]]:
    """Samples by function, place and reason."""
    sums: Counter[tuple[str, int, str]] = Counter()
    for row in capture.rows("pc_sample"):
        sums[row["function"], row["pc_offset"], row["stall_reason"]] += row["samples"]
    return sums


def expected(launches: dict[str, int]) -> Counter[tuple[str, int, str]]:
    """What launches by kernel come to."""
    return Counter(
        {
            (name, at, reason): count * samples
            for name, count in launches.items()
            for (at, reason), samples in _PATTERN.items()
        }
    )


def check_windows(capture: Capture) -> None:
    """All samples that CUPTI told of are somewhere."""
    parts = [f"{name}_samples" for name in ("stored", "dropped", "other", "lost", "left_out")]
    for row in capture.rows("pc_window"):
        if not row["buffer_full"]:
            assert row["samples"] == sum(row[name] for name in parts), row
            assert row["left_out_samples"] >= 0
    stored = sum(row["stored_samples"] for row in capture.rows("pc_window"))
    assert stored == sum(row["samples"] for row in capture.rows("pc_sample"))


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
@pytest.mark.parametrize("tail", [0, 1])
def test_each_sample_is_in_a_row(capturer: Capturer, release: str, tail: int) -> None:
    # The context is known from the end of the first launch on.
    capture = capturer.run(release, ["--pc-sampling"], {"pcs_tail": tail}, launches=301, names=3)
    assert capture.status == 0, capture.stderr
    first, second, third = map(kernel_name, range(3))
    assert found(capture) == expected({first: 100, second: 100, third: 100})
    assert capture.count("kernel") == 301
    rows = capture.rows("pc_sample")
    assert f", {len(rows)} pc_sample from 1 process" in capture.stderr
    assert sum(row["not_issued_samples"] for row in rows) == 300 * 2
    assert {row["cubin_crc"] for row in rows} == {0xC0BEA5}
    assert {row["context_id"] for row in rows} == {1}
    assert {row["correlation_id"] for row in rows} == {None}
    check_windows(capture)
    capture.check_sums()
    assert capture.losses() == {}


def test_samples_that_are_in_no_row_are_counted(capturer: Capturer) -> None:
    lost = {"pcs_dropped": 3, "pcs_not_user": 5, "pcs_left_out": 7}
    capture = capturer.run(CUPTI_13, ["--pc-sampling=20"], lost, launches=101)
    check_windows(capture)
    capture.check_sums()
    names = ("samples", "stored_samples", "dropped_samples", "other_samples", "left_out_samples")
    sums = [sum(row[name] for row in capture.rows("pc_window")) for name in names]
    assert sums == [2500, 1000, 300, 500, 700]
    assert {row["period_cycles"] for row in capture.rows("pc_window")} == {1 << 20}
    (dropped,) = capture.losses()["pc_dropped"]
    assert (dropped["table_name"], dropped["records"]) == ("pc_sample", 300)


def test_a_full_hardware_buffer_is_a_loss_of_unknown_size(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, ["--pc-sampling"], {"pcs_full_at": 1}, launches=101)
    assert capture.count("kernel") == 101
    (full,) = [row for row in capture.rows("pc_window") if row["buffer_full"]]
    assert full["samples"] is None
    (loss,) = capture.losses()["pc_buffer_full"]
    assert loss["records"] is None
    assert "longer --pc-sampling period" in loss["detail"]
    capture.check_sums()


def test_what_does_not_fit_one_collection_comes_with_the_next(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, ["--pc-sampling"], {"pcs_piece": 9}, launches=201, names=20)
    assert found(capture).total() == 200 * 10
    assert capture.count("pc_window") >= 7
    check_windows(capture)
    capture.check_sums()


def test_what_does_not_fit_the_last_collection_is_lost(capturer: Capturer) -> None:
    fake = {"pcs_piece": 9, "pcs_tail": 1}
    capture = capturer.run(CUPTI_13, ["--pc-sampling"], fake, launches=201, names=20)
    given = found(capture).total()
    assert 0 < given < 200 * 10
    check_windows(capture)
    assert sum(row["lost_samples"] for row in capture.rows("pc_window")) == 200 * 10 - given
    (dropped,) = capture.losses()["pc_dropped"]
    assert dropped["records"] == 200 * 10 - given
    capture.check_sums()


def test_serialized_samples_have_their_launch(capturer: Capturer) -> None:
    options = ["--pc-sampling", "--pc-sampling-mode", "serialized"]
    capture = capturer.run(CUPTI_13, options, launches=51)
    launches = {row["correlation_id"] for row in capture.rows("kernel")}
    assert {row["correlation_id"] for row in capture.rows("pc_sample")} <= launches
    assert {row["mode"] for row in capture.rows("pc_window")} == {"serialized"}


def calls(capture: Capture) -> list[str]:
    """What the fake was asked, in order."""
    (log,) = capture.trace.parent.glob("log*/*.pcs")
    return [line.split()[0] for line in log.read_text().splitlines()]


def test_a_duty_cycle_starts_and_stops_inside_launches(capturer: Capturer) -> None:
    """Elsewhere CUPTI would wait for ever, which the fake tells as an error."""
    options = ["--pc-sampling", "--pc-duty", "10ms/30ms"]
    capture = capturer.run(CUPTI_13, options, launches=400, rate=1000)
    asked = [call for call in calls(capture) if call in ("start", "stop")]
    assert asked[:2] == ["start", "stop"]
    assert asked == (["start", "stop"] * len(asked))[: len(asked)]
    assert found(capture).total() <= 400 * 10
    check_windows(capture)
    assert capture.losses() == {}


def test_nothing_is_sampled_before_a_delay_is_over(capturer: Capturer) -> None:
    options = ["--pc-sampling", "--delay", "10m"]
    capture = capturer.run(CUPTI_13, options, launches=50)
    assert [*capture.trace.parent.glob("log*/*.pcs")] == []
    assert capture.count("pc_sample") == 0
    assert capture.losses() == {}


@pytest.mark.parametrize(
    ("release", "fail", "says"),
    few(
        2,
        [
            (CUPTI_13, "cuptiPCSamplingEnable=35", "NVreg_RestrictProfilingToAdminUsers=0"),
            (CUPTI_13, "cuptiPCSamplingEnable=27", "does not support it"),
            (CUPTI_13, "cuptiPCSamplingEnable=26", "end it"),
            (CUPTI_13, "cuptiPCSamplingSetConfigurationAttribute=999", "CUPTI answered 999"),
            (CUPTI_13, "cuptiPCSamplingGetStallReasons=7", "CUPTI answered 7"),
            (CUPTI_13, "cuptiPCSamplingGetData=999", "CUPTI answered 999"),
            ("12.6.80", "", "before CUDA 12.8"),
        ],
    ),
)
def test_what_refuses_is_a_loss_with_a_reason_and_the_rest_is_recorded(
    capturer: Capturer, release: str, fail: str, says: str
) -> None:
    capture = capturer.run(release, ["--pc-sampling"], {"fail": fail} if fail else {}, launches=50)
    assert capture.status == 0
    assert capture.count("kernel") == 50
    (loss,) = capture.losses()["pc_refused"]
    assert loss["table_name"] == "pc_sample"
    assert says in loss["detail"]
    capture.check_sums()


@pytest.mark.slow
def test_the_code_is_stored_once_and_not_if_it_is_not_wanted(capturer: Capturer) -> None:
    (row,) = capturer.run(CUPTI_13, ["--pc-sampling"], launches=50).rows("cubin")
    assert row["cubin_crc"] == 0xC0BEA5
    assert row["bytes"].startswith(b"\x7fELF")
    assert row["size_bytes"] == len(row["bytes"])
    program = capturer.fakes.program(launches=50)
    ranks = ["sh", "-c", '"$@" & "$@" & wait', "sh", *program]
    two = capturer.run(CUPTI_13, ["--pc-sampling"], command=ranks).rows("cubin")
    assert len({each["process_id"] for each in two}) == len(two) == 2
    assert {each["size_bytes"] for each in two} == {row["size_bytes"]}
    assert sorted(each["bytes"] is None for each in two) == [False, True]
    without = capturer.run(CUPTI_13, ["--pc-sampling", "--no-cubins"], launches=50)
    assert without.rows("cubin") == []
    assert without.count("pc_sample") == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--pc-sampling=3"], "from 5 to 31"),
        (["--pc-sampling=x"], "from 5 to 31"),
        (["--pc-duty", "30ms/1s"], "add --pc-sampling"),
        (["--pc-sampling", "--pc-duty", "2s/1s"], "such as 30ms/1s"),
        (["--pc-sampling", "--pm"], "two captures"),
        (["--pc-sampling", "--capture-range", "cudaProfilerApi"], "use --delay"),
    ],
)
def test_options_that_cannot_be_are_refused(
    capturer: Capturer, options: list[str], says: str
) -> None:
    capture = capturer.run(CUPTI_13, options, launches=1)
    assert capture.status == 2
    assert says in capture.stderr
