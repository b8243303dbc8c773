"""Fixtures for all tests."""

from __future__ import annotations

import pytest
from support.fakes import Fakes


@pytest.fixture(scope="session")
def fakes() -> Fakes:
    """The fake driver, CUPTIs and program; each is compiled when first asked for."""
    return Fakes()
