"""One real server: its address, its signals, and what the page about it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest
from docs.test_documentation import blocks
from support.command import etl

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "serve.md"
SERVE = [sys.executable, "-m", "cupti_etl", "serve", "--port", "0"]


def needs_the_extra() -> None:
    pytest.importorskip("starlette", reason="the extra serve is not installed")
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server in a process of its own, its address and its token."""
    needs_the_extra()
    server = subprocess.Popen(
        [*SERVE, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)\n", server.stdout.readline())
        assert found, server.communicate()
        yield server, found[1], found[2]
    finally:
        server.kill()
        server.communicate()


def ended(server: subprocess.Popen[str], number: int) -> tuple[int, str, str]:
    server.send_signal(number)
    out, err = server.communicate(timeout=60)
    return server.returncode, out, err


def test_ctrl_c_ends_it_silently(server: tuple[subprocess.Popen[str], str, str]) -> None:
    process, base, token = server
    request = urllib.request.Request(f"{base}/sql?token={token}", b"FROM kernel_summary")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    assert ended(process, signal.SIGINT) == (130, "", "")


@pytest.mark.slow
def test_ctrl_c_ends_it_while_it_answers(server: tuple[subprocess.Popen[str], str, str]) -> None:
    process, base, token = server
    endless = b"SELECT hash(range) AS h FROM range(1000000000000)"
    request = urllib.request.Request(f"{base}/sql?token={token}", endless)
    with urllib.request.urlopen(request) as answer:
        assert answer.read(1000)
        assert ended(process, signal.SIGINT) == (130, "", "")


def test_termination_ends_it_silently(server: tuple[subprocess.Popen[str], str, str]) -> None:
    process, _, _ = server
    assert ended(process, signal.SIGTERM) == (-signal.SIGTERM, "", "")


@pytest.mark.slow
def test_nothing_is_lost_with_connections(
    server: tuple[subprocess.Popen[str], str, str],
) -> None:
    process, base, token = server
    fds = Path(f"/proc/{process.pid}/fd")

    def ask(count: int) -> None:
        for number in range(count):
            address = f"{base}/arrow/{('kernel', 'kernl')[number % 2]}?token={token}"
            try:
                with urllib.request.urlopen(address) as answer:
                    answer.read()
            except HTTPError as error:
                error.close()

    ask(10)
    before = len(list(fds.iterdir()))
    ask(100)
    # The last connection may still be closing.
    assert len(list(fds.iterdir())) <= before + 1


@pytest.mark.slow
def test_the_examples_of_the_page_run(
    server: tuple[subprocess.Popen[str], str, str], tmp_path: Path
) -> None:
    _, base, token = server
    environment = {**os.environ, "BASE": base, "TOKEN": token}
    commands = [
        line for block in blocks(PAGE, "sh") for line in block.splitlines() if "curl" in line
    ]
    assert len(commands) >= 4
    for line in commands:
        done = subprocess.run(
            ["bash", "-ec", line], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 127:
            pytest.skip("no curl here")
        assert done.returncode == 0, done.stderr
        assert '"error"' not in done.stdout, done.stdout


@pytest.mark.parametrize("needed", ["pyarrow", "pandas", "polars"])
def test_the_examples_in_python_run(
    server: tuple[subprocess.Popen[str], str, str], needed: str
) -> None:
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    _, base, token = server
    first, *others = blocks(PAGE, "python")
    others = [text for text in others if needed in text]
    assert needed == "pyarrow" or others
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join((first, *others))],
        env={**os.environ, "BASE": base, "TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_a_port_that_is_taken(server: tuple[subprocess.Popen[str], str, str], folder: Path) -> None:
    _, base, _ = server
    done = etl("serve", folder, "--port", base.rpartition(":")[2])
    assert done.returncode == 2
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert "--port=0" in done.stderr


def test_what_is_no_trace(tmp_path: Path) -> None:
    needs_the_extra()
    done = etl("serve", tmp_path / "nothing")
    assert done.returncode == 1
    assert "there is no trace" in done.stderr


def test_without_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = etl("serve", folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "cupti-etl: starlette, uvicorn, prometheus_client are not installed\n"
        "  pip install 'cupti-etl[serve]'\n"
    )


@pytest.mark.parametrize(
    ("environment", "is_shown"),
    [
        ({}, False),
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "w"}, True),
        ({"BROWSER": "b"}, True),
    ],
)
def test_a_browser_is_opened_where_there_is_a_screen(
    environment: dict[str, str], is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_the_extra()
    from cupti_etl.serve import run

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", "linux")
    assert run._has_screen() == is_shown
