"""Threads that make what a trace is asked for: each thing once, after its needs, and at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import duckdb
import pytest
from support.trace import MakeTrace

from cupti_etl.errors import TraceError
from cupti_etl.queries import materialize
from cupti_etl.queries.making import MOST_THREADS, Making

# Longer than any thread waits for another that is going to come.
LONG_S = 60


class Connection:
    """Stands for one of DuckDB, and knows who interrupted it."""

    def __init__(self, threads: int = MOST_THREADS, memory: str = "16.0 GiB") -> None:
        self._settings = threads, memory
        self.interrupted = threading.Event()

    def cursor(self) -> Connection:
        return Connection(*self._settings)

    def execute(self, statement: str) -> Connection:
        assert "current_setting" in statement
        return self

    def fetchall(self) -> list[tuple[int, str]]:
        return [self._settings]

    def interrupt(self) -> None:
        self.interrupted.set()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass


CON = cast("duckdb.DuckDBPyConnection", Connection())


def making() -> Making:
    return Making(lambda con: con.cursor())


class Things:
    """What needs what, and when each was begun and made."""

    def __init__(self, needs: dict[str, list[str]]) -> None:
        self.making = making()
        self.needs = needs
        self.lock = threading.Lock()
        self.made: list[str] = []
        self.at_once = self.most_at_once = 0
        self.meanwhile: Callable[[str], None] = lambda name: None

    def ask(self, *names: str, con: duckdb.DuckDBPyConnection = CON) -> None:
        with self.making.connection(con) as own:
            self.making.each(own, names, self.make)

    def make(self, con: duckdb.DuckDBPyConnection, name: str) -> None:
        with self.making.taken(name):
            if name in self.made:
                return
            self.making.each(con, self.needs[name], self.make)
            with self.lock:
                assert set(self.needs[name]) <= set(self.made)
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
            self.meanwhile(name)
            with self.lock:
                self.at_once -= 1
                self.made.append(name)


@pytest.mark.parametrize("seed", range(20))
def test_each_is_made_once_and_after_what_it_needs(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"t{number}" for number in range(30)]
    things = Things(
        {
            name: chance.sample(names[:at], min(at, chance.randrange(4)))
            for at, name in enumerate(names)
        }
    )
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(things.ask, *chance.sample(names, 8)) for _ in range(6)]
        for each in asked:
            each.result(LONG_S)
    things.ask(*names)
    assert sorted(things.made) == sorted(names)


def test_two_that_do_not_need_each_other_are_made_at_once() -> None:
    things = Things({"a": [], "b": [], "c": ["a", "b"]})
    both = threading.Barrier(2, timeout=LONG_S)

    def meanwhile(name: str) -> None:
        if name != "c":
            both.wait()  # breaks if they are made one after the other

    things.meanwhile = meanwhile
    things.ask("c")
    assert things.made[2] == "c"


@pytest.mark.parametrize(
    ("threads", "memory", "most"),
    [
        (16, "100.0 GiB", MOST_THREADS),
        (2, "100.0 GiB", 2),
        (16, "2.7 GiB", 1),  # --memory-limit 3GB
        (16, "5.5 GiB", 2),
        (16, "95.3 MiB", 1),
        (16, "16383.9 PiB", MOST_THREADS),  # as DuckDB has it without a limit
    ],
)
def test_no_more_at_once_than_there_are_threads_and_memory(
    threads: int, memory: str, most: int
) -> None:
    things = Things({str(number): [] for number in range(12)})
    together = threading.Barrier(most, timeout=LONG_S)
    things.meanwhile = lambda name: together.wait() and None
    things.ask(*things.needs, con=cast("Any", Connection(threads, memory)))
    assert things.most_at_once == most


def test_one_is_begun_while_others_of_the_same_list_wait() -> None:
    things = Things({"long": [], "late": ["long"], "later": ["long"], "other": []})
    both = threading.Barrier(2, timeout=LONG_S)

    def meanwhile(name: str) -> None:
        if name in ("long", "other"):
            both.wait()

    things.meanwhile = meanwhile
    things.ask(*things.needs, con=cast("Any", Connection(threads=2)))
    assert sorted(things.made) == sorted(things.needs)
    assert things.most_at_once == 2


def test_who_waits_takes_nobodys_place() -> None:
    # Two may be busy: one makes x, one waits for it, and a third makes z meanwhile.
    things = Things({"x": [], "y": ["x"], "z": []})
    x_begun, z_made = threading.Event(), threading.Event()

    def meanwhile(name: str) -> None:
        if name == "x":
            x_begun.set()
            assert z_made.wait(LONG_S)
        elif name == "z":
            z_made.set()

    things.meanwhile = meanwhile
    con = cast("Any", Connection(threads=2))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(things.ask, "x", con=con)
        assert x_begun.wait(LONG_S)
        things.ask("y", "z", con=con)
        first.result(LONG_S)
    assert things.made == ["z", "x", "y"]


def test_after_an_error_none_is_begun() -> None:
    things = Things({"a": [], "b": [], "c": [], "d": []})
    begun = threading.Barrier(2, timeout=LONG_S)
    failed = threading.Event()
    lists: list[list[str]] = []
    take = things.making._next

    def taking(left: list[str]) -> str:
        lists.append(left)
        return take(left)

    things.making._next = taking  # type: ignore[method-assign]

    def meanwhile(name: str) -> None:
        if name in ("a", "b"):
            begun.wait()
        if name == "a":
            failed.set()
            raise TraceError("a part is damaged")
        # Until the one that failed has taken the others off the list.
        assert failed.wait(LONG_S)
        while lists[0]:
            time.sleep(0.001)

    things.meanwhile = meanwhile
    with pytest.raises(TraceError, match="damaged"):
        things.ask("a", "b", "c", "d", con=cast("Any", Connection(threads=2)))
    assert things.made == ["b"]
    things.meanwhile = lambda name: None
    things.ask("a", "b", "c", "d")  # what failed is nobody's
    assert sorted(things.made) == ["a", "b", "c", "d"]


def test_what_all_are_making_can_be_stopped() -> None:
    begun = threading.Barrier(3, timeout=LONG_S)

    def make(con: duckdb.DuckDBPyConnection, name: str) -> None:
        begun.wait()
        assert cast("Any", con).interrupted.wait(LONG_S)
        raise TraceError(f"{name} was stopped")

    def ask() -> None:
        with one.connection(CON) as own:
            one.each(own, ["a", "b"], make)

    one = making()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        begun.wait()
        one.stop()
        with pytest.raises(TraceError, match="was stopped"):
            asked.result(LONG_S)


def test_who_takes_things_away_is_alone() -> None:
    things = Things({"a": [], "b": []})
    begun, over, alone = threading.Event(), threading.Event(), threading.Event()
    order: list[str] = []

    def meanwhile(name: str) -> None:
        order.append(name)
        if name == "a":
            begun.set()
            assert over.wait(LONG_S)

    def take_away() -> None:
        with things.making.alone(CON):
            order.append("alone")
            alone.set()

    things.meanwhile = meanwhile
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(things.ask, "a")
        assert begun.wait(LONG_S)
        taking = pool.submit(take_away)
        while not things.making._to_be_alone:
            pass
        second = pool.submit(things.ask, "b")
        assert not alone.is_set()
        over.set()
        for each in (first, taking, second):
            each.result(LONG_S)
    assert order == ["a", "alone", "b"]


KERNELS = """
    process_id device_id stream_id correlation_id start_ns end_ns name
    1          0         7         1              10       20     a
    1          0         7         2              30       40     b
