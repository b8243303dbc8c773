"""Fixtures for the tests of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from support.opened_once import Opened, opened_once
from support.trace import ONE_THREAD, write_tables

import cupti_etl
from cupti_etl.api import Trace


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Callable[..., Trace]]:
    """Opens traces made of the given tables, and closes them after the test."""
    folders = (tmp_path / ("run" if n == 0 else f"run-{n}") for n in count())
    with ExitStack() as stack:

        def make(**tables: str) -> Trace:
            path = write_tables(next(folders), **tables)
            return stack.enter_context(cupti_etl.open(path, settings=ONE_THREAD))

        yield make


@pytest.fixture
def opened_by_commands() -> Iterator[None]:
    """Commands of a test that ask one trace find it open."""
    with opened_once():
        yield


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """Traces that several tests ask by commands."""
    with Opened() as opened:
        yield opened


@pytest.fixture
def open_once() -> Iterator[Callable[[Path], Trace]]:
    """Opens a trace when a test first asks for it, and closes it after the test.

    So what it was asked is not computed anew for each comparison with another trace.
    """
    with ExitStack() as stack:
        yield cache(lambda path: stack.enter_context(cupti_etl.open(path, settings=ONE_THREAD)))
