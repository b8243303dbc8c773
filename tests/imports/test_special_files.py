"""What is neither a file nor a folder is refused at once: to open a pipe could take for ever."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from imports.conftest import nsys
from imports.test_nsys import KERNEL, STRINGS, as_parquetdir

from cupti_etl.cli import cli
from cupti_etl.errors import ForeignError
from cupti_etl.imports.run import import_traces


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def bound(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return path


def linked(path: Path) -> Path:
    path.symlink_to(pipe(path.with_name("target")))
    return path


def device(path: Path) -> Path:
    return Path("/dev/zero")


@pytest.mark.parametrize(
    ("make", "what"),
    [(pipe, "a pipe"), (linked, "a pipe"), (bound, "a device or a socket"), (device, "a device")],
)
@pytest.mark.parametrize("command", ["import", "replay"])
def test_what_is_no_file(tmp_path: Path, command: str, make: object, what: str) -> None:
    assert callable(make)
    path = make(tmp_path / "it")
    before = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(cli, [command, str(path), "-o", str(tmp_path / "trace")])
    assert isinstance(done.exception, ForeignError)
    assert f"{path} is {what}" in done.exception.message
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "what"), [("-", "standard input is no file"), ("gone", "there is no file gone")]
)
def test_what_is_not_there(tmp_path: Path, name: str, what: str) -> None:
    words = ["import", name, "-o", str(tmp_path / "trace")]
    done = CliRunner().invoke(cli, words, input="{}")
    assert isinstance(done.exception, ForeignError)
    assert done.exception.message == what
    assert done.exception.hint


def test_a_pipe_among_the_files_of_a_folder(tmp_path: Path) -> None:
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": KERNEL, "StringIds": STRINGS}
    folder = as_parquetdir(nsys(tmp_path / "t.sqlite", **tables), tmp_path / "a")
    pipe(folder / "NVTX_EVENTS.parquet")
    with pytest.raises(ForeignError, match=r"NVTX_EVENTS\.parquet is a pipe"):
        import_traces([folder], tmp_path / "trace", 1)
    assert not (tmp_path / "trace").exists()
