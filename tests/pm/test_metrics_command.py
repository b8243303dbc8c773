"""``cupti-etl metrics``, with a fake CUPTI and without any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.captures import PACKAGES
from support.fakes import Fakes

from cupti_etl.cli import cli
from cupti_etl.errors import UsageError
from cupti_etl.native import cupti_search
from cupti_etl.pm import cupti

NOTED = "no driver here; these are notes about GH100 (driver 580.159.04, CUPTI 13.5)"
CHIP = ("--chip", "GH100")


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    """No driver, whatever this machine has."""
    monkeypatch.setattr(cupti, "has_driver", lambda: False)


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["metrics", *arguments], catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result


def rows(*arguments: str, status: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        run(*arguments, "--format", "json", status=status).stdout
    )
    return found


@pytest.mark.usefixtures("laptop")
def test_list_without_a_driver_says_where_it_is_from() -> None:
    result = run("list", "tensor_cycles", *CHIP, "--format", "json")
    assert NOTED in result.stderr
    found = {row["metric"]: row for row in json.loads(result.stdout)}
    assert list(found) == [
        "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime",
        "sm__pipe_tensor_cycles_active",
        "sm__pipe_tensor_cycles_active_realtime",
        "smsp__pipe_tensor_cycles_active",
    ]
    first = found["TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime"]
    assert first == {
        "metric": "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime",
        "type": "counter",
        "set": "TriageCompute",
        "alias": "tensor_active_pct",
        "description": None,  # CUPTI has none
    }


@pytest.mark.usefixtures("laptop")
def test_list_chooses() -> None:
    assert len(rows("list", *CHIP)) == 1279
    assert len(rows("list", *CHIP, "--set", "TriageCompute")) == 127
    assert [row["metric"] for row in rows("list", *CHIP, "dram__bytes*")] == [
        "dram__bytes",
        "dram__bytes_read",
        "dram__bytes_write",
    ]
    assert [row["alias"] for row in rows("list", *CHIP, "pcie_rx")] == ["pcie_rx_bytes"]
    assert rows("list", *CHIP, "no such thing") == []
    with pytest.raises(UsageError, match="no set 'Triage'") as caught:
        run("list", *CHIP, "--set", "Triage")
    assert "TriageCompute" in caught.value.hint
    assert len(rows("list", "--chip", "ad102")) == 1797
    with pytest.raises(UsageError, match="no notes about the chip GR100"):
        run("list", "--chip", "GR100")
    with pytest.raises(UsageError, match="which chip") as caught:
        run("list")
    assert "GH100" in caught.value.hint


@pytest.mark.usefixtures("laptop")
def test_describe() -> None:
    (row,) = rows("describe", "dram_read_pct", *CHIP)
    assert row["counted_as"].startswith("FBSP.TriageCompute.dramc__read_throughput.avg.pct")
    assert (row["unit"], row["aggregation"]) == ("%", "mean")
    assert row["presets"] == "overview, minimal, memory, links"
    (row,) = rows("describe", "sm_issue_pct", *CHIP)
    assert row["metric"] == "TPC.TriageCompute.sm__inst_executed_realtime"
    assert row["counted_as"] == f"25 * {row['metric']}.avg / gpc__cycles_elapsed.avg"
    (row,) = rows("describe", "dram__bytes.sum", *CHIP)
    assert (row["metric"], row["unit"], row["aggregation"]) == ("dram__bytes", "bytes", "sum")
    assert "meaning" not in row
    table = run("describe", "sm__cycles_active", *CHIP).stdout
    assert table.split()[:2] == ["field", "value"]
    assert "counter" in table
    with pytest.raises(UsageError, match="no metric 'sm__cycle_active'") as caught:
        run("describe", "sm__cycle_active", *CHIP)
    assert "sm__cycles_active" in caught.value.hint


@pytest.mark.usefixtures("laptop")
def test_sets() -> None:
    found = {row["set"]: row for row in rows("sets", *CHIP)}
    assert list(found)[:3] == ["TriageCompute", "Compute_Triage", "overview"]
    assert found["TriageCompute"]["metrics"] == 127
    assert found["minimal"]["metrics"] == 6
    assert found["minimal"]["verified"] is True


@pytest.mark.usefixtures("laptop")
def test_check_without_a_driver() -> None:
    result = run("check", "minimal", *CHIP)
    assert "1 pass; counter data of a sample: 5.7 kB" in result.stderr
    result = run("check", "sm__cycles_active.avg,sm__warps_active.avg", *CHIP, status=1)
    assert "an unknown number of passes; counter data of a sample: unknown" in result.stderr
    with pytest.raises(UsageError, match="neither a preset nor a metric"):
        run("check", "nope", *CHIP)


def test_with_a_driver_and_no_cupti_what_was_noted_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupti, "has_driver", lambda: True)
    monkeypatch.setattr(cupti, "find_cupti", lambda: [cupti_search.CuptiCopy(Path("/no"), "", 13)])
    cupti.open_cupti.cache_clear()
    result = run("list", "tensor_active_pct", *CHIP)
    assert "there is no libcupti of CUDA 12.6 or later" in result.stderr
    assert "these are notes about GH100" in result.stderr


def live(fakes: Fakes, *words: str, release: str = "13.5.25", **options: Any) -> Any:
    """The command in a process that finds the fake driver and CUPTI."""
    env = {**os.environ, **fakes.env(release, **options)}
    env["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), env.get("PYTHONPATH", "")])
    named = ["--cupti", str(fakes.cupti(release))]
    return subprocess.run(
        [sys.executable, "-m", "cupti_etl", "metrics", words[0], *named, *words[1:]],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_with_a_driver_cupti_is_asked(fakes: Fakes, tmp_path: Path) -> None:
    done = live(fakes, "describe", "sm__cycles_active", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (row,) = json.loads(done.stdout)
    assert row["description"] == "# of cycles_active"
    assert row["scope"] == "context"
    done = live(fakes, "check", "overview,nvlink_rx_request_bytes")
    assert done.returncode == 1
    assert "CUPTI_ERROR_NOT_SUPPORTED" in done.stdout
    assert "1 pass; counter data of a sample: " in done.stderr
    done = live(fakes, "check", "overview", "--chip", "GA100")
    assert done.returncode == 0
    assert "no GPU of that family has been sampled" in done.stderr
    done = live(fakes, "sets", release="12.9.79")
    assert "TriageCompute" not in done.stdout
    path = tmp_path / "made.json.gz"
    done = live(fakes, "dump", "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert "1,367 metrics of GH100" in done.stdout
    assert path.exists()


def test_what_goes_wrong_is_said_in_two_lines(fakes: Fakes, tmp_path: Path) -> None:
    done = live(fakes, "list", "--chip", "GH200X")
    assert done.returncode == 1
    assert "CUPTI_ERROR_INVALID_PARAMETER" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    done = live(fakes, "dump", fail="cuptiPmSamplingGetCounterAvailability=35")
    assert done.returncode == 1
    assert "RmProfilingAdminOnly" in done.stderr
    assert "NVreg_RestrictProfilingToAdminUsers=0" in done.stderr
    done = live(fakes, "list", fail="cuptiProfilerInitialize=26")
    assert done.returncode == 1
    assert "another tool holds the GPU's counters" in done.stderr
    done = live(fakes, "list", fail="cuptiDeviceGetChipName=2")
    assert done.returncode == 2
    assert "--chip GH100" in done.stderr


RATIO = "smsp__thread_inst_executed_per_inst_executed.ratio"
PIPES = ("adu", "alu", "cbu", "fma", "lsu", "tensor", "tex", "uniform")
COUNTERS = [f"smsp__inst_executed_pipe_{pipe}.sum" for pipe in PIPES]


@pytest.mark.slow
def test_check_says_how_often_a_kernel_is_executed(fakes: Fakes) -> None:
    names = ",".join([*COUNTERS, RATIO])
    done = live(fakes, "check", "--range", names, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert "2 passes: each launch is executed so often" in done.stderr
    assert "took 0.02 s to 0.04 s. With" in done.stderr
    assert "the command is run instead: 2 runs" in done.stderr
    found = {row["metric"]: row for row in json.loads(done.stdout)}
    assert found[COUNTERS[0]]["certain"] is True
    assert found[RATIO]["certain"] is None
    assert {row["passes"] for row in found.values()} == {1}
    assert [row["run"] for row in found.values()] == [*[1] * len(COUNTERS), 2]
    done = live(
        fakes,
        "check",
        "--range",
        "instructions,sm__no.sum|sm__cycles_active.sum",
        "--format",
        "json",
    )
    assert done.returncode == 0, done.stderr
    verdicts = {row["metric"]: row["verdict"] for row in json.loads(done.stdout)}
    assert verdicts["sm__cycles_active.sum"] == "counted"
    assert verdicts["sm__inst_executed.avg.per_cycle_active"] == "left out"
    done = live(fakes, "check", "--range", "memory,sm__nothing.sum", "--format", "json")
    assert done.returncode == 1
    assert [row["metric"] for row in json.loads(done.stdout) if row["verdict"] == "refused"] == [
        "sm__nothing.sum"
    ]


def test_check_says_which_metrics_application_replay_leaves_out(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_RANGES_APART", COUNTERS[1])
    names = ",".join(COUNTERS[:3])
    done = live(fakes, "check", "--range", names, "--format", "json")
    assert [(row["passes"], row["run"]) for row in json.loads(done.stdout)] == [
        (1, 1), (3, None), (1, 1),
    ]  # fmt: skip
    assert "1 run, without the 1 that need several passes by themselves" in done.stderr


@pytest.mark.slow
def test_check_says_which_are_too_many_for_application_replay(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_RANGES_ONE_BY_ONE", "1")
    bases = [name.removesuffix(".sum") for name in COUNTERS]
    names = [f"{b}.{rollup}" for b in bases for rollup in ("sum", "avg", "min", "max")]
    done = live(fakes, "check", "--range", ",".join(names))
    assert "the command is run instead: 32 runs" in done.stderr
    assert "refused" not in done.stderr
    done = live(fakes, "check", "--range", ",".join([*names, "smsp__inst_executed.sum"]))
    assert "33 runs, which is refused, as it is more than 32" in done.stderr


@pytest.mark.usefixtures("laptop")
def test_the_number_of_passes_is_not_guessed_without_cupti() -> None:
    with pytest.raises(UsageError, match="the number of passes is not known"):
        run("check", "--range", "memory", *CHIP)
    with pytest.raises(UsageError, match="patching the code"):
        run("check", "--range", "sm__sass_inst_executed.sum", *CHIP)
