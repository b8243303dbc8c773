"""What ``cupti-etl index`` computes at once: all, each after what it reads, by several workers."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest
from support.trace import MakeTrace

from cupti_etl.api import _operators
from cupti_etl.errors import TraceError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.index import Worker, compute, order, shared_settings

QUERIES: Mapping[str, set[str]] = {
    "a": set(),
    "b": {"a"},
    "c": {"a"},
    "d": {"b", "c"},
    "e": set(),
}


def test_the_order_of_the_library_has_each_query_after_what_it_reads() -> None:
    queries = order(library(), _operators())
    assert set(queries) == {query.name for query in library() if query.materialized}
    begun: set[str] = set()
    for name, before in queries.items():
        assert before <= begun
        begun.add(name)
    # By way of a query that is not materialized, and of an operator's second query.
    assert {"_busy_interval", "step"} <= queries["step_breakdown"]
    assert "_busy_interval" in queries["_work_length"]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_each_is_computed_once_and_after_those_before(count: int) -> None:
    lock = threading.Lock()
    done: list[str] = []

    def run(statement: str) -> None:
        name = statement.removeprefix("FROM ")
        with lock:
            assert set(QUERIES[name]) <= set(done)
            done.append(name)

    told: list[str] = []
    compute(QUERIES, [Worker(run, lambda: None)] * count, told.append)
    assert sorted(done) == list("abcde")
    assert sorted(told) == ["", *"abcde"]
    assert told[-1] == ""


def test_two_that_do_not_need_each_other_run_at_once() -> None:
    both = threading.Barrier(2, timeout=60)

    def run(statement: str) -> None:
        if statement in ("FROM a", "FROM e"):
            both.wait()  # breaks if they run one after the other

    compute(QUERIES, [Worker(run, lambda: None)] * 2)


@pytest.mark.parametrize("error", [TraceError("a part is damaged"), KeyboardInterrupt()])
def test_an_error_or_control_c_stops_the_others(error: BaseException) -> None:
    stopped, begun = threading.Event(), threading.Barrier(2, timeout=60)
    ran = []

    def run(statement: str) -> None:
        ran.append(statement)
        begun.wait()
        if statement == "FROM a":
            raise error
        assert stopped.wait(60)

    with pytest.raises(type(error)):
        compute(QUERIES, [Worker(run, stopped.set)] * 2)
    assert sorted(ran) == ["FROM a", "FROM e"]


def test_workers_share_what_one_would_have() -> None:
    assert shared_settings(16, "64 GB") == [{"threads": "4", "memory_limit": "16000000 kB"}] * 4
    assert shared_settings(1, "500000 kB") == [{"threads": "1", "memory_limit": "500000 kB"}]
    assert [each["threads"] for each in shared_settings(3, "18.6 GiB")] == ["1"] * 3


def test_what_is_not_making_anything_can_be_stopped(trace: MakeTrace) -> None:
    with trace(kernel="process_id device_id start_ns end_ns name\n1 0 1 2 k") as opened:
        opened._connection.stop()
        assert opened.query("_busy_interval").count() > 0
        opened._connection.stop()
