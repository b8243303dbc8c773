"""``cupti-etl demo``, with a GPU (the computing driver) and without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.rights import without_reading_all

import cupti_etl
from cupti_etl.cli import cli
from cupti_etl.demo.folder import make_room
from cupti_etl.errors import UsageError
from cupti_etl.storage.replace import DEMO_MARK


@pytest.fixture(scope="module", autouse=True)
def _native() -> None:
    from cupti_etl.errors import NativeError
    from cupti_etl.native.loader import inject_library_path

    try:
        inject_library_path()
    except NativeError as error:
        pytest.skip(error.message)


def demo(
    cwd: Path, driver: Path | None, *arguments: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    path = {"LD_LIBRARY_PATH": str(driver)} if driver else {}
    return subprocess.run(
        [sys.executable, "-m", "cupti_etl", "demo", *arguments],
        cwd=cwd, env={**os.environ, **path, **environ}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def first(
    tmp_path_factory: pytest.TempPathFactory, driver_folder: Path
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder, and the demo that was run there."""
    folder = tmp_path_factory.mktemp("first")
    return folder, demo(folder, driver_folder)


@pytest.mark.slow
def test_on_a_gpu_it_captures_and_compares(
    first: tuple[Path, subprocess.CompletedProcess[str]], driver_folder: Path
) -> None:
    folder, done = first
    assert done.returncode == 0, done.stderr
    for text in (
        "Captured on Fake GPU 0, GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
        f"CUPTI 13.0 ({driver_folder / 'libcupti.so.13'}), driver for CUDA 13.0",
        "reduce_sum", "DtoD", "Losses: none", "and no other", str(folder / "demo-trace"),
    ):  # fmt: skip
        assert text in done.stdout
    with cupti_etl.open(folder / "demo-trace") as trace:
        assert trace.sql("FROM kernel").count() == 1370
    launched = json.loads((folder / "demo-trace" / DEMO_MARK).read_text())["launched"]
    assert launched["program"] == "driver_api"


@pytest.mark.slow
def test_a_second_demo_replaces_the_first(
    first: tuple[Path, subprocess.CompletedProcess[str]], driver_folder: Path
) -> None:
    folder, done = first
    assert done.returncode == 0
    before = (folder / "demo-trace" / DEMO_MARK).read_text()
    assert demo(folder, driver_folder).returncode == 0
    assert (folder / "demo-trace" / DEMO_MARK).read_text() != before


@pytest.mark.slow
def test_a_record_that_is_missing_fails_the_demo(tmp_path: Path, driver_folder: Path) -> None:
    done = demo(tmp_path, driver_folder, FAKE_CUPTI_FORGET="100")
    assert done.returncode == 4
    assert "the trace differs from what the program launched" in done.stderr
    assert "launched, 1" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"FAKE_CUDA_WRONG": "1"}, "the GPU added up to"),
        ({"FAKE_CUDA_FAIL": "cuLaunchKernel"}, "cuLaunchKernel failed"),
    ],
)
def test_a_failing_workload_fails_the_demo(
    tmp_path: Path, driver_folder: Path, environ: dict[str, str], sentence: str
) -> None:
    done = demo(tmp_path, driver_folder, **environ)
    assert done.returncode == 4
    assert sentence in done.stderr
    assert "there is a GPU, but capturing on it failed with status 1" in done.stderr
    # What is left is the demo's own, and the next one replaces it.
    make_room(tmp_path / "demo-trace")
    assert not (tmp_path / "demo-trace").exists()


@pytest.mark.slow
def test_without_a_gpu_it_says_so_and_replays(tmp_path: Path, driver_folder: Path) -> None:
    recording = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
    done = demo(tmp_path, driver_folder, FAKE_CUDA_DEVICES="0")
    assert "No GPU can be used here (the driver shows no CUDA device)." in done.stdout
    if recording.exists():
        assert done.returncode == 0, done.stderr
        assert "Recorded on NVIDIA H200, GPU-" in done.stdout
        assert "Kernels" in done.stdout
    else:
        assert done.returncode == 1
        assert "the recording h200.etlrec is not part of this installation" in done.stderr


@pytest.mark.slow
def test_a_recording_is_replayed(
    tmp_path: Path, driver_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from cupti_etl.commands import demo as module

    recording = tmp_path / "some.etlrec"
    capture = ["capture", "-o", "live", "--save-raw", str(recording), "--"]
    workload = ["-m", "cupti_etl.demo.workload", "--loops", "4"]
    subprocess.run(
        [sys.executable, "-m", "cupti_etl", *capture, sys.executable, *workload],
        cwd=tmp_path, env={**os.environ, "LD_LIBRARY_PATH": str(driver_folder)},
        stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    monkeypatch.setattr(module, "RECORDING", recording)
    monkeypatch.setattr(module, "gpus", lambda environ: ([], "no driver"))
    result = CliRunner().invoke(cli, ["demo", "-o", str(tmp_path / "replayed")])
    assert result.exception is None, result.output
    assert "Recorded on Fake GPU 0" in result.output
    recording.write_bytes(b"damaged")
    result = CliRunner().invoke(cli, ["demo", "-o", str(tmp_path / "replayed")])
    assert "the recording cannot be replayed" in str(result.exception)


# --- the folder


def trace_of_the_demo(folder: Path) -> Path:
    (folder / "kernel").mkdir(parents=True)
    (folder / "kernel/part-000000.parquet").write_bytes(b"")
    # What columns mean, and what was computed when somebody asked.
    (folder / "schema.json").write_text("{}")
    (folder / "derived").mkdir()
    (folder / DEMO_MARK).write_text("{}")
    return folder


def test_room_is_made_only_from_what_the_demo_made(tmp_path: Path) -> None:
    make_room(tmp_path / "nothing")
    make_room(trace_of_the_demo(tmp_path / "own"))
    assert not (tmp_path / "own").exists()


def test_where_nothing_may_be_made_the_gpu_is_not_blamed(
    tmp_path: Path, driver_folder: Path
) -> None:
    tmp_path.chmod(0o500)
    words = [sys.executable, "-m", "cupti_etl", "demo"]
    env = {**os.environ, "LD_LIBRARY_PATH": str(driver_folder)}
    done = subprocess.run(
        without_reading_all(words), cwd=tmp_path, env=env, capture_output=True, text=True
    )
    tmp_path.chmod(0o700)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"cupti-etl: demo-trace cannot be created in {tmp_path}",
        "  choose another -o",
    ]


def test_folders_of_others_stay(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(UsageError, match="the demo did not make it"):
        make_room(other)
    notes = trace_of_the_demo(tmp_path / "notes")
    (notes / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds more than the demo made: notes\.txt"):
        make_room(notes)
    link = tmp_path / "link"
    link.symlink_to(trace_of_the_demo(tmp_path / "target"))
    with pytest.raises(UsageError, match="the demo did not make it"):
        make_room(link)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="the demo did not make it"):
        make_room(tmp_path / "file")
