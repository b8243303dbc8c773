"""``capture --range-replay application``: a run of the command for each group of metrics."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13, kernel_name

import cupti_etl
from cupti_etl.cli import cli
from cupti_etl.errors import UsageError

pytestmark = pytest.mark.slow

PIPES = ("adu", "alu", "cbu", "fma", "lsu", "tensor", "tex", "uniform")
# Nine counters, of which the fake counts eight in a pass.
METRICS = [f"smsp__inst_executed_pipe_{pipe}.sum" for pipe in PIPES] + ["smsp__inst_executed.sum"]
ASKED = ["--range-metrics", ",".join(METRICS), "--range-replay", "application"]
BY_RANGE = ["--range-by", "range", "--capture-range", "nvtx:step"]


def runs(capture: Capture) -> dict[int, int]:
    """The run of each process, in the order of their starts."""
    rows = sorted(capture.rows("process"), key=lambda row: row["start_ns"])
    return {row["process_id"]: row["replay_run"] for row in rows}


def calls(capture: Capture) -> list[list[str]]:
    """What the fake was asked in each process."""
    logs = sorted(capture.trace.parent.glob("log*/*.ranges"))
    return [[line.split()[0] for line in log.read_text().splitlines()] for log in logs]


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_each_run_measures_one_group_of_metrics(capturer: Capturer, release: str) -> None:
    capture = capturer.run(release, ASKED, launches=3)
    assert capture.status == 0, capture.stderr
    assert "run 2 of 2" in capture.stderr
    run = runs(capture)
    assert list(run.values()) == [1, 2]
    rows = capture.rows("launch_metric")
    assert {(run[row["process_id"]], row["metric"]) for row in rows} == {
        *((1, metric) for metric in METRICS[:8]),
        (2, METRICS[8]),
    }
    assert len(rows) == 3 * 9
    assert {(row["passes"], row["one_pass"], row["missing"]) for row in rows} == {(1, True, None)}
    assert calls(capture) == [["enable", *["start", "launch", "stop", "decode"] * 3, "disable"]] * 2
    capture.check_sums()


def test_each_range_has_all_metrics(capturer: Capturer) -> None:
    fake = {"launches": 32, "range_every": 5, "range_gap": 3, "range_name": "step"}
    capture = capturer.run(CUPTI_13, [*ASKED, *BY_RANGE], **fake)
    assert capture.status == 0, capture.stderr
    trace = cupti_etl.open(capture.trace)
    found = [*trace.query("replay_counter")]
    assert len(found) == 4 * 9
    assert {(row["name"], row["missing"]) for row in found} == {("step", None)}
    assert {row["run"] for row in found} == {1, 2}
    assert [(row["is_same"], row["launches"]) for row in trace.query("replay_check")] == [(True, 4)]
    counted = [*trace.query("range_counter")]
    assert {(row["ranges"], row["launches"], row["same_launches"]) for row in counted} == {
        (4, 5, True)
    }
    capture.check_sums()


def command(capturer: Capturer, folder: Path, body: str) -> list[str]:
    """A shell program, of which ``$RUN`` counts the runs and ``launch N`` launches N kernels."""
    fake = " ".join(capturer.fakes.program(names=2))
    path = folder / "program.sh"
    path.write_text(
        f"""#!/bin/sh
        launch() {{ {fake} --launches=$1; }}
        echo >> {folder}/runs
        RUN=$(wc -l < {folder}/runs)
        {body}
        """
    )
    path.chmod(0o755)
    return [str(path)]


def test_runs_that_launch_otherwise_are_seen(capturer: Capturer, tmp_path: Path) -> None:
    """The second run launches one more, of a shape that the first does not have."""
    words = command(capturer, tmp_path, "launch $((RUN + 1))")
    capture = capturer.run(CUPTI_13, ASKED, command=words)
    assert capture.status == 0, capture.stderr
    trace = cupti_etl.open(capture.trace)
    (check,) = trace.query("replay_check")
    assert (check["is_same"], check["first_launches"], check["launches"]) == (False, 2, 3)
    assert (check["first_difference"], check["expected"]) == (3, None)
    assert check["found"].startswith(kernel_name(0))
    found = {
        (row["range_id"], row["metric"]): (row["value"] is not None, row["missing"])
        for row in trace.query("replay_counter")
    }
    assert found == {(n, metric): (True, None) for n in (1, 2) for metric in METRICS}
    capture.check_sums()


def test_a_run_that_fails_is_the_last(capturer: Capturer, tmp_path: Path) -> None:
    words = command(capturer, tmp_path, "launch 2; exit 7")
    capture = capturer.run(CUPTI_13, ASKED, command=words)
    assert capture.status == 7
    assert set(runs(capture).values()) == {1}
    assert {row["metric"] for row in capture.rows("launch_metric")} == set(METRICS[:8])
    (loss,) = capture.losses()["range_runs"]
    assert loss["detail"].startswith("the command was run 1 of 2 times, as it ended with status 7")
    assert loss["detail"] in capture.stderr


@pytest.mark.parametrize(
    ("fail", "says"),
    [
        ("cuptiRangeProfilerEnable=35", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("cuptiRangeProfilerStart=26", "another profiler has the GPU's counters"),
    ],
)
def test_where_nothing_is_counted_the_command_is_run_once(
    capturer: Capturer, tmp_path: Path, fail: str, says: str
) -> None:
    words = command(capturer, tmp_path, "launch 2")
    capture = capturer.run(CUPTI_13, ASKED, {"fail": fail}, command=words)
    assert capture.status == 0, capture.stderr
    assert (tmp_path / "runs").read_text() == "\n"
    assert says in capture.losses()["range_refused"][0]["detail"]
    assert says in capture.stderr
    assert capture.count("kernel") == 2
    capture.check_sums()


def test_more_groups_than_there_can_be_are_refused(capturer: Capturer, tmp_path: Path) -> None:
    """33 metrics, of which no two fit one pass."""
    bases = [name.removesuffix(".sum") for name in METRICS]
    names = [f"{base}.{rollup}" for base in bases for rollup in ("sum", "avg", "min", "max")][:33]
    words = command(capturer, tmp_path, "launch 1")
    options = ["--range-metrics", ",".join(names), *ASKED[2:]]
    capture = capturer.run(CUPTI_13, options, {"ranges_one_by_one": 1}, command=words)
    assert capture.status == 0, capture.stderr
    assert (tmp_path / "runs").read_text() == "\n"
    assert "more than 32 groups; ask for fewer" in capture.losses()["range_refused"][0]["detail"]


def test_an_interrupt_ends_all_runs(capturer: Capturer, tmp_path: Path) -> None:
    """Also of a program that takes it and ends in order."""
    body = "trap : INT; launch 2; kill -INT $PPID; sleep 1; exit 0"
    capture = capturer.run(CUPTI_13, ASKED, command=command(capturer, tmp_path, body))
    assert capture.status == 0, capture.stderr
    assert set(runs(capture).values()) == {1}
    assert "as it was interrupted" in capture.losses()["range_runs"][0]["detail"]


def test_each_run_reads_a_file_on_standard_input_from_its_beginning(
    capturer: Capturer, tmp_path: Path
) -> None:
    words, env, _, _ = capturer.prepare(CUPTI_13, ASKED, launches=1, echo=1)
    text = tmp_path / "input"
    text.write_text("first\nsecond\n")
    with text.open() as file:
        file.readline()  # what was read before is not read again
        os.lseek(file.fileno(), len("first\n"), os.SEEK_SET)
        done = subprocess.run(
            words, env=env, stdin=file, capture_output=True, text=True, timeout=120, check=False
        )
    assert (done.returncode, done.stdout) == (0, "second\n" * 2), done.stderr


def test_one_group_takes_one_run(capturer: Capturer) -> None:
    options = ["--range-metrics", METRICS[8], "--range-replay", "application"]
    capture = capturer.run(CUPTI_13, options, launches=2)
    assert list(runs(capture).values()) == [1]
    assert capture.count("launch_metric") == 2
    assert set(capture.losses()) == {"replayed"}


def test_what_needs_several_passes_by_itself_is_null_with_a_reason(capturer: Capturer) -> None:
    alone = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    options = ["--range-metrics", f"{METRICS[8]},{alone},{METRICS[0]}", *ASKED[2:]]
    capture = capturer.run(CUPTI_13, options, {"ranges_apart": alone}, launches=2)
    assert list(runs(capture).values()) == [1]
    rows = capture.rows("launch_metric")
    assert {row["metric"]: row["missing"] for row in rows} == {
        alone: "it needs several passes, and one execution has one",
        METRICS[8]: None,
        METRICS[0]: None,
    }
    assert all((row["value"] is None) is (row["metric"] == alone) for row in rows)
    capture.check_sums()


@pytest.mark.parametrize(("replay", "measured"), [("kernel", 2), ("application", 3)])
def test_cooperative_kernels_are_measured_where_nothing_is_executed_twice(
    capturer: Capturer, replay: str, measured: int
) -> None:
    options = ["--range-metrics", METRICS[8], "--range-replay", replay]
    capture = capturer.run(CUPTI_13, options, {"ranges_cooperative": 3}, launches=3)
    assert capture.count("launch_metric") == measured
    left_out = capture.losses().get("range_left_out", [])
    assert sum(row["records"] for row in left_out) == 3 - measured
    assert all("--range-replay application" in row["detail"] for row in left_out)
    capture.check_sums()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--range-replay", "application"], "add --range-metrics"),
        ([*ASKED, "--delay", "1s"], "--capture-range"),
        ([*ASKED, "--max-rows", "5"], "--capture-range"),
        ([*ASKED, "--flight-recorder", "1s"], "--capture-range"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], says: str) -> None:
    done = CliRunner().invoke(cli, ["capture", *options, "--", "true"])
    assert isinstance(done.exception, UsageError) or done.exit_code == 2
    assert says in f"{done.output}{done.exception}{getattr(done.exception, 'hint', '')}"
