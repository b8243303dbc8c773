"""The doctor on machines with planted faults."""

from __future__ import annotations

import json
import resource
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cupti_etl.cli import cli
from cupti_etl.doctor import host
from cupti_etl.doctor.ask import ask, gpus
from cupti_etl.doctor.conflicts import check_conflicts
from cupti_etl.doctor.cupti import check_cupti
from cupti_etl.doctor.driver import check_counters, check_driver
from cupti_etl.doctor.findings import Finding, System, can_capture
from cupti_etl.doctor.support import check_support
from cupti_etl.errors import NativeError
from cupti_etl.native.cupti_search import version_text

CUDA = {"version": 13000, "devices": [{"name": "NVIDIA H200", "uuid": "GPU-1"}]}
Build = Callable[..., Path]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def statuses(findings: list[Finding]) -> list[str]:
    return [finding.status for finding in findings]


def only(findings: list[Finding], status: str) -> Finding:
    (found,) = [finding for finding in findings if finding.status == status]
    assert found.status == "ok" or found.todo, found
    return found


# --- driver


def test_driver_and_device_are_named(root: Path) -> None:
    text = " ".join(finding.what for finding in check_driver(System(root), CUDA))
    assert "580.159.04" in text
    assert "CUDA 13.0" in text
    assert "NVIDIA H200, GPU-1" in text


def test_no_driver_at_all(tmp_path: Path) -> None:
    findings = list(check_driver(System(tmp_path), {"error": "libcuda.so.1: cannot open"}))
    assert statuses(findings) == ["fail", "fail"]
    assert not can_capture(findings)


def test_driver_without_a_device(root: Path) -> None:
    finding = only(list(check_driver(System(root), {"version": 13000, "devices": []})), "fail")
    assert "CUDA shows no device" in finding.what


def test_module_that_hides_its_version_is_no_fault(tmp_path: Path) -> None:
    assert can_capture(check_driver(System(tmp_path), CUDA))


def test_mig_is_noticed(root: Path) -> None:
    (root / "proc/driver/nvidia/capabilities/gpu0/mig/gi1").mkdir(parents=True)
    assert "MIG" in only(list(check_driver(System(root), CUDA)), "warn").what


def test_probe_of_a_driver(tmp_path: Path, cuda: Build) -> None:
    cuda(12080, devices=2)
    devices, why = gpus({"LD_LIBRARY_PATH": str(tmp_path / "driver")})
    assert why == ""
    assert devices[1] == {"name": "X 100", "uuid": "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"}


@pytest.mark.parametrize(
    ("code", "why"), [(100, "CUDA_ERROR_NO_DEVICE (100)"), (0, "the driver shows no CUDA device")]
)
def test_probe_of_a_driver_without_devices(
    tmp_path: Path, cuda: Build, code: int, why: str
) -> None:
    cuda(12080, devices=0, code=code)
    assert gpus({"LD_LIBRARY_PATH": str(tmp_path / "driver")}) == ([], why)


def test_probe_is_not_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cupti_etl.doctor.ask._PROBE", tmp_path / "env.py")
    (tmp_path / "env.py").write_text("import json, os; print(json.dumps(dict(os.environ)))")
    answer = ask(
        "load", environ={"CUDA_INJECTION64_PATH": "/a", "NVTX_INJECTION64_PATH": "/b", "A": "1"}
    )
    assert answer.get("A") == "1"
    assert not [name for name in answer if "INJECTION64" in name]


# --- libcupti


def check(root: Path, tmp_path: Path, cuda: dict[str, Any], **more: Any) -> list[Finding]:
    system = System(root, {"LD_LIBRARY_PATH": str(tmp_path / "libs")}, (), **more)
    return list(check_cupti(system, cuda))


def test_the_first_good_copy_is_used(root: Path, tmp_path: Path, cupti: Build) -> None:
    cupti(tmp_path / "libs/libcupti.so.13", 130500)
    cupti(tmp_path / "libs/libcupti.so.12", 28)
    findings = check(root, tmp_path, CUDA)
    assert can_capture(findings)
    used = [finding.what for finding in findings if "would be used" in finding.what]
    assert len(used) == 1
    assert "CUPTI 13.5" in used[0]
    assert "CUPTI 12.9" in findings[1].what


def test_no_copy(root: Path, tmp_path: Path) -> None:
    finding = only(check(root, tmp_path, CUDA), "fail")
    assert "cupti-etl[cupti13]" in finding.todo


def test_copy_too_new_for_the_driver(root: Path, tmp_path: Path, cupti: Build) -> None:
    cupti(tmp_path / "libs/libcupti.so.13", 130500)
    findings = check(root, tmp_path, {"version": 12040})
    assert "too new for a driver that runs CUDA 12" in only(findings, "warn").what
    assert "cupti-etl[cupti12]" in only(findings, "fail").todo


def test_copy_too_old(root: Path, tmp_path: Path, cupti: Build) -> None:
    cupti(tmp_path / "libs/libcupti.so.11.8", 18)
    assert "too old" in only(check(root, tmp_path, CUDA), "warn").what


