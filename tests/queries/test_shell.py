"""The shell on a terminal: prompts, several lines, history, errors and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.trace import write_trace
from support.waiting import wait_until_worked

from cupti_etl.render.shell import split

PROMPT = "cupti-etl> "


class Terminal:
    """A person at the shell."""

    def __init__(self, run: Path, home: Path) -> None:
        self.master, slave = pty.openpty()
        environment = {
            **os.environ, "XDG_STATE_HOME": str(home), "TERM": "dumb", "COLUMNS": "100",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cupti_etl", "sql", str(run)],
            stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
            preexec_fn=_take_terminal,
        )  # fmt: skip
        os.close(slave)

    def read(self, until: str, seconds: float = 20) -> str:
        """What appears, up to and including a text."""
        text, deadline = "", time.monotonic() + seconds
        while until not in text:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.master], [], [], left)[0]
            assert ready, f"{until!r} did not appear in {text!r}"
            try:
                data = os.read(self.master, 65536)
            except OSError:  # the other end is gone
                data = b""
            assert data, f"ended before {until!r}: {text!r}"
            text += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode())
        return text.replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def ask(self, line: str, until: str = PROMPT) -> str:
        """Type a line and give what comes before the next prompt."""
        self.type(line + "\n")
        return self.read(until)

    def close(self) -> int:
        status = self.process.wait(timeout=20)
        os.close(self.master)
        return status


def _take_terminal() -> None:
    import fcntl
    import termios

    # Ctrl-C only reaches the process if the terminal controls it.
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Terminal]]:
    run = write_trace(tmp_path / "run", kernel="start_ns end_ns name\n 0 10 a\n 20 30 b")
    terminals: list[Terminal] = []

    def begin() -> Terminal:
        terminals.append(Terminal(run, tmp_path / "state"))
        terminals[-1].read(PROMPT)
        return terminals[-1]

    yield begin
    for terminal in terminals:
        with contextlib.suppress(ProcessLookupError):
            terminal.process.kill()
        terminal.process.wait()


def test_statements_take_several_lines(start: Callable[[], Terminal]) -> None:
    shell = start()
    assert "...> " in shell.ask("SELECT name, end_ns", "...> ")
    answer = shell.ask("FROM kernel WHERE name = 'b;';")
    assert "name" in answer
    assert "b  " not in answer
    assert "30" in shell.ask("SELECT end_ns FROM kernel WHERE name = 'b';")
    shell.ask("CREATE TEMP TABLE mine AS SELECT 42 AS n;")
    assert "42" in shell.ask("FROM mine;")
    shell.type(".quit\n")
    assert shell.close() == 0


def test_errors_do_not_end_it(start: Callable[[], Terminal]) -> None:
    shell = start()
    assert "Table with name nowhere does not exist" in shell.ask("FROM nowhere;")
    assert "there is no command .nothing" in shell.ask(".nothing")
    assert "there is no table or query 'x'" in shell.ask(".schema x")
    assert "2" in shell.ask("SELECT count(*) FROM kernel;")
    shell.type("\x04")
    assert shell.close() == 0


@pytest.mark.slow
def test_dot_commands(start: Callable[[], Terminal]) -> None:
    shell = start()
    assert ".tables" in shell.ask(".help")
    tables = [line.split() for line in shell.ask(".tables").splitlines()]
    assert ["kernel", "2"] in tables
    assert ["marker_data", "0"] in tables
    assert "gpu_busy" in shell.ask(".queries")
    schema = shell.ask(".schema clock")
    assert "realtime_ns" in schema
    assert "BIGINT [ns]" in schema
    assert "Computed: The union" in shell.ask(".schema gpu_busy")
    shell.type(".exit\n")
    assert shell.close() == 0


@pytest.mark.parametrize("word", ["exit", "quit", "EXIT;", ".quit", ".exit"])
def test_words_that_leave(start: Callable[[], Terminal], word: str) -> None:
    shell = start()
    shell.type(f"{word}\n")
    assert shell.close() == 0


@pytest.mark.slow
def test_ctrl_c_gives_up_the_line_and_the_statement_but_not_the_shell(
    start: Callable[[], Terminal],
) -> None:
    shell = start()
    shell.ask("SELECT nonsense", "...> ")
    # readline misses a signal that comes before it waits; no person is that fast.
    time.sleep(0.5)
    shell.type("\x03")
    shell.read(PROMPT)
    assert "7" in shell.ask("SELECT 7 AS n;")
    # Hours of work.
    shell.type(
        "SELECT count(*) FROM range(9999999) a, range(9999999) b WHERE a.range * b.range % 7 = 1;\n"
    )
    wait_until_worked(shell.process.pid, 1)
    shell.type("\x03")
    assert "interrupted" in shell.read(PROMPT)
    assert "8" in shell.ask("SELECT 8 AS n;")
    shell.type("\x04")
    assert shell.close() == 0


@pytest.mark.slow
def test_history_is_kept(start: Callable[[], Terminal], tmp_path: Path) -> None:
    pytest.importorskip("readline")
    shell = start()
    shell.ask("SELECT 'remember me';")
    shell.type("\x04")
    assert shell.close() == 0
    assert "remember me" in (tmp_path / "state/cupti-etl/sql_history").read_text()
    shell = start()
    shell.type("\x10\n")  # the previous line
    assert "remember me" in shell.read(PROMPT)
    shell.type("\x04")
    assert shell.close() == 0


@pytest.mark.parametrize(
    ("text", "done", "rest"),
    [
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT 1; SELECT 2", ["SELECT 1"], " SELECT 2"),
        ("SELECT ';'; SELECT \";\"", ["SELECT ';'"], ' SELECT ";"'),
        ("SELECT 'it''s;", [], "SELECT 'it''s;"),
        ("-- a;\nSELECT 1;", ["-- a;\nSELECT 1"], ""),
        ("/* a; */ SELECT 1;;", ["/* a; */ SELECT 1"], ""),
        (" ; \n", [], ""),
        ("", [], ""),
    ],
)
def test_a_semicolon_ends_a_statement_unless_quoted(text: str, done: list[str], rest: str) -> None:
    assert split(text) == (done, rest)
