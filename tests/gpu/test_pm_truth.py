"""The comparison of kernels' metrics with counted traffic: that it finds what is wrong."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.captures import PACKAGES
from support.fakes import Fakes
from support.pm_world import Sort, World
from support.trace import add_part

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu" / "pm_truth.py"
US, MS = 1000, 1_000_000
BASE = 10**15
PEAK = 4e12  # bytes a second
LONG = Sort("truth_copy", 40, 2 * MS)
SHORT = Sort("truth_reduce", 60, 10 * US)
SPIN = Sort("truth_spin", 0, MS)


class Program:
    """A made-up GPU that runs phases of one kernel each, and the log of its program."""

    def __init__(self) -> None:
        self.world = World(seed=5)
        self.phases: list[dict[str, Any]] = []
        self._now = MS

    def phase(self, sort: Sort, runs: int, **other: Any) -> None:
        """Runs with gaps between; counts are what the level comes to, unless they are given."""
        begin, before = self._now, len(self.world.runs)
        for _ in range(runs):
            self._now = self.world.run(sort, self._now) + self.world.random.randrange(5 * US)
        mine = self.world.runs[before:]
        seconds = sum(run.end_ns - run.start_ns for run in mine) / 1e9
        self.phases.append(
            {
                "kernel": sort.name, "runs": runs, "pipe": None, "shares_gpu": False,
                "begin_ns": BASE + begin, "end_ns": BASE + self._now, "write_bytes": 0, "flops": 0,
                "read_bytes": sort.level / 100 * PEAK * seconds / runs, **other,
            }
        )  # fmt: skip
        self._now += 5 * MS

    def write(self, folder: Path, **changes: float) -> Path:
        """The trace, of samples of 50 us; ``missing`` is the share of them that is not there."""
        path = self.world.write(folder, self.world.samples(50 * US, **changes), base=BASE)
        shutil.rmtree(path / "device")
        add_part(
            path,
            "device",
            "process_id device_id device_uuid name global_memory_bandwidth_kbps multiprocessors"
            " core_clock_khz compute_capability_major compute_capability_minor\n"
            f" 1 0 GPU-a H200 {PEAK / 1e3:.0f} 132 1980000 9 0",
        )
        add_part(path, "capture", "pm_state\n finished")
        return path


@pytest.fixture
def program() -> Program:
    made = Program()
    for _ in range(4):
        made.phase(SHORT, 400)
        made.phase(LONG, 5)
        made.phase(SPIN, 5)
    return made


def compared(program: Program, folder: Path, **changes: float) -> dict[str, Any]:
    from truth_compare import compare

    return compare(program.write(folder, **changes), {"phases": program.phases})


def verdicts(report: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(row["kernel"], row["query"]): row["verdict"] for row in report["rows"]}


def test_what_is_counted_right_is_within(program: Program, tmp_path: Path) -> None:
    report = compared(program, tmp_path / "run")
    assert report["problems"] == []
    assert verdicts(report) == {
        ("truth_reduce", "kernel_metrics"): "within",
        ("truth_copy", "kernel_metrics"): "within",
        ("truth_copy", "kernel_run_metric"): "within",
        ("truth_spin", "kernel_metrics"): "within",
        ("truth_spin", "kernel_run_metric"): "within",
    }
    rows = {row["kernel"]: row for row in report["rows"] if row["query"] == "kernel_metrics"}
    copy = rows["truth_copy"]
    assert (copy["runs"], copy["limit_pct"], copy["unit"]) == (20, 5, "bytes")
    assert copy["counted"] == pytest.approx(0.4 * PEAK * 2e-3, rel=0.02)
    assert copy["measured"] == pytest.approx(copy["counted"], rel=0.01)
    assert (rows["truth_reduce"]["runs"], rows["truth_reduce"]["limit_pct"]) == (1600, 10)
    # Of nothing there is no share: the limit is of the peak.
    assert (rows["truth_spin"]["counted"], rows["truth_spin"]["limit_pct"]) == (0, 1)


def test_a_kernel_of_several_phases_is_compared_with_all_of_them(tmp_path: Path) -> None:
    """A library's kernel may have one name and grid for products of every size."""
    made = Program()
    for _ in range(4):
        for side, duration in (("bf16 1024", 200 * US), ("bf16 4096", 2 * MS)):
            made.phase(Sort("product", 40, duration), 5, what=side)
            made.phases[-1]["kernel"] = None
    report = compared(made, tmp_path / "run")
    assert report["problems"] == []
    assert {row["verdict"] for row in report["rows"]} == {"within"}
    (row,) = (row for row in report["rows"] if row["query"] == "kernel_metrics")
    assert (row["kernel"], row["runs"], row["what"]) == ("product", 40, "bf16 1024, bf16 4096")
    assert row["counted"] == pytest.approx(0.4 * PEAK * 1.1e-3, rel=0.02)


