"""Commands say on a terminal what they compute of a trace that is not small."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.on_terminal import OnTerminal
from support.trace import write_trace

from cupti_etl.commands._scope import open_part
from cupti_etl.errors import UsageError
from cupti_etl.queries import materialize
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import Scope
from cupti_etl.queries.operators import native

WHOLE = Scope()
CLEARED = "\r\x1b[K"
DEVICE = "process_id device_id device_uuid\n 1 0 GPU-x"
KERNELS = "process_id device_id start_ns end_ns name\n 1 0 0 10 a\n 1 0 20 50 b"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    terminal = OnTerminal()
    monkeypatch.setattr(materialize, "LARGE_BYTES", 0)
    monkeypatch.setenv("COLUMNS", "200")
    return terminal


@pytest.fixture
def run(tmp_path: Path) -> str:
    return str(write_trace(tmp_path / "run", kernel=KERNELS, device=DEVICE))


def ask(run: str, terminal: OnTerminal, scope: Scope = WHOLE) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        with open_part([run], scope) as trace:
            trace.query("_gap_cause").arrow()


def lines(terminal: OnTerminal, name: str) -> list[str]:
    """What was shown from when that was computed on."""
    shown = terminal.getvalue().split(CLEARED)
    place = shown.index(f"cupti-etl: computing: {library()[name].doc}")
    return shown[place:]


@pytest.mark.parametrize("scope", [WHOLE, Scope(to="1s"), Scope(gpu=(0,))])
def test_what_is_computed_is_said_and_taken_away(
    run: str, terminal: OnTerminal, scope: Scope
) -> None:
    ask(run, terminal, scope)
    assert lines(terminal, "_gap_edge")
    first, *_, last, after = lines(terminal, "_gap_cause")
    assert (last, after) == (first, "")


def test_after_what_it_needed_it_is_said_again(run: str, terminal: OnTerminal) -> None:
    ask(run, terminal)
    first, *others = lines(terminal, "_gap_edge")
    assert first in others


def test_nothing_is_left_of_what_failed(
    run: str, terminal: OnTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise UsageError("Interrupted", "")

    monkeypatch.setattr(native, "feed", interrupted)
    with pytest.raises(UsageError):
        ask(run, terminal)
    assert terminal.getvalue().endswith(CLEARED)


def test_of_a_small_trace_nothing_is_said(
    run: str, terminal: OnTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialize, "LARGE_BYTES", 1 << 20)
    ask(run, terminal)
    assert terminal.getvalue() == ""


def test_where_nobody_looks_nothing_is_said(
    run: str, terminal: OnTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    ask(run, terminal)
    assert terminal.getvalue() == ""
