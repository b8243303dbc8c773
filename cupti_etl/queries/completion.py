"""The queries of a trace as attributes, for people who press Tab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library

if TYPE_CHECKING:
    from cupti_etl.queries.result import Result


class Queries:
    """``trace.queries.gpu_gaps(min_ns=1000)`` is ``trace.query("gpu_gaps", min_ns=1000)``."""

    def __init__(self, ask: Callable[..., Result]) -> None:
        self._ask = ask

    def __getattr__(self, name: str) -> Callable[..., Result]:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            query = library()[name]
        except UsageError as error:
            raise AttributeError(f"{error.message}: {error.hint}") from error
        called = partial(self._ask, query.name)
        called.__doc__ = query.doc
        return called

    def __iter__(self) -> Iterator[str]:
        return (query.name for query in library() if not query.is_building_block)

    def __dir__(self) -> list[str]:
        return sorted(self)

    def __repr__(self) -> str:
        return "\n".join(f"{query.name}: {query.front}" for query in library() if query.front)
