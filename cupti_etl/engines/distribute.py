"""A query asked of every shard of a trace by a worker, and the answer made of what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cupti_etl.engines.engine import DUCKDB, SETTINGS, find
from cupti_etl.engines.shards import Opened, Shard, shards
from cupti_etl.engines.sketch import ERROR, MACROS
from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.header import Query
from cupti_etl.queries.runner import call, check_values, connect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Question:
    """A shard, and what it is asked.

    Attributes:
        opens: the class of an opened trace, as this floor does not know it.
        shard: the shard.
        query: name of the query.
        params: values of its parameters.
    """

    opens: Callable[..., Opened]
    shard: Shard
    query: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def says(self) -> str:
        """The shard in words."""
        return self.shard.says


@dataclass(frozen=True)
class Answer:
    """The rows of a query, and what belongs beside them.

    Attributes:
        rows: the answer.
        notes: sentences: how exact it is, and what happened to workers.
    """

    rows: pa.Table
    notes: tuple[str, ...]


def distributed() -> list[Query]:
    """The queries that workers can compute."""
    return [query for query in library() if query.merge]


def ask(trace: Opened, query: Query, params: Mapping[str, Any], engine: str) -> Answer:
    """Compute a query with workers.

    Args:
        trace: as it was opened; workers open its paths themselves.
        query: which one.
        params: values of its parameters.
        engine: its name.

    Raises:
        UsageError: the query cannot be distributed, a value is wrong, or there is no such engine.
        TraceError: a part is damaged, or has vanished.
        EngineError: workers were killed, or there are none.
    """
    runs = find(engine)
    if not query.merge:
        known = ", ".join(each.name for each in distributed())
        raise UsageError(
            f"several workers cannot compute {query.name}: --engine {DUCKDB} does",
            f"with --engine {engine}: {known}",
        )
    call(query, params)
    if params:
        with connect() as con:
            check_values(con, query, params)
    asked = [
        Question(type(trace), shard, query.name, params)
        for shard in shards(trace, {**SETTINGS, **trace.settings})
    ]
    found: dict[int, pa.Table] = {}
    notes = list(_exactness(query))
    for done in runs.run(partial, asked):
        found[done.place] = done.result
        if done.attempts > 1:
            notes.append(
                f"{asked[done.place].says} was asked {done.attempts} times, as a worker died;"
                " nothing is missing."
            )
    return Answer(merge(query, [found[place] for place in sorted(found)]), tuple(notes))


def partial(question: Question) -> pa.Table:
    """What a worker says of its shard.

    Raises:
        TraceError: a part is damaged, or cannot be reached from here.
    """
    shard, query = question.shard, library()[question.query]
    with question.opens(shard.paths, True, shard.portion, shard.settings) as trace:
        return partial_of(trace, query, question.params)


def partial_of(trace: Opened, query: Query, params: Mapping[str, Any]) -> pa.Table:
    """The rows of a query's partial statement.

    Raises:
        TraceError: a part is damaged.
    """
    if not query.partial:
        return trace.query(query.name, **params).arrow()
    for macro in MACROS:
        trace.sql(macro)
    return trace.sql(query.partial).arrow()


def merge(query: Query, partials: Iterable[pa.Table]) -> pa.Table:
    """The answer, of what all workers say.

    Args:
        query: which one.
        partials: rows of each worker, always in the same order, so that the answer is the same.
    """
    import pyarrow as pa

    with connect() as con:
        for macro in MACROS:
            con.execute(macro)
        con.register("partial", pa.concat_tables(partials))
        return con.sql(query.merge).to_arrow_table()


def _exactness(query: Query) -> Iterable[str]:
    if query.approximate:
        yield (
            f"{', '.join(query.approximate)}: estimated, within {ERROR:.0%} of the exact value;"
            " all else is exact."
        )
