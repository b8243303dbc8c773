"""A line that says how it goes: on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest
from support.on_terminal import OnTerminal

from cupti_etl.progress import Line


def test_on_a_terminal_the_line_changes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = OnTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    line = Line()
    line.show("one")
    line.show("two \x1b[2J")
    line.clear()
    line.clear()
    assert terminal.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo \\x1b[2J\r\x1b[K"


def test_elsewhere_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for stderr in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stderr)
        line = Line()
        line.show("one")
        line.clear()
        assert stderr is None or stderr.getvalue() == ""
    terminal = OnTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    Line(is_wanted=False).show("one")
    assert terminal.getvalue() == ""


def test_a_terminal_that_goes_away_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(OnTerminal):
        def write(self, text: str) -> int:
            raise OSError(5, "gone")

    monkeypatch.setattr(sys, "stderr", Gone())
    line = Line()
    line.show("one")
    assert not line.is_on
    line.clear()
