"""Computes all that queries share of a trace, several things at once.

A statement that makes one of them seldom keeps all processors busy.  Each worker has a DuckDB of
its own, and finds in the trace's folder what the others have made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.materialize import Operator
from cupti_etl.units import size_bytes

# More of them would wait for one another.
_MOST_WORKERS = 4


@dataclass(frozen=True)
class Indexed:
    """What ``Trace.index`` did.

    Attributes:
        queries: how many are computed now.
        bytes: of the folder ``derived``.
        refused: why nothing was computed; "" if it was.
    """

    queries: int
    bytes: int
    refused: str


@dataclass(frozen=True)
class Worker:
    """What computes one query at a time.

    Attributes:
        run: runs a statement.
        stop: stops it, from another thread.
    """

    run: Callable[[str], object]
    stop: Callable[[], None]


def shared_settings(threads: int, memory_limit: str) -> list[dict[str, str]]:
    """DuckDB's settings for each of the workers that share what one would have."""
    workers = min(threads, _MOST_WORKERS)
    memory = size_bytes(memory_limit) // workers
    each = {"threads": f"{threads // workers}", "memory_limit": f"{memory // 1000} kB"}
    return [each] * workers


def order(catalog: Catalog, operators: Mapping[str, Operator]) -> Mapping[str, set[str]]:
    """The materialized queries, each with those that are to be computed before.

    Of those that one operator computes, the others wait for the first.
    """
    before: dict[str, set[str]] = {}
    first: dict[str, str] = {}
    for query in catalog:
        operator = operators.get(query.name)
        needs = {*query.needs, *(operator.reads if operator else ())} & before.keys()
        found: set[str] = set()
        for need in needs:
            found |= {need} if catalog[need].materialized else before[need]
        if operator and query.materialized:
            one = first.setdefault(operator.name, query.name)
            found |= {one} - {query.name}
        before[query.name] = found
    return {query.name: before[query.name] for query in catalog if query.materialized}


def compute(
    queries: Mapping[str, Iterable[str]],
    workers: Sequence[Worker],
    tell: Callable[[str], None] = lambda name: None,
) -> None:
    """Compute queries, each when those before it are there, and as many at once as can be.

    Args:
        queries: their names, in order, each with those before it.
        workers: who do it.
        tell: gets the name of each that is begun, and "" at the end.

    Raises:
        EtlError: one cannot be computed; none is begun after that.
    """
    left = {name: set(before) for name, before in queries.items()}
    idle = list(workers)
    running: dict[Future[object], tuple[str, Worker]] = {}
    with ThreadPoolExecutor(len(workers)) as pool:
        try:
            while left or running:
                for name in [name for name, before in left.items() if not before][: len(idle)]:
                    del left[name]
                    tell(name)
                    worker = idle.pop()
                    running[pool.submit(worker.run, f"FROM {name}")] = name, worker
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    name, worker = running.pop(future)
                    idle.append(worker)
                    future.result()
                    for before in left.values():
                        before.discard(name)
        except BaseException:
            for _, worker in running.values():
                worker.stop()
            raise
        finally:
            tell("")
