"""Fixtures for whole captures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import leftovers
from support.captures import Capturer
from support.fakes import Fakes
from support.from_inside import Inside

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import inject_library_path


@pytest.fixture
def capturer(fakes: Fakes, tmp_path: Path) -> Capturer:
    """Captures of the fake program, each with a trace folder of its own."""
    try:
        inject_library_path()
    except NativeError as error:
        pytest.skip(f"no capture without the native part: {error.message}")
    return Capturer(fakes, tmp_path)


@pytest.fixture
def inside(fakes: Fakes, tmp_path: Path) -> Inside:
    """Programs that capture themselves."""
    return Inside(fakes, tmp_path)


@pytest.fixture(autouse=True)
def _nothing_is_left_of_a_test() -> Iterator[None]:
    """Traced programs outlive their captures in many tests, and none outlives its test."""
    yield
    leftovers.check_nothing_is_left()
