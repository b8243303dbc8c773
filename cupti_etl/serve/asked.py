"""A request as a question: which rows, of which part of the trace, in which format."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from cupti_etl.analysis.notes import notes, options_of
from cupti_etl.api import Trace
from cupti_etl.errors import UsageError, did_you_mean
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import SCOPE_NAMES, Scope, parse
from cupti_etl.queries.query import Query
from cupti_etl.queries.runner import assignment
from cupti_etl.render.narrow import Narrowing, narrow
from cupti_etl.serve.formats import COMPRESSIONS, FORMATS, Answered
from cupti_etl.serve.refused import Refused
from cupti_etl.serve.running import Running
from cupti_etl.storage.sources import identifier

# Beside those of the scope.  The token is looked at before.
_OTHERS = ("param", "limit", "sort", "format", "compression", "token")
NAMES = (*SCOPE_NAMES, *_OTHERS)


@dataclass(frozen=True)
class Asked:
    """The words after the question mark of an address.

    Attributes:
        params: of the query, as texts.
        scope: the part of the trace.
        rows: which of the rows, and in which order.
        format: one of ``FORMATS``; "" if it is not said.
        compression: one of ``COMPRESSIONS``, of Arrow.
    """

    params: dict[str, str]
    scope: Scope
    rows: Narrowing
    format: str
    compression: str = COMPRESSIONS[0]


def read(pairs: Sequence[tuple[str, str]]) -> Asked:
    """The names and values of an address.

    Raises:
        UsageError: one is not known, is there twice, or has a value that it cannot have.
    """
    words: dict[str, str] = {}
    for name, value in pairs:
        if name not in NAMES:
            raise UsageError(
                f"there is no parameter {name[:80]!r}",
                did_you_mean(name[:80], NAMES, f"{', '.join(NAMES)}; param=NAME=VALUE of a query"),
            )
        if name in words and name != "param":
            raise UsageError(f"{name} is given twice", "give it once")
        words[name] = value
    chosen = words.get("format", "")
    if chosen and chosen not in FORMATS:
        raise UsageError(f"there is no format {chosen[:80]!r}", f"one of {', '.join(FORMATS)}")
    compression = words.get("compression", COMPRESSIONS[0])
    if compression not in COMPRESSIONS:
        raise UsageError(
            f"there is no compression {compression[:80]!r}", f"one of {', '.join(COMPRESSIONS)}"
        )
    return Asked(
        dict(assignment(value) for name, value in pairs if name == "param"),
        parse(words),
        Narrowing(sort=words.get("sort", ""), limit=_limit(words.get("limit"))),
        chosen,
        compression,
    )


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise UsageError(f"limit: {text[:80]!r} is no number of rows", "for instance limit=1000")
    return int(text)


def part_of(whole: Trace, scope: Scope) -> AbstractContextManager[Trace]:
    """The trace, or the part of it that is asked."""
    return whole.lent_part(scope) if scope else nullcontext(whole)


@contextmanager
def rows_of(whole: Trace, name: str, asked: Asked, running: Running) -> Iterator[Answered]:
    """The rows of a query or a table.

    Raises:
        Refused: there is none of that name.
        UsageError: a parameter or the scope cannot be.
        TraceError: a part is damaged, or has vanished.
    """
    is_table = name in whole.tables
    query = None if is_table else _query(name, whole.tables)
    scope = asked.scope
    told: Callable[[bool], Iterable[str]] = lambda is_empty: ()  # noqa: E731
    is_steady = query is not None and query.scope == "steady"
    if is_steady:
        scope = whole.usual(scope)
    with part_of(whole, scope) as part, running.session(part) as session:
        if query:
            rows = session.query(query.name, **asked.params)
            told = partial(_notes, part, query, asked)
        elif asked.params:
            raise UsageError(f"{name} is a table, which takes no param", "leave it out")
        else:
            rows = session.sql(f"FROM {identifier(name)}")
        words = [
            word for key, value in asked.params.items() for word in ("--param", f"{key}={value}")
        ]
        options = options_of(part, is_steady=is_steady) + _narrowed(asked)
        command = _command("query", [name, *_names(whole), *words], options)
        yield Answered(narrow(rows, asked.rows), part.says, command, told)


@contextmanager
def statement_rows(
    whole: Trace, statement: str, asked: Asked, running: Running
) -> Iterator[Answered]:
    """The rows of a statement, alike.

    Raises:
        UsageError: DuckDB refuses it.
        TraceError: a part is damaged, or has vanished.
    """
    if asked.params:
        raise UsageError("a statement takes no param", "write the values into it")
    with part_of(whole, asked.scope) as part, running.session(part) as session:
        command = _command("sql", [*_names(whole), statement], part.options)
        rows = narrow(session.sql(statement), asked.rows)
        yield Answered(rows, part.says, command, is_statement=True)


def _names(trace: Trace) -> list[str]:
    return [path.name for path in trace.paths]


def _command(verb: str, words: Sequence[str], options: str) -> str:
    return f"cupti-etl {verb} {shlex.join(words)}{options}"


def _narrowed(asked: Asked) -> str:
    sort = f" --sort {shlex.quote(asked.rows.sort)}" if asked.rows.sort else ""
    return sort + ("" if asked.rows.limit is None else f" --limit {asked.rows.limit}")


def _notes(trace: Trace, query: Query, asked: Asked, is_empty: bool) -> Iterator[str]:
    yield from notes(trace, query, asked.params, is_empty=is_empty)


def _query(name: str, tables: Sequence[str]) -> Query:
    try:
        return library()[name]
    except UsageError:
        names = (*tables, *(query.name for query in library()))
        raise Refused(
            404,
            f"there is no query or table {name[:80]!r}",
            did_you_mean(name[:80], names, "GET / lists what there is"),
        ) from None
