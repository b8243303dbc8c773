"""The pytest plugin, as those see it who use it: pytest run on tests of theirs."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb  # noqa: F401  # an inner pytest forgets its imports; this cannot be had twice
import pytest
from support.captures import PACKAGES
from support.fakes import CUPTI_13, Fakes
from support.stepped import GPU, stepped_run
from support.trace import write_trace

import cupti_etl

pytest_plugins = ["pytester"]
# Each compares traces a few times, and some start Python for each.
pytestmark = pytest.mark.slow
# Plugins without which an inner pytest starts in half the time.
OTHERS = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")

Run = Callable[..., pytest.RunResult]

COMPARES = """
import os
def test_step(cupti_compare):
    cupti_compare(*os.environ["TRACES"].split())
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, open_once: None) -> Run:
    """Runs one test that compares traces; its baselines are in ``perf``."""
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    pytester.makepyfile(test_model=COMPARES)

    def run(*traces: Path, words: tuple[str, ...] = ()) -> pytest.RunResult:
        monkeypatch.setenv("TRACES", " ".join(map(str, traces)))
        return pytester.runpytest_inprocess("--cupti-etl-baseline=perf", *OTHERS, *words)

    return run


def made(folder: Path, seed: int, **options: object) -> Path:
    return stepped_run(folder, random.Random(seed), idle_ns=GPU, **options)  # type: ignore[arg-type]


def test_a_test_that_became_slower_fails(
    run: Run, tmp_path: Path, pytester: pytest.Pytester
) -> None:
    before, same, slower = (
        made(tmp_path / name, seed, longer=longer)
        for seed, (name, longer) in enumerate([("a", 1.0), ("b", 1.0), ("c", 1.08)])
    )
    done = run(before, words=("--cupti-etl-update",))
    assert done.ret == 0
    (kept,) = pytester.path.glob("perf/test_model.py/test_step/run-*")
    assert kept.name == "run-1"
    assert run(same).ret == 0

    done = run(slower)
    assert done.ret == 1
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "slower than its baseline: steps on gpu 0: +*compute +*",
            f"  cupti-etl diff {kept} {slower}",
            "regress: test_model.py::test_step: steps on gpu 0: +*",
            "1 regress",
        ]
    )
    assert "Traceback" not in done.stdout.str()
    assert "During handling" not in done.stdout.str()
    # Updated: what was slow is the baseline now, and what was equal before is an improvement.
    assert run(slower, words=("--cupti-etl-update",)).ret == 0
    assert len(list(kept.parent.iterdir())) == 1
    done = run(same)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["improve: test_model.py::test_step: steps on gpu 0: -*"])


def test_what_cannot_be_told_does_not_fail(run: Run, tmp_path: Path) -> None:
    short = "start_ns end_ns name\n0 100 a\n200 300 a"
    paths = [
        write_trace(tmp_path / name, kernel=kernels, device=DEVICE, process=PROCESS)
        for name, kernels in (("a", short), ("b", short.replace("300", "900")))
    ]
    assert run(paths[0], words=("--cupti-etl-update",)).ret == 0
    done = run(paths[1])
    assert done.ret == 0
    done.stdout.fnmatch_lines(["cannot tell: test_model.py::test_step: no steps were found*"])


DEVICE = "process_id device_id device_uuid name\n1 0 GPU-0 H200"
PROCESS = "process_id pid driver_version\n1 100 13000"


