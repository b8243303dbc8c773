"""scripts/wheelhouse.py: what it decides, and (with a package index) a whole folder."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from support.compilers import only_reading, with_npm

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "wheelhouse.py"


@pytest.fixture(scope="module")
def wheelhouse() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheelhouse", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_only_what_was_named_is_left_out(wheelhouse: ModuleType) -> None:
    packages = [wheelhouse.Package(name, "1", ()) for name in ("duckdb", "markdown-it-py", "rich")]
    rest, names = wheelhouse.leave_out(packages, "Markdown_It.py, duckdb")
    assert [package.name for package in rest] == ["rich"]
    assert names == ["duckdb", "markdown-it-py"]


def test_what_is_not_needed_is_left_out_already(
    wheelhouse: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = [wheelhouse.Package("duckdb", "1", ()), wheelhouse.Package("click", "8", ())]
    rest, names = wheelhouse.leave_out(packages, "numpy, duckdb")
    assert [package.name for package in rest] == ["click"]
    assert names == ["duckdb"]
    assert "does not need numpy, with it or without; it needs click, duckdb" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("text", ["3.10", "2.7", "3", "3.12.1", "py312"])
def test_a_python_that_cannot_be(wheelhouse: ModuleType, text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        wheelhouse.version(text)


def test_markers_are_read_for_the_python_of_the_target(
    wheelhouse: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """pip reads them for the Python that it runs in, and would leave ``later`` out."""
    rounds = []

    def resolve(wanted: list[str], python: str) -> list[object]:
        rounds.append(list(wanted))
        needs = ('later>=2; python_version >= "3.99"', 'windows; sys_platform == "win32"')
        found = [wheelhouse.Package("first", "1", tuple(map(Requirement, needs)))]
        return found + [wheelhouse.Package("later", "2", ())] * (len(rounds) > 1)

    monkeypatch.setattr(wheelhouse, "_resolve", resolve)
    packages = wheelhouse.resolve(tmp_path / "own.whl", "", "3.99")
    assert [package.name for package in packages] == ["first", "later"]
    assert rounds[1][1:] == ["later>=2"]


def test_glibc_that_a_wheel_asks_for(wheelhouse: ModuleType) -> None:
    name = "cupti_etl-0.1.0-py3-none-manylinux_2_38_x86_64.whl"
    assert wheelhouse.glibc_needed(name) == (2, 38)
    assert wheelhouse.glibc_needed("cupti_etl-0.1.0-py3-none-linux_x86_64.whl") == (2, 0)


def test_a_folder_with_other_things_is_not_touched(wheelhouse: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "old.whl").touch()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(wheelhouse.WheelhouseError, match=r"thesis\.tex"):
        wheelhouse.empty(tmp_path)
    assert (tmp_path / "old.whl").exists()
    (tmp_path / "thesis.tex").unlink()
    wheelhouse.empty(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.network
@pytest.mark.slow
def test_a_machine_without_a_network_installs_from_the_folder(tmp_path: Path) -> None:
    index = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "mdurl",
        "-d",
        str(tmp_path),
    ]
    if subprocess.run(index, capture_output=True, check=False).returncode:
        pytest.skip("no package index can be reached")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = tmp_path / "wheelhouse"
    command = [sys.executable, str(SCRIPT), "--python", python, "-o", str(folder)]
    # That there is a wheel counts, and not who compiled it, nor whether it has the page.
    compiling = {**os.environ, "CC": only_reading(tmp_path / "cc")}
    compiling["PATH"] = with_npm(tmp_path / "none", "exit 1")
    done = subprocess.run(command, env=compiling, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install --no-index --find-links wheelhouse cupti-etl" in done.stdout
    # The pip of these tests installs into it, and compiles nothing of which most is never imported.
    empty = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")]
    subprocess.run(empty, check=True)
    programs = tmp_path / "venv" / "bin"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    clean["PIP_CONFIG_FILE"] = os.devnull
    install = [sys.executable, "-m", "pip", "--python", programs / "python", "install"]
    install += ["-q", "--no-compile", "--no-index", "--find-links", folder, "cupti-etl"]
    subprocess.run(install, check=True, env=clean, cwd=tmp_path)
    asked = subprocess.run(
        [programs / "cupti-etl", "schema", "kernel"], capture_output=True, text=True, cwd=tmp_path
    )
    assert asked.stdout.startswith("kernel: One row per kernel execution")
