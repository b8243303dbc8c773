"""Rows with the correlation of another call are found, and nothing else is."""

from __future__ import annotations

import pyarrow as pa

from cupti_etl.capture.correlations import Correlations

# process_id, correlation_id, and what is of a graph or of which API.
Rows = list[tuple[int, int | None, object]]


def batch(rows: Rows, column: str) -> pa.RecordBatch:
    kind = pa.int64() if column == "graph_node_id" else pa.string()
    arrays = [
        pa.array(values, type_)
        for values, type_ in zip(
            zip(*rows, strict=True), (pa.int64(), pa.int64(), kind), strict=True
        )
    ]
    return pa.RecordBatch.from_arrays(arrays, ["process_id", "correlation_id", column])


def found(**tables: pa.RecordBatch) -> list[tuple[int | None, str | None, int | None]]:
    correlations = Correlations()
    for table, rows in tables.items():
        correlations.add(table, rows)
    losses = correlations.losses()
    assert {(loss.cause, loss.is_stored) for loss in losses} <= {("wrong_correlation", True)}
    return [(loss.process_id, loss.table_name, loss.records) for loss in losses]


def test_each_has_its_own() -> None:
    rows: Rows = [(1, 5, None), (1, 6, None), (2, 5, None), (1, None, None), (1, None, None)]
    assert found(kernel=batch(rows, "graph_node_id")) == []


def test_kernels_of_a_graph_share_one() -> None:
    assert found(kernel=batch([(1, 5, 70), (1, 5, 71), (1, 5, None)], "graph_node_id")) == []


def test_a_call_of_the_driver_has_that_of_the_runtime_around_it() -> None:
    rows: Rows = [(1, 5, "runtime"), (1, 5, "driver"), (1, 6, "runtime"), (1, 6, "driver")]
    assert found(api_call=batch(rows, "domain")) == []


def test_those_of_another_call() -> None:
    """A thread of the second process is stuck in its call 7."""
    calls: Rows = [(1, 5, "runtime"), (2, 7, "runtime"), (2, 7, "runtime"), (2, 7, "driver")]
    kernels: Rows = [(1, 5, None), (2, 7, None), (2, 7, None), (2, 7, None)]
    assert found(api_call=batch(calls, "domain"), kernel=batch(kernels, "graph_node_id")) == [
        (2, "api_call", 1),
        (2, "kernel", 2),
    ]


def test_other_tables_are_not_looked_at() -> None:
    assert found(memcpy=batch([(1, 5, None), (1, 5, None)], "graph_node_id")) == []