def test_several_runs_say_how_much_equal_ones_differ(
    run: Run, tmp_path: Path, pytester: pytest.Pytester
) -> None:
    paths = [made(tmp_path / str(seed), seed) for seed in range(4)]
    assert run(paths[0], words=("--cupti-etl-add",)).ret == 0
    assert run(*paths[1:3], words=("--cupti-etl-add",)).ret == 0
    kept = sorted(pytester.path.glob("perf/test_model.py/test_step/*"))
    assert [path.name for path in kept] == ["run-1", "run-2", "run-3"]
    slower = made(tmp_path / "slower", 9, longer=1.1)
    done = run(slower)
    assert done.ret == 1
    more = f"--before {kept[1]} --before {kept[2]}"
    done.stdout.fnmatch_lines(
        [
            "slower than its baseline: steps on gpu 0: +*3 and 1 runs, of which equal ones differ*",
            f"  cupti-etl diff {kept[0]} {slower} {more}",
        ]
    )
    done = run(paths[3], words=("-v",))
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*: test_model.py::test_step: steps on gpu 0:*3 and 1 runs*"])
    # The option and the marker say how large a change has to be.
    assert run(slower, words=("--cupti-etl-min-effect=0.5",)).ret == 0
    marked = COMPARES.replace(
        "def test", "import pytest\n@pytest.mark.cupti_trace(min_effect=0.5)\ndef test"
    )
    pytester.makepyfile(test_model=marked)
    assert run(slower).ret == 0


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"machine": "A100"}, "1 x H200 (driver for CUDA 13.0), and this run of 1 x A100 (*13.0)"),
        ({"driver": 13010}, "1 x H200 (driver for CUDA 13.0), and this run of 1 x H200 (*13.1)"),
    ],
)
def test_another_gpu_or_driver_is_not_compared(
    run: Run, tmp_path: Path, other: dict[str, object], said: str
) -> None:
    assert run(made(tmp_path / "a", 1), words=("--cupti-etl-update",)).ret == 0
    slower = made(tmp_path / "b", 2, longer=2.0, **other)
    done = run(slower)
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        [
            f"cannot tell: test_model.py::test_step: the baseline is of {said}",
            "    --cupti-etl-update replaces the baseline",
        ]
    )
    done = run(slower, words=("--cupti-etl-add",))
    done.stdout.fnmatch_lines(["not kept: test_model.py::test_step: the baseline is of *"])
    assert run(slower, words=("--cupti-etl-update",)).ret == 0
    assert run(slower).ret == 0


def test_lost_records_are_no_comparison(run: Run, tmp_path: Path) -> None:
    whole = made(tmp_path / "a", 1)
    assert run(whole, words=("--cupti-etl-update",)).ret == 0
    lossy = write_trace(
        tmp_path / "b", kernel="start_ns end_ns name\n1 2 a", device=DEVICE, process=PROCESS,
        loss="process_id cause records is_stored\n1 ring_full 5 false",
    )  # fmt: skip
    done = run(lossy)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["cannot tell: *: records were lost (ring_full)"])
    done = run(lossy, words=("--cupti-etl-update",))
    done.stdout.fnmatch_lines(["not kept: *: records were lost (ring_full)"])
    empty = write_trace(tmp_path / "c", device=DEVICE, process=PROCESS)
    done = run(empty, words=("--cupti-etl-update",))
    done.stdout.fnmatch_lines(["not kept: *: no kernel was recorded"])
    run(empty).stdout.fnmatch_lines(["cannot tell: *: no kernel was recorded"])
    assert run(whole).ret == 0  # the baseline is what it was


def test_a_missing_baseline_says_what_to_do(
    run: Run, tmp_path: Path, pytester: pytest.Pytester
) -> None:
    path = made(tmp_path / "a", 1)
    done = run(path)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*there are no baselines in */perf: --cupti-etl-update writes them"])
    pytester.mkdir("perf")
    done = run(path)
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        ["no baseline: test_model.py::test_step: *", "    --cupti-etl-update writes it"]
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cupti-etl-update",), "*need --cupti-etl-baseline DIR: where to write"),
        (
            ("--cupti-etl-update", "--cupti-etl-add", "--cupti-etl-baseline=x"),
            "*--cupti-etl-update replaces runs and --cupti-etl-add adds one",
        ),
    ],
)
def test_options_that_cannot_be(
    pytester: pytest.Pytester, words: tuple[str, ...], said: str
) -> None:
    done = pytester.runpytest_subprocess(*OTHERS, *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([said])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cupti_compare('nowhere')", "*nowhere*"),
        ("cupti_compare()", "cupti_compare needs the path of a trace"),
        ("cupti_compare(PATH); cupti_compare(PATH)", "a test is compared once:*"),
    ],
)
def test_errors_say_what_is_wrong(
    run: Run, tmp_path: Path, pytester: pytest.Pytester, text: str, said: str
) -> None:
    path = made(tmp_path / "a", 1)
    assert run(path, words=("--cupti-etl-update",)).ret == 0
    pytester.makepyfile(test_model=f"PATH = {str(path)!r}\ndef test_step(cupti_compare): {text}")
    done = run(path)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([said])
    assert "Traceback" not in done.stdout.str()
    assert "During handling" not in done.stdout.str()


