"""capture --index: what queries share is there when the capture ends."""

from __future__ import annotations

import pytest
from support.captures import Capturer

from cupti_etl.commands import _index_apart


@pytest.mark.slow
def test_the_index_says_what_it_did(capturer: Capturer) -> None:
    capture = capturer.run(options=["--index"], launches=20)
    assert capture.status == 0, capture.stderr
    assert "nothing was computed: it is smaller than 512 KiB" in capture.stderr
    assert capture.count("kernel") == 20


@pytest.mark.slow
def test_a_command_that_fails_keeps_its_status(capturer: Capturer) -> None:
    capture = capturer.run(options=["--index"], launches=20, status=5)
    assert capture.status == 5


def test_an_index_that_takes_too_long_is_given_up(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(_index_apart, "_PATIENCE_S", 0.0)
    _index_apart.index_apart(tmp_path_factory.mktemp("run"))
    assert "was given up" in capsys.readouterr().err
