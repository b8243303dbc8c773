"""Why an answer has no row.

A query rather gives no row than a number that its inputs do not support; its ``requires`` say
which inputs, and what to tell who asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from cupti_etl.queries.catalog import library
from cupti_etl.queries.fields import USUAL
from cupti_etl.queries.header import reads
from cupti_etl.queries.query import Query

# Why there is no row where neither an input nor the query says it.
NOTHING = "nothing of the kind was found."
# What the names of parameters begin with below which a row is left out.
_THRESHOLD = "min_"
# Behind which a statement names what it reads.
_KEYWORD = re.compile(r"\b(from|join)\b", re.IGNORECASE)
# How to capture what is missing, with no word for who imports.
_OF_CAPTURES = re.compile(r" \(capture (?:(?!import|torch\.profiler)[^()])*\)")


class Asked(Protocol):
    """What is asked: ``cupti_etl.api.Trace``."""

    @property
    def whole(self) -> Asked:
        """The trace that it is a part of; itself if it is none."""

    @property
    def says(self) -> str:
        """What part it is, in words."""

    @property
    def is_imported(self) -> bool:
        """Whether it was imported."""

    def has_rows(self, name: str) -> bool:
        """Whether a table or a query has a row."""

    def query(self, name: str, **params: Any) -> Any:
        """The answer to a query, a ``Result``."""


def why_empty(trace: Asked, query: Query, known: dict[str, bool] | None = None) -> str:
    """The reason why the query has no row in this trace; "" if its inputs are there.

    Args:
        trace: that is asked.
        query: by which query.
        known: which inputs have rows, as far as was looked up; gets what is looked up now.
    """
    return _missing(trace, query.requires, {} if known is None else known)


def why_nothing(trace: Asked, statement: str) -> Iterator[str]:
    """Why tables and queries that a statement reads have no rows in this trace."""
    known: dict[str, bool] = {}
    for name in reads(_KEYWORD.sub(lambda word: word[0].upper(), statement)):
        of_table = ((name, USUAL[name]),) if name in USUAL else ()
        requires = library()[name].requires if name in library() else of_table
        if why := _missing(trace, requires, known):
            yield f"{name}: {why}"


def _missing(trace: Asked, requires: Sequence[tuple[str, str]], known: dict[str, bool]) -> str:
    for name, reason in requires:
        if name not in known:
            known[name] = trace.has_rows(name)
        if not known[name]:
            if trace.whole.has_rows(name):
                # What to do about it is meant for the whole trace.
                brief = reason.split(" (")[0].removesuffix(".")
                return f"in this part of the trace ({trace.says}), {brief}."
            brief = _OF_CAPTURES.sub("", reason)
            return brief if brief != reason and trace.whole.is_imported else reason
    return ""


def hidden(trace: Asked, query: Query, given: Mapping[str, Any], option: str = "") -> str:
    """Which threshold among the query's parameters hid all of its rows, or what it says else.

    Args:
        trace: that was asked.
        query: that had no row.
        given: values of its parameters.
        option: what stands before such a value where it is given.
    """
    for field in query.parameters:
        lifted = {**given, field.name: 0}
        is_threshold = field.name.startswith(_THRESHOLD) and field.default is not None
        if is_threshold and trace.query(query.name, **lifted).count():
            value = given.get(field.name, field.default)
            unit = "" if field.unit == "1" else f" {field.unit}"
            return (
                f"every row is hidden by {field.name}, which is {value}{unit};"
                f" {option}{field.name}=0 shows them."
            )
    if query.none and trace.says and trace.whole is not trace:
        return f"in this part of the trace ({trace.says}), {query.none}"
    return query.none or NOTHING


def reasons(trace: Asked, query: Query, given: Mapping[str, Any]) -> Iterator[str]:
    """Why the query had no row, for who asked in Python."""
    yield why_empty(trace, query) or hidden(trace, query, given)