def test_tests_at_a_time_are_not_compared(run: Run, tmp_path: Path) -> None:
    before, slower = made(tmp_path / "a", 1), made(tmp_path / "b", 2, longer=1.2)
    assert run(before, words=("--cupti-etl-update",)).ret == 0
    done = run(slower, words=("-n2",))
    assert done.ret == 0
    done.stdout.fnmatch_lines(["cannot tell: *: 2 tests ran at a time, which slows each"])
    assert run(slower, words=("-n1",)).ret == 1


def test_a_test_that_seems_slower_can_be_run_once_more(
    run: Run, tmp_path: Path, pytester: pytest.Pytester
) -> None:
    before, slower = made(tmp_path / "a", 1), made(tmp_path / "b", 2, longer=1.2)
    assert run(before, words=("--cupti-etl-update",)).ret == 0
    again = ("--reruns=1", "--only-rerun", "slower than its baseline")
    done = run(slower, words=again)
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*2 regress", "*1 failed, 1 rerun*"])
    pytester.makepyfile(
        test_model=f"runs = [{str(slower)!r}, {str(before)!r}]\n"
        "def test_step(cupti_compare): cupti_compare(runs.pop(0))"
    )
    done = run(slower, words=again)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["regress: *", "1 none, 1 regress", "*1 passed, 1 rerun*"])


def test_verdicts_are_in_junit_xml(run: Run, tmp_path: Path, pytester: pytest.Pytester) -> None:
    path = made(tmp_path / "a", 1)
    assert run(path, words=("--cupti-etl-update",)).ret == 0
    assert run(path, words=("--junitxml=found.xml",)).ret == 0
    assert '<property name="cupti_etl_verdict" value="none"' in Path("found.xml").read_text()


def test_names_of_tests_are_folders_of_their_own(
    run: Run, pytester: pytest.Pytester, tmp_path: Path
) -> None:
    pytester.makepyfile(
        test_model="import pytest, os\n@pytest.mark.parametrize('x', ['a/b', 'a:b', '../..', 'c'])"
        "\ndef test_x(x, cupti_compare): cupti_compare(os.environ['TRACES'])"
    )
    run(made(tmp_path / "a", 1), words=("--cupti-etl-update",)).assert_outcomes(passed=4)
    names = {path.name for path in pytester.path.glob("perf/test_model.py/*")}
    assert len(names) == 4
    assert "test_x[c]" in names


# ---- the fixture that captures, on the fake driver


CAPTURES = """
import ctypes, os, time
import pytest
import cupti_etl
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
def launch(count):
    for _ in range(count):
        # The fake CUPTI says of a call that it began 0.9 us ago.
        until = time.time_ns() + 1000
        while time.time_ns() < until:
            pass
        assert driver.fakeLaunch(0, 0, 0) == 0
@pytest.fixture
def ready():
    driver.cuInit(0)
    launch(3)
    yield
    launch(5)
@pytest.mark.cupti_trace(cupti=os.environ["FAKE"], records="fixed")
def test_steps(cupti_trace, ready):
    for number in range(20):
        with cupti_etl.step():
            launch(4)
            time.sleep(float(os.environ["SLEEPS"]))
    cupti_trace.pause()
    launch(7)
@pytest.mark.cupti_trace(cupti=os.environ["FAKE"], records="fixed")
def test_fails(cupti_trace, ready):
    launch(2)
    assert not os.environ.get("FAILS")
def test_without():
    pass
"""


