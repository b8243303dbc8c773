"""A query asked of every shard of a trace by a worker, and the answer made of what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cupti_etl.engines.engine import DUCKDB, SETTINGS, Engine, find
from cupti_etl.engines.shards import Opened, Shard, shards
from cupti_etl.engines.sketch import ERROR, MACROS
from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.query import Query
from cupti_etl.queries.runner import call, check_values, connect
from cupti_etl.queries.scope import Choice
from cupti_etl.schema.arrow import TABLES

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
    return [query for query in library() if query.is_distributed and not query.is_building_block]


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
    if not query.is_distributed:
        known = ", ".join(each.name for each in distributed())
        raise UsageError(
            f"several workers cannot compute {query.name}: --engine {DUCKDB} does",
            f"with --engine {engine}: {known}",
        )
    call(query, params)
    if params:
        with connect() as con:
            check_values(con, query, params)
    found = shards(trace, {**SETTINGS, **trace.settings})
    notes = list(_exactness(query))
    workers = _Workers(runs, type(trace), found, notes)
    if query.merge:
        return Answer(workers.answer(query, params), tuple(notes))
    # Of the whole time: what of it is asked is chosen of what it is computed to.
    whole = replace(
        workers,
        shards=[
            replace(one, portion=one.portion and replace(one.portion, windows=())) for one in found
        ],
    )
    given = {name: whole.answer(library()[name], {}) for name in query.gathered}
    choice = replace(trace.choice or Choice(""), given=given)
    with workers.opens(trace.paths, True, choice, trace.settings) as here:
        return Answer(here.query(query.name, **params).arrow(), tuple(notes))


@dataclass(frozen=True)
class _Workers:
    """An engine, and what it asks: the class of a trace, its shards, and where notes go."""

    engine: Engine
    opens: Callable[..., Opened]
    shards: Sequence[Shard]
    notes: list[str]

    def answer(self, query: Query, params: Mapping[str, Any]) -> pa.Table:
        """The answer of a query that has a merge."""
        asked = [Question(self.opens, shard, query.name, params) for shard in self.shards]
        if query.shared and len(asked) > 1:
            said = self._every(shared, asked)
            given = {name: _united(name, [one[name] for one in said]) for name in query.shared}
            asked = [replace(one, shard=one.shard.with_given(given)) for one in asked]
        return merge(query, self._every(partial, asked))

    def _every(self, function: Callable[[Question], Any], asked: Sequence[Question]) -> list[Any]:
        """What a function says of each question, in their order."""
        found: dict[int, Any] = {}
        for done in self.engine.run(function, asked):
            found[done.place] = done.result
            if done.attempts > 1:
                self.notes.append(
                    f"{asked[done.place].says} was asked {done.attempts} times, as a worker died;"
                    " nothing is missing."
                )
        return [found[place] for place in sorted(found)]


def shared(question: Question) -> dict[str, pa.Table]:
    """What a worker adds to what all workers are given.

    Raises:
        TraceError: a part is damaged, or cannot be reached from here.
    """
    shard, query = question.shard, library()[question.query]
    with question.opens(shard.paths, True, shard.portion, shard.settings) as trace:
        return {name: trace.sql(f"FROM {name}").arrow() for name in query.shared}


def _united(name: str, said: Sequence[pa.Table]) -> pa.Table:
    """What all workers say of a table or a query; of rows with the same key, the last."""
    if name not in TABLES:
        return merge(library()[name], said)
    key = ", ".join(TABLES[name].key)
    sql = (
        "SELECT * EXCLUDE (_place) FROM (SELECT *, row_number() OVER () AS _place FROM partial)"
        f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY _place DESC) = 1"
    )
    return _of_partials(sql, said)


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
    return _of_partials(query.merge, partials)


def _of_partials(sql: str, partials: Iterable[pa.Table]) -> pa.Table:
    import pyarrow as pa

    with connect() as con:
        for macro in MACROS:
            con.execute(macro)
        con.register("partial", pa.concat_tables(partials))
        return con.sql(sql).to_arrow_table()


def _exactness(query: Query) -> Iterable[str]:
    if query.approximate:
        yield (
            f"{', '.join(query.approximate)}: estimated, within {100 * ERROR:.0f} % of the exact"
            " value; all else is exact."
        )
