"""Fixtures for all tests."""

from __future__ import annotations

import signal

import pytest
from support.fakes import Fakes

# A shell starts background jobs with SIGINT ignored, and every program that the tests start
# would inherit that; some of them are to be interrupted.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def fakes() -> Fakes:
    """The fake driver, CUPTIs and program; each is compiled when first asked for."""
    return Fakes()
