"""What an inner pytest finds in the process of the outer one."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from support.opened_once import Opened
from support.stepped import GPU, stepped_run


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What comparing imports is there already: an inner pytest forgets what it has imported."""
    import cupti_etl.testing.comparing
    from cupti_etl.analysis.diff import diff_as_given

    run = tmp_path_factory.mktemp("imported") / "run"
    with cupti_etl.open(stepped_run(run, random.Random(1), idle_ns=GPU)) as one:
        diff_as_given(one, one)


@pytest.fixture
def open_once(monkeypatch: pytest.MonkeyPatch, imported: None) -> Iterator[None]:
    """What a test compares once more is still open: a baseline that is replaced gets another name.

    So what it was asked is not computed anew.
    """
    from cupti_etl.testing import baseline

    with Opened() as opened:
        monkeypatch.setattr(baseline, "open_trace", opened.open)
        yield
