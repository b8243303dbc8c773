"""A libcuda.so.1 without a GPU for the demo's workload."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def driver_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for LD_LIBRARY_PATH: a driver that computes on the host, and its libcupti."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]
    for library in ("libcuda.so.1", "libcupti.so.13"):
        source = HERE / f"fake_{library.split('.')[0]}.c"
        subprocess.run([compiler, *flags, "-o", folder / library, source], check=True)
    return folder
