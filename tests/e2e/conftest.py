"""Fixtures for whole captures."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.captures import Capturer
from support.fakes import Fakes

from cupti_etl.errors import NativeError
from cupti_etl.native.library import inject_library_path


@pytest.fixture
def capturer(fakes: Fakes, tmp_path: Path) -> Capturer:
    """Captures of the fake program, each with a trace folder of its own."""
    try:
        inject_library_path()
    except NativeError as error:
        pytest.skip(f"no capture without the native part: {error.message}")
    return Capturer(fakes, tmp_path)
