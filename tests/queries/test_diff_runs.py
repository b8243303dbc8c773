"""Several runs a side: a change is judged by how much equal runs differ."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.trace import write_tables

from cupti_etl.analysis.diff import Diff, diff_as_given
from cupti_etl.analysis.spread import Piece, bootstrap, corrected, over_runs, t_quantile
from cupti_etl.analysis.verdict import judged
from cupti_etl.api import Trace
from cupti_etl.cli import cli

Compare = Callable[[list[Path], list[Path]], Diff]
STEPS = 24
STEP_NS = 100_000


def run(folder: Path, pace: float, *, kernel: str = "k", busy_ns: int = 0) -> Path:
    """Steps that take `pace` times as long as usual; within a run all are alike.

    The GPU is busy for half of each, or for `busy_ns`, whatever the pace of the host.
    """
    length = round(STEP_NS * pace)
    marks, calls, kernels = [], [], []
    for step in range(STEPS):
        at = 1000 + step * length
        marks += [f"1 5 {step} start {at} step", f"1 5 {step} end {at + length - 9} -"]
        calls.append(f"1 5 runtime {step} cudaLaunchKernel {at + 1} {at + 2}")
        kernels.append(f"1 0 {step} {at + 3} {at + 3 + (busy_ns or length // 2) + step} {kernel}")
    rows = "\n".join
    return write_tables(
        folder,
        kernel=rows(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
        api_call=rows(["process_id thread_id domain correlation_id name start_ns end_ns", *calls]),
        marker=rows(["process_id thread_id marker_id event timestamp_ns name", *marks]),
        device="process_id device_id device_uuid\n1 0 GPU-0",
    )


def runs(folder: Path, seed: int, count: int, spread: float, slower: float = 0.0) -> list[Path]:
    """Equal runs, which differ by a share of `spread`."""
    draw = random.Random(seed)
    return [
        run(folder / f"{seed}-{n}", (1 + slower) * draw.lognormvariate(0, spread))
        for n in range(count)
    ]


@pytest.fixture
def compare(open_once: Callable[[Path], Trace]) -> Compare:
    """Compares runs, each of which is opened once."""
    return lambda *sides: diff_as_given(*([open_once(path) for path in side] for side in sides))


@pytest.mark.slow
def test_what_equal_runs_differ_by_is_no_change(tmp_path: Path, compare: Compare) -> None:
    # Equal runs on an H200 whose host others used, too (docs/measurements/h200-diff.json).
    paces = (1.0, 1.14, 0.88, 1.08, 1.17, 1.19)
    pool = [run(tmp_path / f"{at}", pace, busy_ns=9000) for at, pace in enumerate(paces)]
    pairs = [compare([one], [two]) for one, two in combinations(pool, 2)]
    assert {found.verdict for found in pairs} == {"cannot tell"}
    assert all("two runs of this kind can differ by this much" in each.note for each in pairs)
    splits = [some for some in combinations(range(6), 3) if 0 in some]
    found = [
        compare([pool[at] for at in some], [pool[at] for at in range(6) if at not in some])
        for some in splits[::3]
    ]
    assert {each.verdict for each in found} == {"cannot tell"}
    assert all("3 and 3 runs, of which equal ones differ by" in each.why for each in found)
    assert {each.note for each in found} == {""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((1.0, 9000), (1.0, 15_000), "cannot tell"),  # hidden behind the host
        ((1.0, 60_000), (1.05, 65_000), "regress"),
        ((1.05, 65_000), (1.0, 60_000), "improve"),
        ((1.0, 9000), (2.5, 9000), "regress"),
        ((2.5, 9000), (1.0, 9000), "improve"),
    ],
)
def test_one_run_a_side_shows_what_no_host_does(
    tmp_path: Path,
    compare: Compare,
    before: tuple[float, int],
    after: tuple[float, int],
    verdict: str,
) -> None:
    """Work of the GPU that became longer, and idle time beyond what equal runs differ by."""
    paths = [
        run(tmp_path / f"{at}", pace, busy_ns=busy)
        for at, (pace, busy) in enumerate((before, after))
    ]
    found = compare(paths[:1], paths[1:])
    assert found.verdict == verdict, found.why


@pytest.mark.slow
def test_a_slowdown_beyond_the_spread_is_found(tmp_path: Path, compare: Compare) -> None:
    before = runs(tmp_path, 1, 3, 0.003)
    for slower in (0.02, 0.05):
        found = compare(before, runs(tmp_path / f"{slower}", 2, 3, 0.003, slower))
        assert found.verdict == "regress", slower
        (step,) = (row for row in found.table.to_pylist() if row["subject"] == "step")
        assert step["low"] < 1 + slower < step["high"]
        assert step["low"] > 1.01
    assert compare(before, runs(tmp_path, 3, 3, 0.003)).verdict in ("none", "cannot tell")
    # One run after, as in a job that keeps some runs of the main branch.
    assert compare(before, runs(tmp_path, 4, 1, 0.003, 0.05)).verdict == "regress"


def called(before: list[float], after: list[float]) -> str:
    """The verdict on runs with these means."""
    pieces: list[list[Piece]] = [[(mean, 1.0) for mean in side] for side in (before, after)]
    change = over_runs(*pieces)
    assert change is not None
    row = {
        "is_same": False, "before_calls": 1, "after_calls": 1, "ratio": change.ratio,
        "low": change.low, "high": change.high, "q": change.p,
    }  # fmt: skip
    judged(row, 0.01)
    return str(row["verdict"])


# Of a machine that is in one of two states, 2 runs before in one and 2 after in the other are an
# eighth of all sets, and nothing can tell them from a change: the command asks for 3.
@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *((kind, count) for kind in ("quiet", "busy", "outliers") for count in (2, 3, 5, 8)),
        *(("two states", count) for count in (3, 5, 8)),
    ],
)
def test_false_alarms_are_rare(kind: str, count: int) -> None:
    draw = random.Random(f"{count} {kind}")
    pace = {
        "quiet": lambda: draw.lognormvariate(0, 0.005),
        "busy": lambda: draw.lognormvariate(0, 0.15),
        "outliers": lambda: draw.lognormvariate(0, 0.005) * (1.4 if draw.random() < 0.1 else 1),
        "two states": lambda: draw.choice([1.0, 1.2]) * draw.lognormvariate(0, 0.01),
    }[kind]
    sets = 2000
    alarms = sum(
        called([pace() for _ in range(count)], [pace() for _ in range(count)])
        in ("regress", "improve")
        for _ in range(sets)
    )
    assert alarms / sets <= 0.055


@pytest.mark.parametrize(
    ("slower", "spread", "count", "least"),
    [(0.02, 0.003, 3, 0.95), (0.02, 0.005, 5, 0.95), (0.05, 0.01, 3, 0.90), (0.05, 0.15, 3, 0.0)],
)
def test_slowdowns_are_found_where_they_exceed_the_spread(
    slower: float, spread: float, count: int, least: float
) -> None:
    draw = random.Random(5)
    verdicts = [
        called(
            [draw.lognormvariate(0, spread) for _ in range(count)],
            [(1 + slower) * draw.lognormvariate(0, spread) for _ in range(count)],
        )
        for _ in range(1000)
    ]
    assert verdicts.count("regress") >= least * len(verdicts)
    assert verdicts.count("improve") <= 0.03 * len(verdicts)


def test_the_statistics_are_those_of_the_papers() -> None:
    # Benjamini and Hochberg's own example of 1995, section 3.2.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
    p += [0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert sum(q <= 0.05 for q in corrected(p)) == 4
    assert corrected([0.01, 0.02, 0.5]) == pytest.approx([0.03, 0.03, 0.5])
    assert corrected([]) == []
    # The table of Student's t for 95 %.
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 10: 2.228, 120: 1.980}
    assert {free: round(t_quantile(0.05, free), 3) for free in table} == table


@pytest.mark.slow
def test_the_interval_of_two_runs_is_as_wide_as_their_parts_differ() -> None:
    chance = random.Random(1)

    def parts(mean: float) -> list[Piece]:
        return [(sum(chance.gauss(mean, 10) for _ in range(100)), 100) for _ in range(32)]

    inside = 0
    for _ in range(200):
        low, high = bootstrap(parts(100), parts(103))
        assert low is not None
        assert high is not None
        inside += low <= 1.03 <= high
        # The standard error of each mean of 3,200 is 10 / sqrt(3200), 0.18 % of it.
        assert high - low == pytest.approx(2 * 1.96 * 0.0025, rel=0.5)
    assert 180 <= inside <= 200


def test_the_interval_of_parts_that_are_alike_is_their_ratio() -> None:
    assert bootstrap([(10, 5)], [(30, 10)]) == (1.5, 1.5)
    assert bootstrap([(10, 5)] * 3, [(30, 10)] * 7) == (1.5, 1.5)
    assert bootstrap([(0, 5)] * 3, [(30, 10)] * 7) == (None, None)


def test_nothing_can_be_told_of_runs_without_a_time() -> None:
    assert over_runs([(0, 1)], [(0, 1), (0, 1)]) is None
    assert over_runs([], [(1, 1), (1, 1)]) is None
    assert over_runs([(1, 1)], [(1, 1)]) is None


@pytest.mark.slow
def test_the_command_takes_more_runs(tmp_path: Path) -> None:
    before = list(map(str, runs(tmp_path, 1, 3, 0.003)))
    after = list(map(str, runs(tmp_path, 2, 3, 0.003, 0.02)))
    words = ["diff", before[0], after[0], "--after", after[1], "--after", after[2]]
    words += ["--before", before[1], "--before", before[2], "--format", "json"]
    done = CliRunner().invoke(cli, [*words, "--fail-on", "regress"])
    assert done.exit_code == 5, done.output
    assert "verdict: regress: steps on gpu 0: +2." in done.stderr
    assert "note:" not in done.stderr
    (step,) = (row for row in json.loads(done.stdout) if row["subject"] == "step")
    assert step["before_calls"] == STEPS - 1  # of a mean run, without the last
    assert 0 < step["spread_pct"] < 1
    parts = [row["change_ns"] for row in json.loads(done.stdout) if row["subject"] == "step part"]
    assert sum(parts) == pytest.approx(step["change_ns"])


@pytest.mark.slow
def test_calls_that_failed_in_a_run_are_said(tmp_path: Path) -> None:
    kernel = "process_id device_id start_ns end_ns name\n 1 0 10 20 a\n"
    fine = write_tables(tmp_path / "fine", kernel=f"{kernel} 1 0 30 40 b")
    broken = write_tables(
        tmp_path / "broken",
        kernel=kernel,
        api_call="""
            process_id correlation_id domain  name             start_ns end_ns return_value
            1          1              runtime cudaLaunchKernel 1        2      0
            1          2              runtime cudaLaunchKernel 22       23     701
        """,
    )
    done = CliRunner().invoke(cli, ["diff", str(fine), str(broken)])
    assert (
        "note: after, calls failed, so what they asked for did not run: 1 of cudaLaunchKernel"
        " (a block needs more registers or threads than there are, 701); "
    ) in done.stderr
    assert "calls failed" not in CliRunner().invoke(cli, ["diff", str(fine), str(fine)]).stderr


def test_what_one_run_lacks_is_said_of_that_one(tmp_path: Path) -> None:
    whole, short = run(tmp_path / "whole", 1), tmp_path / "short"
    write_tables(
        short,
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        "1 0 1 20 30 k\n1 0 2 50 60 k",
        api_call="process_id thread_id domain correlation_id name start_ns end_ns\n"
        "1 5 runtime 1 cudaLaunchKernel 11 12\n1 5 runtime 2 cudaLaunchKernel 41 42",
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        "1 5 1 start 10 step\n1 5 1 end 35 -\n1 5 2 start 40 step\n1 5 2 end 65 -",
        device="process_id device_id device_uuid\n1 0 GPU-0",
    )
    done = CliRunner().invoke(cli, ["diff", str(whole), str(short), "--steps", "3-"])
    assert str(done.exception) == f"{short}: the trace has no step 3-"