@pytest.fixture
def captures(
    pytester: pytest.Pytester, fakes: Fakes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    """Runs tests that launch kernels."""
    pytester.makepyfile(test_model=CAPTURES)
    for name, value in fakes.env(CUPTI_13, log=tmp_path / "log").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    monkeypatch.setenv("FAKE", str(fakes.cupti(CUPTI_13)))

    def run(*words: str, **environ: str) -> pytest.RunResult:
        for name, value in {"SLEEPS": "0", "FAILS": "", **environ}.items():
            monkeypatch.setenv(name, value)
        return pytester.runpytest_subprocess(*OTHERS, *words)

    return run


def test_a_test_is_captured_and_compared(captures: Run, pytester: pytest.Pytester) -> None:
    baseline = "--cupti-etl-baseline=perf"
    captures("--cupti-etl-update", baseline).assert_outcomes(passed=3)
    kept = pytester.path / "perf/test_model.py/test_steps/run-1"
    with cupti_etl.open(kept) as trace:
        # What fixtures launch is not in it, nor what was launched after the pause.
        assert trace.sql("FROM kernel").count() == 80
        assert trace.sql("FROM nvtx_range").count() == 20
        (machine,) = trace.sql(
            "SELECT DISTINCT name, driver_version FROM device JOIN process USING (process_id)"
        )
    assert not (kept / "trace.duckdb").exists()

    captures(baseline, "-k", "not steps").assert_outcomes(passed=2, deselected=1)
    # Steps of the made baseline take 30 us, whatever else this machine does.
    shutil.rmtree(kept)
    made(kept, 1, machine=f"'{machine['name']}'", driver=machine["driver_version"])
    done = captures(baseline, SLEEPS="0.01")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(
        ["slower than its baseline: *gpu 0*", "FAILED test_model.py::test_steps*"]
    )
    # A test that fails by itself says only that, and is no baseline.
    done = captures(baseline, "--cupti-etl-update", "-k", "fails", FAILS="1")
    done.assert_outcomes(failed=1, deselected=2)
    assert "slower" not in done.stdout.str()
    assert "not kept" not in done.stdout.str()


def test_without_a_baseline_nothing_is_captured(captures: Run, pytester: pytest.Pytester) -> None:
    done = captures("--basetemp=temporary", FAKE="/nowhere")
    done.assert_outcomes(passed=3)
    assert "GPU work of tests" not in done.stdout.str()


def test_a_capture_that_cannot_be_says_why(captures: Run, pytester: pytest.Pytester) -> None:
    pytester.mkdir("perf")
    done = captures("--cupti-etl-baseline=perf", "-k", "steps", FAKE="/nowhere/libcupti.so")
    done.assert_outcomes(failed=1, deselected=2)
    done.stdout.fnmatch_lines(["*/nowhere/libcupti.so*"])
    assert "Traceback" not in done.stdout.str()
    assert "During handling" not in done.stdout.str()


# ---- those who never asked for it


def test_it_costs_others_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No module of ours is loaded but the plugin, the package and its errors; no hook is called."""
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    pytester.makepyfile(
        """
        import sys
        HEAVY = {"duckdb", "pyarrow", "cffi", "_cffi_backend", "sqlalchemy", "click"}
        def test_modules(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("cupti-etl")
            assert not HEAVY & set(sys.modules)
            assert {name for name in sys.modules if name.startswith("cupti_etl")} == {
                "cupti_etl", "cupti_etl.errors", "cupti_etl.testing", "cupti_etl.testing.plugin"}
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error", "-p", "no:xdist")
    done.assert_outcomes(passed=1)
    done = pytester.runpytest_subprocess("-p", "no:cupti-etl", "--cupti-etl-update")
    done.stderr.fnmatch_lines(["*unrecognized arguments: --cupti-etl-update"])
