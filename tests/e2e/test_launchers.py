"""Launchers: what each starts has its rank, be the capture around it or inside."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import slurm
from support.captures import Capturer
from support.fake_cuda import script
from support.torchrun import torchrun

import cupti_etl
from cupti_etl.config import LAUNCHERS

pytestmark = pytest.mark.slow
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
RANKS = "SELECT rank, local_rank, world_size FROM process ORDER BY rank"
has_mpi = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")


def launched(
    capturer: Capturer, launcher: list[str], *, is_inside: bool, variables: dict[str, str]
) -> list[tuple[int | None, ...]]:
    """Ranks of two processes that a launcher starts.

    Args:
        capturer: of the fake program.
        launcher: the command line in front of what it starts.
        is_inside: whether it starts two captures, or one capture starts it.
        variables: of the environment.
    """
    words, env, trace, _ = capturer.prepare("13.5.25", launches=3)
    for name in {name for names in LAUNCHERS.values() for name in names}:
        env.pop(name, None)
    at = words.index("--") + 1
    if is_inside:
        words[words.index(str(trace))] = f"{trace}-%r"
        words = [*launcher, *words]
    else:
        words[at:at] = launcher
    done = subprocess.run(
        words, env=env | variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    paths = [Path(f"{trace}-{rank}") for rank in range(2)] if is_inside else [trace]
    with cupti_etl.open(*paths) as opened:
        assert [row["n"] for row in opened.sql("SELECT count(*) AS n FROM kernel")] == [6]
        return [tuple(row.values()) for row in opened.sql(RANKS)]


@has_mpi
@pytest.mark.parametrize("is_inside", [False, True])
def test_mpirun(capturer: Capturer, is_inside: bool) -> None:
    found = launched(capturer, MPIRUN, is_inside=is_inside, variables={})
    # Where it is built for CUDA, mpirun initialises that itself.
    assert [each for each in found if each != (None, None, None)] == [(0, 0, 2), (1, 1, 2)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """The variables of a Slurm."""
    if lacks := slurm.missing():
        pytest.skip(f"no Slurm without {lacks}")
    with ExitStack() as stack:
        try:
            env = stack.enter_context(slurm.slurm())
        except slurm.NoSlurm as why:
            pytest.skip(f"no Slurm: {why}")
        yield env


@pytest.mark.parametrize("is_inside", [False, True])
def test_srun(capturer: Capturer, cluster: dict[str, str], is_inside: bool) -> None:
    variables = {name: cluster[name] for name in ("PATH", "SLURM_CONF")}
    launcher = ["srun", "--ntasks=2", "--mpi=none"]
    found = launched(capturer, launcher, is_inside=is_inside, variables=variables)
    assert found == [(0, 0, 2), (1, 1, 2)]


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_torchrun(capturer: Capturer) -> None:
    launcher = torchrun("--nproc-per-node=2", "--no-python")
    found = launched(capturer, launcher, is_inside=False, variables={})
    assert found == [(0, 0, 2), (1, 1, 2)]


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray(capturer: Capturer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers inherit the environment of the program that starts Ray, which kills them at its end.

    So what a worker has not handed over by then is lost, and it says so.
    """
    text = """
import ray
@ray.remote
def work(number):
    cuda(); launch(number)
    return number
ray.init(num_cpus=2, log_to_driver=False)
assert sorted(ray.get([work.remote(n) for n in (2, 3)])) == [2, 3]
ray.shutdown()
"""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    capture = capturer.run(options=["--linger", "60s"], command=script(text))
    assert capture.status == 0, capture.stderr
    workers = capture.rows("process")
    assert workers
    assert {row["rank"] for row in workers} == {None}
    kernels = capture.count("kernel")
    assert kernels == 5 or (kernels < 5 and {row["cause"] for row in capture.rows("loss")})
