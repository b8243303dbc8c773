"""The wheel: one for every Python, with two plain libraries in it, or with none."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.network, pytest.mark.slow]


def build(source: Path, folder: Path, **environment: str) -> Path:
    """Build the wheel from a clone, because building writes into its tree."""
    copy = folder / "source"
    subprocess.run(["git", "clone", "-q", str(source), str(copy)], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(copy)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip("the build back end cannot be had here")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_native_wheel(tmp_path: Path) -> None:
    # Somebody's compiler may warn of what ours does not.
    wheel = build(ROOT, tmp_path, CC="cc -Wpadded")
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "cupti_etl/native/libcupti_etl.so",
        "cupti_etl/native/libcupti_etl_inject.so",
        "cupti_etl/_migrations/env.py",
        "cupti_etl/_migrations/versions/0001_baseline.py",
        "cupti_etl/queries/library/kernels/kernel_summary.sql",
        "cupti_etl/demo/h200.etlrec",
        "cupti_etl/py.typed",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests/", "native/", "docs/"))]


def test_wheel_without_the_native_part(tmp_path: Path) -> None:
    wheel = build(ROOT, tmp_path, CUPTI_ETL_NO_NATIVE="1")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    # Installed apart, with this environment's packages: capture says why it cannot.
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, system_site_packages=False)
    (site,) = place.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    others = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "others.pth").write_text(others)
    done = subprocess.run(
        [
            place / "bin/python",
            "-m",
            "cupti_etl",
            "capture",
            "-o",
            str(tmp_path / "t"),
            "--",
            "true",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "without its native part" in done.stderr
    assert "CUPTI_ETL_NO_NATIVE" in done.stderr
    assert not (tmp_path / "t").exists()
