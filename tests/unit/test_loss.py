"""Losses add up: what CUPTI made is what the tables hold and what the losses say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.records import (
    FOREIGN,
    KERNEL,
    MEMCPY,
    RUNTIME,
    Bench,
    api_tag,
    pack,
    string_entry,
)

from cupti_etl.capture.loss import Loss, emitted, losses, stored
from cupti_etl.capture.segment import FINISHED, NOT_FLUSHED, NOT_TRACED, STRINGS
from cupti_etl.native.headers import constant

END = 5_000_000_000
API_DROP = 2
TRACING = constant("ETL_TRACING")
COUNT = st.integers(0, 200)


def by_cause(bench: Bench, end_ns: int | None = END) -> dict[str, Loss]:
    found = losses(bench.process, end_ns)
    assert len({(loss.cause, loss.table_name, loss.is_stored) for loss in found}) == len(found)
    return {loss.cause: loss for loss in found}


def kernels(bench: Bench, count: int, start: int = 10, end: int = 20) -> None:
    bench.decode(pack(KERNEL, bench.layouts[KERNEL], start=start, end=end) * count)


@settings(max_examples=80, deadline=None)
@given(
    stored_rows=COUNT,
    foreign=COUNT,
    filtered=COUNT,
    dropped=COUNT,
    full=st.dictionaries(st.sampled_from([KERNEL, MEMCPY, FOREIGN]), st.integers(1, 50)),
    missing=st.integers(0, 50),
)
def test_emitted_is_stored_plus_lost(
    stored_rows: int,
    foreign: int,
    filtered: int,
    dropped: int,
    full: dict[int, int],
    missing: int,
) -> None:
    bench = Bench(
        "13.0.85",
        ring_full=full,
        state=FINISHED,
        cupti_dropped=dropped,
        handed_over=stored_rows + foreign + filtered + sum(full.values()) + missing,
    )
    bench.decode(string_entry(b"cudaGetDevice", api_tag(RUNTIME, 7), API_DROP), STRINGS)
    kernels(bench, stored_rows)
    bench.decode(pack(FOREIGN, bench.layouts[FOREIGN], value=1) * foreign)
    bench.decode(pack(RUNTIME, bench.layouts[RUNTIME], cbid=7, start=1, end=2) * filtered)
    found = losses(bench.process, END)
    lost = sum(loss.records or 0 for loss in found if not loss.is_stored)
    assert stored(bench.process) == stored_rows
    assert emitted(bench.process) == stored_rows + lost
    causes = {loss.cause for loss in found}
    assert ("ring_full" in causes) == bool(full)
    assert ("cupti_dropped" in causes) == bool(dropped)
    assert ("unknown_kind" in causes) == bool(foreign)
    assert ("unreadable" in causes) == bool(missing)


def test_a_process_in_order_without_loss_has_none() -> None:
    bench = Bench("13.0.85", state=FINISHED, handed_over=3)
    kernels(bench, 3)
    assert by_cause(bench) == {}


def test_while_it_runs_nothing_is_called_lost_that_may_still_come() -> None:
    bench = Bench("13.0.85", state=TRACING, handed_over=10)
    kernels(bench, 3)
    assert by_cause(bench, None) == {}


def test_rows_without_times_are_stored_and_said() -> None:
    bench = Bench("13.0.85", state=FINISHED, handed_over=9)
    kernels(bench, 2)
    kernels(bench, 3, end=0)
    kernels(bench, 4, start=0, end=0)
    found = by_cause(bench)
    assert found["zero_timestamp"].records == 4
    assert found["incomplete"].records == 3
    assert all(loss.is_stored and loss.table_name == "kernel" for loss in found.values())


def test_bytes_that_could_not_be_told_apart() -> None:
    bench = Bench("13.0.85", state=FINISHED, unreadable_bytes=100)
    bench.decode(b"\x7f\0\0\0" + bytes(28))
    found = by_cause(bench)
    assert found["unreadable"].bytes == 132
    assert found["unreadable"].records is None


def test_names_that_did_not_come_whole() -> None:
    bench = Bench("13.0.85", state=FINISHED, handed_over=1, truncated_strings=2)
    bench.decode(pack(KERNEL, bench.layouts[KERNEL], start=1, end=2, name=123))
    loss = by_cause(bench)["unreadable"]
    assert loss.is_stored
    assert "2 names cut" in loss.detail
    assert "1 rows without a name" in loss.detail


@pytest.mark.parametrize(
    ("info", "cause", "interval"),
    [
        ({"state": TRACING, "last_flush_ns": 4_000, "start_ns": 100}, "killed", (4_000, END)),
        ({"state": TRACING, "start_ns": 100}, "killed", (100, END)),
        ({"state": NOT_FLUSHED, "last_flush_ns": 7}, "not_flushed", (7, END)),
        ({"state": NOT_TRACED, "start_ns": 9, "detail": "no"}, "not_traced", (9, END)),
        ({"state": FINISHED, "taken_ns": 50}, "other_client", (50, END)),
        ({"state": FINISHED, "taken_ns": 50, "regained_ns": 80}, "other_client", (50, 80)),
        ({"state": FINISHED, "held": 2}, "other_client", (END, END)),
        ({"state": FINISHED, "held": 2, "first_held_ns": 5}, "other_client", (5, END)),
        (
            {"state": FINISHED, "held": 2, "first_held_ns": 5, "last_flush_ns": 6},
            "other_client",
            (5, END),
        ),
        # A buffer that CUPTI asked for after the last flush had begun.
        (
            {"state": FINISHED, "held": 2, "first_held_ns": 6, "last_flush_ns": 6},
            "not_flushed",
            (6, END),
        ),
    ],
)
def test_what_cannot_be_counted_has_an_interval(
    info: dict[str, Any], cause: str, interval: tuple[int, int]
) -> None:
    (loss,) = losses(Bench("13.0.85", **info).process, END)
    assert loss.cause == cause
    assert loss.records is None
    assert (loss.start_ns, loss.end_ns) == interval
    assert loss.process_id == 77


def test_a_killed_process_still_counts_what_it_said() -> None:
    bench = Bench("13.0.85", ring_full={KERNEL: 4}, state=TRACING, cupti_dropped=2)
    found = by_cause(bench)
    assert found["ring_full"].records == 4
    assert found["ring_full"].table_name == "kernel"
    assert found["cupti_dropped"].records == 2
    assert "killed" in found


def test_a_killed_process_does_not_count_what_could_not_be_read() -> None:
    """What CUPTI handed over and what was read differ by more than the damage then."""
    bench = Bench("13.0.85", state=TRACING, handed_over=10, unreadable_bytes=64)
    kernels(bench, 3)
    found = by_cause(bench)
    assert (found["unreadable"].records, found["unreadable"].bytes) == (None, 64)


def test_after_an_earlier_collector() -> None:
    gap = {"orphaned_ns": 3_000, "adopted_ns": 4_000}
    bench = Bench("13.0.85", state=FINISHED, handed_over=5, **gap)
    kernels(bench, 3)
    (loss,) = losses(bench.process, END)
    assert (loss.cause, loss.records) == ("collector_killed", 2)
    assert (loss.start_ns, loss.end_ns) == (3_000, 4_000)
    bench = Bench("13.0.85", state=FINISHED, handed_over=3, **gap)
    kernels(bench, 3)
    (loss,) = losses(bench.process, END)
    assert (loss.cause, loss.records) == ("collector_killed", None)