def test_copy_that_crashes(root: Path, tmp_path: Path, cupti: Build) -> None:
    cupti(tmp_path / "libs/libcupti.so.13", 0, crash=1)
    finding = only(check(root, tmp_path, CUDA), "warn")
    assert "SIGABRT" in finding.what


@pytest.mark.parametrize(("code", "crash"), [(0, 1), (999, 0)])
def test_without_a_driver_a_copy_may_not_answer(
    tmp_path: Path, cupti: Build, code: int, crash: int
) -> None:
    cupti(tmp_path / "libs/libcupti.so.13", 0, code=code, crash=crash)
    findings = check(tmp_path / "empty", tmp_path, {"error": "no libcuda"})
    assert can_capture(findings)
    assert "cannot be asked" in findings[0].what


def test_with_a_driver_999_is_a_fault(root: Path, tmp_path: Path, cupti: Build) -> None:
    cupti(tmp_path / "libs/libcupti.so.13", 0, code=999)
    assert "error 999" in only(check(root, tmp_path, CUDA), "warn").what


@pytest.mark.parametrize("size", [52, 56])
@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ("3,3,3,3,3,3,3", "CUPTI supports --range-metrics, --pc-sampling"),
        ("1,3,3,2,3,3,3", "device 0 does not allow --pc-sampling: it is a virtual GPU"),
        ("1,3,3,3,1,3,3", "device 0 does not allow --pc-sampling: confidential computing is on"),
        ("2,3,3,3,3,3,3", "device 0 does not allow --pc-sampling: CUPTI does not say why"),
    ],
)
def test_what_a_device_does_not_support_is_said(
    tmp_path: Path, cupti: Build, cuda: Build, levels: str, says: str, size: int
) -> None:
    library = cupti(tmp_path / "libcupti.so.13", 130500, LEVELS=levels, SIZE=size)
    environ = {"LD_LIBRARY_PATH": str(cuda(13000, 1).parent)}
    (finding,) = check_support(ask("support", library, environ=environ))
    assert finding.what.startswith(says)
    assert (finding.status == "ok") == (levels == "3,3,3,3,3,3,3") == (not finding.todo)


def test_a_copy_that_does_not_tell_of_support_is_no_fault(
    tmp_path: Path, cupti: Build, cuda: Build
) -> None:
    library = cupti(tmp_path / "libcupti.so.13", 130500)
    environ = {"LD_LIBRARY_PATH": str(cuda(13000, 1).parent)}
    answer = ask("support", library, environ=environ)
    assert "does not tell" in answer["error"]
    assert [*check_support(answer)] == []


def test_the_named_copy_comes_first_and_must_be_good(
    root: Path, tmp_path: Path, cupti: Build
) -> None:
    cupti(tmp_path / "libs/libcupti.so.13", 130000)
    named = cupti(tmp_path / "mine.so", 130500)
    assert (
        "mine.so (--cupti): CUPTI 13.5; this one would be used"
        in check(root, tmp_path, CUDA, cupti=named)[0].what
    )
    finding = only(check(root, tmp_path, CUDA, cupti=tmp_path / "missing.so"), "fail")
    assert "missing.so" in finding.what


def test_a_library_that_is_not_cupti(root: Path, tmp_path: Path, build: Build) -> None:
    build(tmp_path / "libs/libcupti.so.13", "int nothing;")
    assert "no function cuptiGetVersion" in only(check(root, tmp_path, CUDA), "warn").what


@pytest.mark.parametrize(("older", "newer", "told"), [(22, 23, True), (22, 24, False)])
def test_whether_a_copy_can_sample_counters(
    root: Path, tmp_path: Path, cupti: Build, older: int, newer: int, told: bool
) -> None:
    cupti(tmp_path / "libs/libcupti.so.12", older)
    named = cupti(tmp_path / "mine.so", newer)
    found = [finding.todo for finding in check(root, tmp_path, CUDA, cupti=named)]
    assert any("capture --pm" in todo for todo in found) is told


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (130500, "13.5"),
        (130001, "13.0"),
        (28, "12.9"),
        (18, "11.8 to 12.1"),
        (25, "API version 25"),
    ],
)
def test_version_text(number: int, text: str) -> None:
    assert version_text(number) == text


# --- counters


@pytest.mark.parametrize(
    ("admin_only", "capabilities", "status"),
    [
        ("1", "0000000000000000", "warn"),
        ("1", "000001ffffffffff", "ok"),
        ("0", "0000000000000000", "ok"),
    ],
)
def test_counter_privileges(root: Path, admin_only: str, capabilities: str, status: str) -> None:
    write(root / "proc/driver/nvidia/params", f"RmProfilingAdminOnly: {admin_only}\n")
    write(root / "proc/self/status", f"CapEff:\t{capabilities}\n")
    only(list(check_counters(System(root))), status)


# --- conflicts


