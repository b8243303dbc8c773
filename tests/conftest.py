"""Fixtures for all tests."""

from __future__ import annotations

import os
import signal

import pytest
from support.fake_build import CACHE
from support.fakes import Fakes

# A shell starts background jobs with SIGINT ignored, and every program that the tests start
# would inherit that; some of them are to be interrupted.
signal.signal(signal.SIGINT, signal.default_int_handler)
# What is kept for this user is none of the tests' business.
os.environ["XDG_CACHE_HOME"] = str(CACHE / "user")


@pytest.fixture(scope="session")
def fakes() -> Fakes:
    """The fake driver, CUPTIs and program; each is compiled when first asked for."""
    return Fakes()