"""

CALLS = """
    process_id thread_id correlation_id start_ns end_ns name
    1          1         1              5        8      cudaLaunchKernel
    1          1         2              15       18     cudaLaunchKernel
"""


def test_what_is_not_making_anything_can_be_stopped(trace: MakeTrace) -> None:
    with trace(kernel=KERNELS) as opened:
        opened.stop()
        assert opened.query("_busy_interval").count() > 0
        opened.stop()


def test_who_needs_nothing_of_what_another_makes_does_not_wait_for_it(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialize, "LARGE_BYTES", 0)  # of small traces nothing is told
    begun, over = threading.Event(), threading.Event()

    def told(name: str) -> None:
        if name == "_busy_interval" and not begun.is_set():
            begun.set()
            assert over.wait(LONG_S)

    with trace(kernel=KERNELS) as opened, ThreadPoolExecutor(1) as pool:
        opened.tell(told)
        busy = pool.submit(lambda: opened.query("busy_breakdown").count())
        assert begun.wait(LONG_S)
        assert opened.query("kernel_summary").count() == 2
        assert not busy.done()
        over.set()
        assert busy.result(LONG_S) > 0


@pytest.mark.parametrize(
    ("query", "name", "other"),
    [
        # It says that it has no row without the first.
        ("launch_bound", "_gpu_span", "_gap_edge"),
        # What needs the second is a view.
        ("idle_summary", "_gap_edge", "_gpu_span"),
    ],
)
@pytest.mark.parametrize(("threads", "is_begun"), [(2, True), (1, False)])
def test_all_that_a_query_reads_is_begun_at_once(
    trace: MakeTrace,
    monkeypatch: pytest.MonkeyPatch,
    query: str,
    name: str,
    other: str,
    threads: int,
    is_begun: bool,
) -> None:
    monkeypatch.setattr(materialize, "LARGE_BYTES", 0)
    monkeypatch.setattr("cupti_etl.queries.making._most_threads", lambda *_: threads)
    begun = threading.Event()
    seen: list[bool] = []

    def told(told_name: str) -> None:
        if told_name == other:
            begun.set()
        elif told_name == name and not seen:
            seen.append(False)
            seen[0] = begun.wait(LONG_S if is_begun else 0)

    with trace(kernel=KERNELS, api_call=CALLS) as opened:
        opened.tell(told)
        assert opened.query(query).count() == 1
    assert seen == [is_begun]


def test_what_reads_something_rare_is_not_begun_before_that_is_there(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialize, "LARGE_BYTES", 0)
    monkeypatch.setattr("cupti_etl.queries.making._most_threads", lambda *_: 2)
    markers = """
        process_id thread_id marker_id event timestamp_ns name     domain
        1          1         1         start 1            aten::mm cpu_op
        1          1         1         end   9            -        cpu_op
    """
    told: list[str] = []
    with trace(kernel=KERNELS, api_call=CALLS, marker=markers) as opened:
        opened.tell(told.append)
        assert opened.query("module_summary").count() == 0
        assert "_module_span" in told
        assert not {"_operator", "_operator_work", "_range_own", "range_gpu"} & set(told)
        # Of operators without sizes, the work that they launched is not looked for.
        assert opened.query("operator_flops").count() == 0
        assert "_operator" in told
        assert "_operator_work" not in told
        assert opened.query("operator_summary").count() == 1
        assert "_operator_work" in told


@pytest.mark.slow
def test_many_threads_ask_one_trace_and_a_part_of_it_at_once(trace: MakeTrace) -> None:
    names = ("busy_breakdown", "idle_summary", "kernel_summary", "run_summary", "memcpy_summary")
    with trace(kernel=KERNELS) as opened, opened.scope(from_="5ns") as part:
        alone = {(each, name): list(each.query(name)) for each in (opened, part) for name in names}
    expected = list(alone.values())
    for _ in range(3):
        with (
            trace(kernel=KERNELS) as opened,
            opened.scope(from_="5ns") as part,
            ThreadPoolExecutor(10) as pool,
        ):
            asked = [
                pool.submit(lambda each, name: list(each.query(name)), each, name)
                for each in (opened, part)
                for name in names
            ]
            assert [each.result(LONG_S) for each in asked] == expected