@pytest.mark.parametrize(
    ("environ", "word"),
    [
        ({"NSYS_PROFILING_SESSION_ID": "1"}, "NSYS_PROFILING_SESSION_ID"),
        ({"LD_PRELOAD": "/opt/nsys/libToolsInjectionProxy64.so"}, "LD_PRELOAD"),
        ({"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps"}, "MPS"),
        ({"NCCL_PROFILER_PLUGIN": "/opt/inspector.so"}, "leaves it at /opt/inspector.so"),
    ],
)
def test_environment_of_other_tools(root: Path, environ: dict[str, str], word: str) -> None:
    assert word in only(list(check_conflicts(System(root, environ))), "warn").what


@pytest.mark.parametrize("name", ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"])
def test_another_injected_tool_stands_in_the_way(root: Path, name: str) -> None:
    environ = {name: "/opt/nsys/libToolsInjection64.so"}
    finding = only(list(check_conflicts(System(root, environ))), "fail")
    assert f"unset {name}" in finding.todo


@pytest.mark.parametrize(
    ("process", "word"),
    [("nv-hostengine", "DCGM"), ("nvidia-cuda-mps", "MPS"), ("nsys", "profiler")],
)
def test_processes_of_other_tools(root: Path, process: str, word: str) -> None:
    write(root / "proc/77/comm", process + "\n")
    assert word in only(list(check_conflicts(System(root, {}))), "warn").what


def test_our_own_injector_is_no_conflict(root: Path) -> None:
    environ = {"CUDA_INJECTION64_PATH": "/x/libcupti_etl_inject.so", "HOME": "/root"}
    environ["NCCL_PROFILER_PLUGIN"] = environ["CUDA_INJECTION64_PATH"]
    assert list(check_conflicts(System(root, environ))) == []


# --- limits and our own libraries


def test_limits_are_fine_here(root: Path) -> None:
    assert can_capture(host.check_limits(System(root)))


def test_memory_of_the_cgroup_counts(root: Path) -> None:
    write(root / "sys/fs/cgroup/memory.max", f"{300 << 20}\n")
    write(root / "sys/fs/cgroup/memory.current", f"{100 << 20}\n")
    assert "200 MiB" in only(list(host.check_limits(System(root))), "warn").what
    write(root / "sys/fs/cgroup/memory.max", "max\n")
    assert host.memory_available(System(root)) == 4 << 30
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", f"{1 << 30}\n")
    write(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n")
    assert host.memory_available(System(root)) == 1 << 30


def test_file_size_limit(root: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, before[1]))
    try:
        findings = list(host.check_limits(System(root)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    failed = [finding.what for finding in findings if finding.status == "fail"]
    assert any("RLIMIT_FSIZE is 64 MiB" in what for what in failed)
    assert any("shared memory of 256 MiB cannot be made" in what for what in failed)


def test_long_folder_for_temporary_files(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 90)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert "too long a name" in only(list(host.check_limits(System(root))), "fail").what


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Stands in for cupti_etl.native.loader; the folder its libraries are in."""
    module = types.ModuleType("cupti_etl.native.loader")
    module.inject_library_path = lambda: tmp_path / "native/libcupti_etl_inject.so"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return tmp_path / "native"


def test_libraries_that_load(native: Path, build: Build) -> None:
    for name in ("libcupti_etl_inject.so", "libcupti_etl.so"):
        build(native / name, "int nothing;")
    assert statuses(list(host.check_native(System()))) == ["ok", "ok"]


def test_injector_with_an_unresolved_symbol(native: Path, build: Build) -> None:
    build(native / "libcupti_etl.so", "int nothing;")
    build(native / "libcupti_etl_inject.so", "extern int cuptiMissing; int *p = &cuptiMissing;")
    assert "cuptiMissing" in only(list(host.check_native(System())), "fail").what


def test_no_native_part(native: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise NativeError("there is no native part")

    monkeypatch.setattr(sys.modules["cupti_etl.native.loader"], "inject_library_path", refuse)
    assert only(list(host.check_native(System())), "fail").what == "there is no native part"


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_NEEDED", ("cffi", "not_a_package_of_anyone"))
    finding = only(list(host.check_python(System())), "fail")
    assert "not_a_package_of_anyone" in finding.todo


# --- the command


def test_command_prints_json_and_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [Finding("driver", "ok", "fine"), Finding("limits", "warn", "little", "get more")]
    monkeypatch.setattr("cupti_etl.commands.doctor.examine", lambda system: findings)
    result = CliRunner().invoke(cli, ["doctor", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["can_capture"] is True
    findings.append(Finding("cupti", "fail", "none", "get one"))
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 1
    assert "-> get one" in result.output
    assert "A capture cannot work: 1 failed." in result.output


@pytest.mark.skipif(Path("/proc/driver/nvidia").exists(), reason="this machine has a GPU")
def test_command_on_a_machine_without_a_gpu(native: Path) -> None:
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 1
    assert "no NVIDIA kernel module" in result.output


def test_colours_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in CliRunner().invoke(cli, ["doctor"], color=True).output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in CliRunner().invoke(cli, ["doctor"], color=True).output
