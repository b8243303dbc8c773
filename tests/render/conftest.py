"""Fixtures for the tests of what people see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from support.trace import ONE_THREAD, write_tables

import cupti_etl
from cupti_etl.api import Trace


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Callable[..., Trace]]:
    """Opens traces made of the given tables."""
    opened = []
    folders = (tmp_path / f"run-{n}" for n in count())

    def make(**tables: str) -> Trace:
        path = write_tables(next(folders), **tables)
        opened.append(cupti_etl.open(path, settings=ONE_THREAD))
        return opened[-1]

    yield make
    for each in opened:
        each.close()
