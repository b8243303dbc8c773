"""What a flight recorder keeps in memory, and for how long."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cupti_etl.capture.recent import Recent, tables_since
from cupti_etl.capture.ring import Piece, Ring, pack
from cupti_etl.schema.arrow import arrow_schema, batch_schema

S = 10**9


def piece(table: str, at_s: int, *rows: dict[str, Any]) -> Piece:
    batch = pa.RecordBatch.from_pylist(list(rows) or [{"process_id": 1}], arrow_schema(table))
    return pack(table, batch, at_s * S, at_s * S + 5)


def kept(ring: Ring) -> list[tuple[str, int]]:
    return [(one.table, one.arrived_ns // S) for one in ring.pieces()]


def test_what_is_older_goes_and_is_counted() -> None:
    ring = Ring(30 * S, 1 << 30)
    for at in (0, 10, 20, 40):
        ring.add(piece("kernel", at))
    ring.expire(41 * S)
    assert kept(ring) == [("kernel", 20), ("kernel", 40)]
    (row,) = ring.discarded()
    assert (row["table_name"], row["reason"], row["rows"]) == ("kernel", "age", 2)
    assert row["end_ns"] == 10 * S + 5
    assert "older than the 30 s" in row["detail"]


def test_what_the_rest_needs_stays_however_old() -> None:
    ring = Ring(30 * S, 1 << 30)
    ring.add(piece("kernel", 0))
    for table in ("device", "context", "kernel_name", "python_stack", "graph_node"):
        row = {} if table == "kernel_name" else {"process_id": 1}
        ring.add(piece(table, 0, row))
    ring.expire(100 * S)
    assert [table for table, _ in kept(ring)] == [
        *("device", "context", "kernel_name", "python_stack", "graph_node")
    ]


def test_memory_is_bounded_whatever_comes() -> None:
    most = 100_000
    ring = Ring(3600 * S, most)
    for at in range(200):
        rows = [{"process_id": 1, "name": f"kernel {at} {n}" * 9} for n in range(20)]
        ring.add(piece("kernel", at, *rows))
        assert ring.bytes <= most
    assert ring.bytes == sum(one.data.size for one in ring.pieces())
    assert ring.peak_bytes <= most
    (row,) = ring.discarded()
    assert row["reason"] == "memory"
    assert row["rows"] == 20 * (200 - len(ring.pieces())) == ring.discarded_rows
    assert f"{most:,} bytes" in row["detail"]


def test_processes_that_ended_long_ago_leave_nothing() -> None:
    ring = Ring(30 * S, 1 << 30)
    ring.add(piece("device", 0, {"process_id": 1}, {"process_id": 2}))
    ring.add(piece("context", 0, {"process_id": 1}))
    ring.add(piece("kernel_name", 0, {"mangled": "k"}))
    ring.forget({2})
    assert [(one.table, one.rows) for one in ring.pieces()] == [("device", 1), ("kernel_name", 1)]
    assert ring.bytes == sum(one.data.size for one in ring.pieces())


def test_losses_are_those_since() -> None:
    def lost(records: int | None, process: int = 1, cause: str = "ring_full") -> dict[str, Any]:
        return {"process_id": process, "cause": cause, "table_name": "kernel", "records": records}

    recent = Recent()
    recent.note([lost(5)], 10 * S, -1)
    recent.note([lost(5)], 20 * S, 5 * S)
    recent.note([lost(7)], 30 * S, 5 * S)
    assert list(recent.before(5 * S).values()) == []
    assert list(recent.before(25 * S).values()) == [5]
    recent.note([lost(7)], 40 * S, 35 * S)
    before = recent.before(35 * S)
    assert list(before.values()) == [7]
    processes = [{"process_id": 1, "end_ns": None}, {"process_id": 2, "end_ns": 90}]
    losses = [lost(7), lost(9, 2), lost(None, 1, "killed"), lost(3, 1, "cupti_dropped")]
    tables = tables_since({"process": processes, "loss": losses}, 100, before)
    assert tables["process"] == processes[:1]
    assert [(row["cause"], row["records"]) for row in tables["loss"]] == [
        *(("killed", None), ("cupti_dropped", 3))
    ]
    tables = tables_since({"process": processes, "loss": [lost(8)]}, 80, before)
    assert [row["records"] for row in tables["loss"]] == [1]
    assert len(tables["process"]) == 2


def test_rows_come_back_as_they_were() -> None:
    rows = [{"process_id": 1, "name": "a", "start_ns": 5}, {"process_id": 2, "name": None}]
    batch = pa.RecordBatch.from_pylist(rows, arrow_schema("kernel"))
    batch = batch.cast(batch_schema("kernel"))  # as the decoder makes them
    ((table, again),) = pack("kernel", batch, 0, 0).batches()
    assert table == "kernel"
    assert again.to_pylist() == batch.to_pylist()


def test_columns_that_a_capture_adds_keep_what_is_said_of_them() -> None:
    field = pa.field("sm_active_pct", pa.float64(), metadata={"unit": "%"})
    schema = arrow_schema("pm_sample").append(field)
    batch = pa.RecordBatch.from_pylist([{"start_ns": 1, "sm_active_pct": 2.0}], schema)
    ((_, again),) = pack("pm_sample", batch, 0, 0).batches()
    assert again.schema.field("sm_active_pct").metadata == {b"unit": b"%"}
