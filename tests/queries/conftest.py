"""Fixtures for the tests of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.trace import Trace


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Callable[..., Trace]]:
    """Opens a trace made of the given tables, and closes it after the test."""
    with ExitStack() as stack:

        def make(**tables: str) -> Trace:
            return stack.enter_context(cupti_etl.open(write_trace(tmp_path / "run", **tables)))

        yield make
