"""The acceptance's own machinery: what it does when programs fail, hang, or succeed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # Where nobody collects orphans, what is left is a zombie.
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    from runs import Runner

    runner = Runner(tmp_path, tmp_path / "log", seconds=60)
    done = runner.run(["sh", "-c", "sleep 100 & echo $!; wait"], limit=5.1)
    assert done.status == 124
    deadline = time.monotonic() + 10
    while lives(int(done.output.split()[0])):
        assert time.monotonic() < deadline, "the child outlived the limit"
        time.sleep(0.01)
    assert "[status 124" in (tmp_path / "log").read_text()


def test_nothing_begins_when_time_is_up(tmp_path: Path) -> None:
    from runs import Runner

    done = Runner(tmp_path, tmp_path / "log", seconds=1).run(["touch", "ran"])
    assert done.status == 125
    assert not (tmp_path / "ran").exists()


def test_output_and_status(tmp_path: Path) -> None:
    from runs import Runner

    done = Runner(tmp_path, tmp_path / "log", seconds=60).run(["sh", "-c", "pwd; exit 3"])
    assert (done.status, done.last_lines) == (3, [str(tmp_path)])


def test_overhead_is_the_median_of_differences_within_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import overhead
    from runs import Runner

    values = iter([100.0, 180.0, 300.0, 360.0, 110.0, 180.0])
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\ncp "$PWD/value" "$1"\n')
    program.chmod(0o755)
    monkeypatch.setattr(overhead, "CUPTI_ETL", ("env",))

    class OneAfterTheOther(Runner):
        def run(self, command, **more):  # type: ignore[no-untyped-def]
            # `env capture ...` stands for the captured run.
            command = command[command.index("--") + 1 :] if "--" in command else command
            value = {"enqueue_ns_per_launch": next(values)}
            (tmp_path / "value").write_text(json.dumps(value))
            return super().run(command, **more)

    variants = {"plain": overhead.Variant(), "other": overhead.captured(every=1)}
    runner = OneAfterTheOther(tmp_path, tmp_path / "log", 60)
    command = [str(program), "{log}"]
    report = overhead.compare(runner, command, variants, 3, "enqueue_ns_per_launch")
    assert report["failures"] == []
    assert report["added"]["other"]["median"] == 70.0
    assert report["added"]["other"]["interval_95"] == [60.0, 80.0]
    assert report["median"]["plain"] == 110.0


def test_a_variant_that_fails_is_named(tmp_path: Path) -> None:
    import overhead
    from runs import Runner

    variants = {"plain": overhead.Variant(), "broken": overhead.Variant(("false",))}
    command = ["sh", "-c", 'echo "{\\"x\\": 1}" > "$0"', "{log}"]
    report = overhead.compare(Runner(tmp_path, tmp_path / "log", 60), command, variants, 1, "x")
    assert report["median"] == {"plain": 1}
    assert len(report["failures"]) == 1
    assert "broken" in report["failures"][0]


@pytest.fixture
def driver_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "driver"
    folder.mkdir()
    for library in ("libcuda.so.1", "libcupti.so.13"):
        source = SCRIPTS.parent / "tests" / "demo" / f"fake_{library.split('.')[0]}.c"
        flags = ["-shared", "-fPIC", "-pthread", "-o", str(folder / library)]
        subprocess.run(["cc", *flags, source], check=True)
    return folder


def acceptance(
    tmp_path: Path, driver: Path, *only: str, **environ: str
) -> tuple[int, dict[str, dict[str, object]]]:
    """Run cases without a GPU; exit status, and the reports by case."""
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(
        [
            sys.executable, SCRIPTS / "gpu/acceptance.py", "--out", out,
            "--work", tmp_path / "work", "--launch-loop", "/bin/false", "--only", *only,
        ],
        env={**os.environ, "LD_LIBRARY_PATH": str(driver), **environ},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    report = json.loads((out / "acceptance.json").read_text())
    assert report["passed"] is (done.returncode == 0), done.stdout + done.stderr
    return done.returncode, {case["case"]: case for case in report["cases"]}


def test_a_true_capture_passes(tmp_path: Path, driver_folder: Path) -> None:
    status, cases = acceptance(
        tmp_path, driver_folder, "driver_api", "interrupted", "forkserver", "demo"
    )
    assert status == 0
    assert len(cases["driver_api"]["checks"]) == 11  # type: ignore[arg-type]
    assert cases["demo"]["passed"]


def test_a_lost_record_fails_it_and_the_rest_still_runs(
    tmp_path: Path, driver_folder: Path
) -> None:
    status, cases = acceptance(
        tmp_path, driver_folder, "launch_loop", "driver_api", FAKE_CUPTI_FORGET="50"
    )
    assert status == 1
    assert list(cases) == ["launch_loop", "driver_api"]
    assert "launch_loop.json was not written" in str(cases["launch_loop"]["problems"])
    failed = {c["name"] for c in cases["driver_api"]["checks"] if not c["passed"]}  # type: ignore[attr-defined,index]
    assert "counts per kernel name and stream" in failed


def test_a_recording_is_made_replayed_and_checked(
    tmp_path: Path, driver_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import acceptance as module
    from runs import Runner

    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver_folder))
    # The built-in workload stands for the training run: it takes the same --log.
    stand_in = tmp_path / "train.py"
    stand_in.write_text(
        "import sys; from cupti_etl.demo.workload import main\n"
        "sys.exit(main([*sys.argv[1:3], '--loops', '4']))\n"
    )
    monkeypatch.setattr(module, "HERE", tmp_path)
    (tmp_path / "traces").mkdir()
    runner = Runner(tmp_path, tmp_path / "log", 60)
    judge = module.Acceptance(runner, [])
    module.record(judge, runner, tmp_path)
    assert [(report["case"], report["passed"]) for report in judge.reports] == [
        ("recording_10_steps", True),
        ("replay", True),
    ]
    assert len(judge.reports[1]["checks"]) == 11
    assert (tmp_path / "h200.etlrec").stat().st_size < 100_000


def test_a_recording_that_is_too_large_is_made_again_with_fewer_steps(
    tmp_path: Path, driver_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import acceptance as module
    from runs import Done, Runner

    class Large(Runner):
        def run(self, command, **more):  # type: ignore[no-untyped-def]
            if "--save-raw" in command:
                Path(command[command.index("--save-raw") + 1]).write_bytes(b"x" * 20)
            return Done(int(command == ["false"]), 0.0, "")

    monkeypatch.setattr(module, "RECORDING_BYTES", 10)
    judge = module.Acceptance(Large(tmp_path, tmp_path / "log", 60), [])
    module.record(judge, judge._runner, tmp_path)
    assert [report["passed"] for report in judge.reports] == [True, True, True, False]


def test_combinations_hold_every_pair() -> None:
    import itertools

    import features

    runs = features.pairwise(features.FACTORS)
    assert len(runs) < 20
    for a, b in itertools.combinations(features.FACTORS, 2):
        together = {(run[a], run[b]) for run in runs}
        assert together == set(itertools.product(features.FACTORS[a], features.FACTORS[b]))


def test_a_feature_whose_rows_are_missing_fails(tmp_path: Path) -> None:
    import features
    from click.testing import CliRunner

    from cupti_etl.cli import cli

    trace, recording = tmp_path / "t", SCRIPTS.parent / "cupti_etl" / "demo" / "h200.etlrec"
    done = CliRunner().invoke(cli, ["replay", str(recording), "-o", str(trace)])
    assert done.exit_code == 0, done.output
    kernels = len(features.cupti_etl.open(trace).sql("FROM kernel").arrow())
    right = features.Case("x", (), exact={features.KERNELS: kernels}, least={features.KERNELS: 1})
    assert features.judge(right, trace, 0)["problems"] == []
    wrong = features.Case("x", (), exact={features.KERNELS: 1}, least={features.KERNELS: 10**9})
    assert len(features.judge(wrong, trace, 4)["problems"]) == 3
