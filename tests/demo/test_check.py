"""Comparing a program's log with rows: what must be noticed."""

from __future__ import annotations

from typing import Any

import pytest

from cupti_etl.demo.check import (
    compare_copies,
    compare_graph_kernels,
    compare_kernels,
    compare_memsets,
)

LOG: dict[str, Any] = {
    "complete": True,
    "kernels": [
        {"name": "add", "stream": "a", "grid_x": 1, "count": 5},
        {"name": "mul", "stream": "a", "grid_x": 1, "count": 3},
        {"name": "add", "stream": "b", "grid_x": 2, "count": 7},
    ],
    "graph_kernels": [{"name": "add", "grid_x": 9, "count": 4}],
    "copies": [{"kind": "HtoD", "bytes": 64, "count": 2}],
    "memsets": [{"bytes": 8, "count": 1}],
}
ROWS = [("add", 1, 13, 5), ("mul", 1, 13, 3), ("add", 2, 14, 7)]


def test_equal() -> None:
    assert compare_kernels(LOG, ROWS) == []
    assert compare_graph_kernels(LOG, [("add", 9, 4)]) == []
    assert compare_copies(LOG, [("HtoD", 64, 2)]) == []
    assert compare_memsets(LOG, [(8, 1)]) == []


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("add", 1, 13, 4), *ROWS[1:]], "5 launched, 4 recorded"),
        (ROWS[1:], "5 launched, 0 recorded"),
        ([("add", 1, 13, 3), ("add", 1, 15, 2), *ROWS[1:]], "recorded in 2 streams, [13, 15]"),
        ([ROWS[0], ("mul", 1, 14, 3), ROWS[2]], "recorded in stream 14, not 13"),
        (
            [*ROWS[:2], ("add", 2, 13, 7)],
            "several streams of the program are recorded as stream 13",
        ),
        ([*ROWS, ("sub", 1, 13, 1)], "never launched, 1 recorded"),
        ([*ROWS, (None, 1, 13, 1)], "never launched, 1 recorded"),
    ],
)
def test_kernels_that_differ(rows: list[tuple[str, int, int, int]], sentence: str) -> None:
    (difference,) = compare_kernels(LOG, rows)
    assert sentence in difference


def test_an_incomplete_log_allows_others() -> None:
    log = LOG | {"complete": False}
    assert compare_kernels(log, [*ROWS, ("sub", 1, 13, 1)]) == []
    assert compare_copies(log, [("HtoD", 64, 2), ("DtoH", 1, 1)]) == []
    assert compare_copies(log, [("DtoH", 1, 1)]) != []


@pytest.mark.parametrize(
    "rows", [[], [("HtoD", 64, 1)], [("DtoH", 64, 2)], [("HtoD", 64, 2), ("HtoD", 1, 1)]]
)
def test_copies_that_differ(rows: list[tuple[str, int, int]]) -> None:
    assert compare_copies(LOG, rows)


def test_graphs_and_sets_that_differ() -> None:
    assert compare_graph_kernels(LOG, [("add", 9, 3)]) == [
        "kernel add of a graph, with a grid of 9: 4 asked for, 3 recorded"
    ]
    assert compare_memsets(LOG, [(4, 1)]) == [
        "set of 4 bytes: 0 asked for, 1 recorded",
        "set of 8 bytes: 1 asked for, 0 recorded",
    ]
