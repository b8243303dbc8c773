"""What the GPU computes in a step: found with one run a side, whatever the host does."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from support.stepped import GPU, HOST, KERNEL_NS, STEPS
from support.stepped import stepped_run as run

from cupti_etl.analysis import gpu_work
from cupti_etl.analysis.diff import Diff, diff_as_given
from cupti_etl.analysis.gpu_work import SMALLEST, Work
from cupti_etl.api import Trace

pytestmark = pytest.mark.slow
Compare = Callable[[Path, Path], Diff]


@pytest.fixture
def compare(open_once: Callable[[Path], Trace]) -> Compare:
    return lambda one, two: diff_as_given(open_once(one), open_once(two))


def compute(found: Diff) -> str:
    (row,) = [row for row in found.table.to_pylist() if row["name"] == "gpu 0: compute"]
    return str(row["verdict"])


@pytest.mark.parametrize("idle_ns", [HOST, GPU])
def test_equal_runs_compute_as_long(tmp_path: Path, compare: Compare, idle_ns: int) -> None:
    draw = random.Random(1)
    paths = [run(tmp_path / f"{n}", draw, idle_ns=idle_ns) for n in range(4)]
    for other in paths[1:]:
        found = compare(paths[0], other)
        assert found.verdict in ("none", "cannot tell")
        assert compute(found) == "none"
        assert "a change below" in found.note


@pytest.mark.parametrize("idle_ns", [HOST, GPU])
@pytest.mark.parametrize("slower", [0.02, 0.05])
def test_a_kernel_that_is_launched_besides_is_found(
    tmp_path: Path, compare: Compare, idle_ns: int, slower: float
) -> None:
    draw = random.Random(2)
    before = run(tmp_path / "a", draw, idle_ns=idle_ns)
    added = round(slower * 3 * (KERNEL_NS + idle_ns))
    after = run(tmp_path / "b", draw, idle_ns=idle_ns, added_ns=added)
    found = compare(before, after)
    assert (found.verdict, compute(found)) == ("regress", "regress"), found.why
    assert "launches more kernels" in found.why or slower == 0.05
    found = compare(after, before)
    assert (found.verdict, compute(found)) == ("improve", "improve"), found.why


def test_kernels_that_take_longer_are_found(tmp_path: Path, compare: Compare) -> None:
    draw = random.Random(3)
    before = run(tmp_path / "a", draw, idle_ns=GPU)
    found = compare(before, run(tmp_path / "b", draw, idle_ns=GPU, longer=1.05))
    assert (found.verdict, compute(found)) == ("regress", "regress")


def test_a_kernel_that_not_all_steps_launch_may_be_chance(tmp_path: Path, compare: Compare) -> None:
    draw = random.Random(4)
    before = run(tmp_path / "a", draw, idle_ns=GPU)
    after = run(tmp_path / "b", draw, idle_ns=GPU, added_ns=15_000, every=STEPS)
    assert compute(compare(before, after)) == "cannot tell"


def work(draw: random.Random, pace: float, added_ns: float, longer: float) -> Work:
    """A change between made runs whose compute time differs by some share."""

    def side(added_ns: float, longer: float) -> tuple[list[dict[str, int]], dict[str, object]]:
        mean = 1e6 * draw.lognormvariate(0, pace) * longer
        parts = [
            {
                "steps": 8,
                "compute_ns": round(8 * (mean * draw.gauss(1 + part / 80, pace) + added_ns)),
                "total_ns": 8 * 1_100_000,
            }
            for part in range(8)
        ]
        kernels: dict[str, object] = {"k": gpu_work._Kernels(10.0, 0.0, mean / 10)}
        if added_ns:
            kernels["added"] = gpu_work._Kernels(1.0, 0.0, added_ns)
        return parts, kernels

    (one, ours), (two, theirs) = side(0.0, 1.0), side(added_ns, longer)
    return gpu_work._work((one, two), (ours, theirs))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("added_ns", "longer", "least", "most"),
    [(0, 1.0, 0.0, 0.05), (22_000, 1.0, 0.95, 1.0), (0, 1.05, 0.95, 1.0), (55_000, 0.98, 0.95, 1)],
)
@pytest.mark.parametrize("pace", [0.0005, 0.002, 0.004])
def test_how_often_a_change_is_found(
    added_ns: float, longer: float, least: float, most: float, pace: float
) -> None:
    draw = random.Random(5)
    verdicts = [work(draw, pace, added_ns, longer).verdict(SMALLEST) for _ in range(300)]
    assert least <= verdicts.count("regress") / len(verdicts) <= most
    assert verdicts.count("improve") <= 0.05 * len(verdicts)
