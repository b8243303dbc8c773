"""Fixtures of the tests of presets, the profiler host and ``cupti-etl metrics``."""

from __future__ import annotations

import pytest
from support.fakes import Fakes
from support.inside import Inside


@pytest.fixture
def inside(fakes: Fakes) -> Inside:
    """Runs a function with the path of a fake libcupti, in a child."""
    return Inside(fakes)