def test_wrong_bytes_are_found(program: Program, tmp_path: Path) -> None:
    for phase in program.phases:
        phase["read_bytes"] *= {"truth_copy": 1 / 1.08, "truth_reduce": 1 / 0.85}.get(
            phase["kernel"], 1
        )
    report = compared(program, tmp_path / "run")
    off = {row["kernel"]: row["off_pct"] for row in report["rows"] if "off" in row["verdict"]}
    assert off == {
        "truth_copy": pytest.approx(8, abs=1.5),
        "truth_reduce": pytest.approx(-15, abs=3),
    }


def test_traffic_of_a_kernel_that_has_none_is_found(tmp_path: Path) -> None:
    made = Program()
    for _ in range(4):
        made.phase(Sort("truth_spin", 3, MS), 5, read_bytes=0)
    report = compared(made, tmp_path / "run")
    assert {row["verdict"] for row in report["rows"]} == {"off by +3.0 %"}


def test_an_abstention_is_listed_with_its_reason(program: Program, tmp_path: Path) -> None:
    import pm_truth

    report = compared(program, tmp_path / "run", missing=0.7)
    # A single run may still be covered by chance: then its own value is compared.
    mine = [row for row in report["rows"] if row["query"] == "kernel_metrics"]
    assert {row["verdict"] for row in mine} == {"abstained"}
    said = pm_truth.summary([{"capture": "traffic", "rows": mine}])
    assert (said["off"], said["verdicts"]) == ([], {"abstained": 3})
    assert len(said["abstained"]) == 3
    assert "too little of its time is under samples" in said["abstained"][0]


def test_runs_that_the_trace_lacks_are_a_problem(program: Program, tmp_path: Path) -> None:
    program.phases[0]["runs"] += 1
    program.phases[1]["kernel"] = "truth_triad"
    report = compared(program, tmp_path / "run")
    assert report["problems"] == [
        "400 runs of truth_reduce in the trace, 401 launched",
        "no run of truth_triad in the trace, of 5 launched",
    ]


def test_a_trace_without_samples_is_a_problem(program: Program, tmp_path: Path) -> None:
    from truth_compare import compare

    path = program.write(tmp_path / "run")
    for table in ("pm_sample", "pm_metric"):
        shutil.rmtree(path / table)
        add_part(path, table)
    report = compare(path, {"phases": program.phases})
    assert (report["rows"], report["problems"]) == ([], ["there are no samples in the trace"])


def test_the_clock_of_another_capture_is_taken_before_the_highest(
    program: Program, tmp_path: Path
) -> None:
    from truth_compare import _gpu

    import cupti_etl

    path = program.write(tmp_path / "run")
    with cupti_etl.open(path) as trace:
        found = [(_gpu(trace, hz).clock_hz, _gpu(trace, hz).clock_from) for hz in (1.5e9, None)]
    assert found == [(1.5e9, "another capture"), (1.98e9, "the highest")]


def group(**changes: Any) -> Any:
    from truth_rows import Group

    counted = {"read_bytes": 8e9, "write_bytes": 8e9, "flops": 0.0}
    return Group(
        **{
            "kernel": "k", "grid": "1x1x1", "runs": 2, "total_ns": 4 * MS, "counted": counted,
            "pipe": None, "shares_gpu": False, "what": "", **changes,
        }
    )  # fmt: skip


