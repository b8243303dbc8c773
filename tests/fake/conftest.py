"""Fixtures of the tests of the fakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_run import Run
from support.fakes import Fakes


@pytest.fixture
def run(fakes: Fakes, tmp_path: Path) -> Run:
    return Run(fakes, tmp_path)
