"""A line that says how it goes: on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
from typing import Any, cast

import pytest
from support.on_terminal import OnTerminal

from cupti_etl.capture import summary
from cupti_etl.capture.summary import ProgressLine
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


class Collector:
    traced = ()
    sampling = None

    def rows_and_records(self) -> tuple[int, int]:
        return 7, 8

    def losses(self) -> tuple[()]:
        return ()


@pytest.mark.parametrize(
    ("is_on_terminal", "beside_program", "is_said"),
    [(True, True, False), (False, True, True), (True, False, True)],
)
def test_it_is_not_amid_what_the_program_prints(
    monkeypatch: pytest.MonkeyPatch, is_on_terminal: bool, beside_program: bool, is_said: bool
) -> None:
    terminal = OnTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", terminal if is_on_terminal else io.StringIO())
    line = ProgressLine(quiet=False)
    monkeypatch.setattr(summary.time, "monotonic", lambda: 10.0**9)
    line.tell(cast("Any", Collector()), beside_program=beside_program)
    assert ("7 rows" in terminal.getvalue()) is is_said