def rows(measured: dict[str, float | None], *groups: Any) -> list[Any]:
    from truth_rows import Gpu, rows_of

    gpu = Gpu(PEAK, 132, 2e9, "the highest", (9, 0))
    said = {
        (number, metric): {"value": value, "stderr": None, "method": "own", "reason": None}
        for number in range(len(groups))
        for metric, value in measured.items()
    }
    return list(rows_of(said, dict(enumerate(groups)), gpu, 50 * US, "kernel_metrics"))


def test_bytes_from_a_share_of_peak_and_from_a_count() -> None:
    found = rows({"dram_read_pct": 50.0, "fbpa__dram_write_bytes.sum": 4.4e9}, group())
    assert [(row.metric, row.counted, row.measured) for row in found] == [
        ("dram_read_pct", 4e9, 4e9),  # half of 4e12 bytes/s for 2 ms
        ("fbpa__dram_write_bytes.sum", 4e9, 4.4e9),
    ]
    assert [row.verdict for row in found] == ["within", "off by +10.0 %"]
    assert found[1].failed


def test_operations_are_judged_at_the_clock_that_was_sampled() -> None:
    # 132 SMs x 4096 operations x 1 GHz x 2 ms: all that the tensor pipes can do at that clock.
    product = group(
        pipe="tensor",
        counted={"read_bytes": None, "write_bytes": None, "flops": 2 * 132 * 4096 * 1e9 * 2e-3 / 2},
    )
    for value, verdict in ((50.0, "within"), (44.0, "off by -12.0 %")):
        (row,) = rows({"tensor_active_pct": value, "gpc_clock_hz": 1e9, "fma_pct": 5.0}, product)
        assert (row.counted, row.verdict) == (pytest.approx(50), verdict)
        assert (row.clock_hz, row.clock_from) == (1e9, "this kernel")
    # Where it was not sampled the highest is taken, and said.
    (row,) = rows({"tensor_active_pct": 25.0}, product)
    assert (row.verdict, row.clock_hz, row.clock_from) == ("within", 2e9, "the highest")
    # In fp32 the tensor pipes have nothing to do.
    found = rows({"tensor_active_pct": 3.0, "fma_pct": 90.0}, group(pipe="fp32"))
    assert [row.metric for row in found if row.failed] == ["tensor_active_pct", "fma_pct"]


def test_what_is_not_a_number_is_not_within() -> None:
    from truth_rows import judge

    assert judge(1.0, float("nan"), 1.0, 5, 1)[2].startswith("off")


def test_writes_of_two_at_once_are_judged_as_a_sum() -> None:
    from truth_rows import shared_writes

    pair = [group(shares_gpu=True), group(shares_gpu=True)]
    for value, verdict in ((50.0, "within"), (60.0, "off by +20.0 %")):
        found = rows({"dram_write_pct": value}, *pair)
        assert {row.verdict for row in found} == {"not judged"}
        (total,) = shared_writes(found, dict(enumerate(pair)))
        assert (total.counted, total.verdict) == (16e9, verdict)
    assert shared_writes(rows({"dram_write_pct": None}, *pair), dict(enumerate(pair))) == []


NCU = """==PROF== Connected to process 7
"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"
"0","7","truth_copy","(256, 1, 1)","(1058, 1, 1)","dram__bytes_read.sum","byte","4,000"
"0","7","truth_copy","(256, 1, 1)","(1058, 1, 1)","dram__bytes_write.sum","byte","n/a"
"1","7","truth_copy","(256, 1, 1)","(1058, 1, 1)","dram__bytes_read.sum","byte","6000"
==PROF== Disconnected
"""


def test_figures_of_nsight_compute_stand_beside_ours() -> None:
    import truth_ncu

    theirs = truth_ncu.parse(NCU)
    expected = {"kernel": "truth_copy", "grid": "1058x1x1", "launches": 2, "read_bytes": 5000.0}
    assert theirs == [expected]
    assert truth_ncu.parse("==ERROR== no right to read counters") == []
    ours = {
        "kernel": "truth_copy", "grid": "1058x1x1", "quantity": "read_bytes", "counted": 5200,
        "metric": "dram_read_pct", "measured": 5500, "query": "kernel_metrics",
    }  # fmt: skip
    (row,) = truth_ncu.beside(theirs, [{"capture": "traffic", "rows": [ours]}])
    assert (row["ncu"], row["counted"], row["apart_pct"]) == (5000, 5200, pytest.approx(10))


