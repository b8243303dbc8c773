"""Cases of one test of which a few tell whether something is wrong, and CI runs the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few(first: int, cases: Iterable[Any]) -> list[Any]:
    """The cases of ``pytest.mark.parametrize``: so many as they are, the rest marked as slow."""
    rows = list(cases)
    assert 0 < first < len(rows), "there are no others"
    return rows[:first] + [_marked(row) for row in rows[first:]]


def _marked(row: Any) -> Any:
    values = row if isinstance(row, tuple) else (row,)
    return pytest.param(*values, marks=pytest.mark.slow)
