"""The built-in workload on a driver that computes on the host, and its log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cupti_etl.capture.demangle import Demangler
from cupti_etl.demo import ptx
from cupti_etl.demo.launched import LaunchLog


def total_copies(log: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Count and bytes of a log's copies by direction."""
    totals: dict[str, tuple[int, int]] = {}
    for copy in log["copies"]:
        count, size = totals.get(copy["kind"], (0, 0))
        totals[copy["kind"]] = (count + copy["count"], size + copy["count"] * copy["bytes"])
    return totals


def run(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cupti_etl.demo.workload", *arguments],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder), **environ},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def log_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    log: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return log


def test_counts_what_it_launched(driver_folder: Path) -> None:
    log = log_of(run(driver_folder, "--loops", "8"))
    counts = {(k["name"], k["stream"]): k["count"] for k in log["kernels"] if k["grid_x"] < 100}
    assert counts == {
        (ptx.VECTOR_ADD, "compute"): 8,
        (ptx.SAXPY, "compute"): 8,
        (ptx.REDUCE_SUM, "compute"): 8,
        (ptx.SAXPY, "transfer"): 16,
        (ptx.SPIN, "transfer"): 8,
    }
    assert {k["count"] for k in log["graph_kernels"]} == {2}
    assert log["graphs"] == [{"replays": 2, "nodes": {"kernel": 3, "memcpy": 1, "memset": 1}}]
    assert total_copies(log) == {
        "HtoD": (12, 12 * 262144),
        "DtoH": (12, 10 * 4 + 8 + 262144),
        "DtoD": (8, 8 * 262144),
    }
    assert log["memsets"] == [{"bytes": 4, "count": 10}]
    assert log["begin_ns"] < log["probes"][0]["begin_ns"] < log["end_ns"]


def test_writes_the_same_log_to_a_file(driver_folder: Path, tmp_path: Path) -> None:
    log = log_of(run(driver_folder, "--loops", "1", "--log", str(tmp_path / "log.json")))
    assert json.loads((tmp_path / "log.json").read_text()) == log


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"FAKE_CUDA_WRONG": "1"}, "the GPU added up to"),
        ({"FAKE_CUDA_DEVICES": "0"}, "there is no CUDA device 0: the driver shows 0"),
        ({"FAKE_CUDA_FAIL": "cuInit"}, "cuInit failed: CUDA_ERROR_UNKNOWN"),
        ({"FAKE_CUDA_FAIL": "cuLaunchKernel"}, "cuLaunchKernel failed"),
        ({"FAKE_CUDA_FAIL": "cuCtxSynchronize"}, "cuCtxSynchronize failed"),
        ({"FAKE_CUDA_FAIL": "cuModuleLoadDataEx"}, "ptxas error: no such instruction"),
    ],
)
def test_failures_are_sentences(
    driver_folder: Path, environ: dict[str, str], sentence: str
) -> None:
    done = run(driver_folder, "--loops", "1", **environ)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_without_a_driver(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("this is no library")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "libcuda.so.1 cannot be loaded" in done.stderr


def test_no_loops(driver_folder: Path) -> None:
    done = run(driver_folder, "--loops", "0")
    assert (done.returncode, done.stdout) == (2, "")


def test_needs_the_standard_library_only() -> None:
    code = (
        "import sys; before = set(sys.modules); import cupti_etl.demo.workload;"
        "names = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(*(names - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cupti_etl"]


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_ptx_compiles(architecture: str, tmp_path: Path) -> None:
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if ptxas is None:
        pytest.skip("no ptxas")
    (tmp_path / "demo.ptx").write_text(ptx.SOURCE)
    subprocess.run(
        [ptxas, f"-arch={architecture}", tmp_path / "demo.ptx", "-o", tmp_path / "demo.cubin"],
        check=True,
    )


def test_names_demangle() -> None:
    names = (ptx.VECTOR_ADD, ptx.SAXPY, ptx.REDUCE_SUM, ptx.SPIN)
    assert [Demangler().demangle(name) for name in names] == [
        "demo::vector_add(float const*, float const*, float*, unsigned int)",
        "void demo::saxpy<float>(float, float const*, float*, unsigned int)",
        "demo::reduce_sum(float const*, float*, unsigned int)",
        "demo::spin(unsigned long, unsigned long*)",
    ]


def test_log_adds_up() -> None:
    log = LaunchLog("test", complete=True)
    for _ in range(3):
        log.kernel("k", "s", 4)
        log.copy("HtoD", 10)
    log.copy("HtoD", 5)
    data = json.loads(log.dumps())
    assert data["kernels"] == [{"name": "k", "stream": "s", "grid_x": 4, "count": 3}]
    assert total_copies(data) == {"HtoD": (4, 35)}