def script(fakes: Fakes, tmp_path: Path, truth: str, *only: str) -> tuple[int, dict[str, Any]]:
    """The script against the fakes; its status and what it wrote."""
    release, out = "13.5.25", tmp_path / "out"
    env = {**os.environ, **fakes.env(release)}
    env["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), env.get("PYTHONPATH", "")])
    command = [sys.executable, str(SCRIPT), "--out", str(out), "--work", str(tmp_path / "work")]
    command += ["--truth", truth, "--cupti", str(fakes.cupti(release)), "--only", *only]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (out / "pm_truth.json").exists(), done.stderr
    report: dict[str, Any] = json.loads((out / "pm_truth.json").read_text())
    return done.returncode, report


def test_a_program_that_fails_is_told_and_the_rest_still_runs(fakes: Fakes, tmp_path: Path) -> None:
    status, report = script(
        fakes, tmp_path, "/bin/false", "traffic-minimal-20us", "pair-minimal-20us", "ncu"
    )
    assert (status, report["passed"]) == (1, False)
    first, second = report["captures"]
    assert first["problems"][0] == second["problems"][0] == "status 1"
    assert "the program wrote no log" in first["problems"]
    assert "ncu" in report
    assert "packages" in report["machine"]


def stand_in(path: Path, fakes: Fakes, log: str) -> str:
    """In place of truth.cu: the fake program, on one kernel, and a log."""
    words = shlex.join(fakes.program(launches=200, linger_ms=400, names=1))
    path.write_text(f'#!/bin/sh\necho {shlex.quote(log)} > "$1"\nexec {words}\n')
    path.chmod(0o755)
    return str(path)


def test_samples_of_another_gpu_fail_a_capture(fakes: Fakes, tmp_path: Path) -> None:
    """The fake's kernels are on another GPU than its samples."""
    phase = {"kernel": "kernel_0", "runs": 200, "begin_ns": 0, "end_ns": 2**62}
    program = stand_in(tmp_path / "truth", fakes, json.dumps({"phases": [phase]}))
    status, report = script(fakes, tmp_path, program, "traffic-minimal-20us")
    (captured,) = report["captures"]
    assert captured["capture"] == "traffic-minimal-20us"
    assert captured["sampling"][0]["pm_state"] == "finished"
    none, nothing = captured["problems"]
    assert none == "no run of kernel_0 in the trace, of 200 launched"
    assert "dram_read_pct" in nothing
    assert (status, report["passed"]) == (1, False)


def test_a_short_run_is_kept_with_its_recording(fakes: Fakes, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "truth", fakes, "{}")
    status, report = script(fakes, tmp_path, program, "fixture")
    assert report["fixture"]["problems"] == []
    assert status == 0
    (tried,) = report["fixture"]["tried"]
    kept = {path.name for path in (tmp_path / "out" / "fixture").iterdir()}
    assert kept == tried["bytes"].keys()
    assert {"pm_truth.etlrec", "pm_truth.json", "pm_sample.parquet", "pm_metric.parquet"} <= kept
    samples = pq.read_table(tmp_path / "out" / "fixture" / "pm_sample.parquet")
    assert samples.num_rows > 1000
    assert "dram_read_pct" in samples.column_names


def test_a_short_run_that_is_too_large_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pm_truth
    from runs import Done, Runner

    class Large(Runner):
        def run(self, command: Any, **more: Any) -> Done:
            Path(command[command.index("--save-raw") + 1]).write_bytes(b"x" * 20)
            Path(command[command.index("--") + 2]).write_text("{}")
            return Done(0, 0.0, "")

    monkeypatch.setattr(pm_truth, "FIXTURE_BYTES", 10)
    found = pm_truth.fixture(Large(tmp_path, tmp_path / "log", 60), "truth", tmp_path, None)
    assert found["problems"] == ["larger than 10 bytes, however short"]
    assert [tried["pm"] for tried in found["tried"]] == ["overview", "minimal"]
    assert not (tmp_path / "fixture").exists()
