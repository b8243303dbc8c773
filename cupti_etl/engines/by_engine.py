"""A trace whose queries an engine computes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cupti_etl.engines.engine import DUCKDB
from cupti_etl.queries.catalog import library
from cupti_etl.queries.empty import reasons
from cupti_etl.queries.result import Result

if TYPE_CHECKING:
    from cupti_etl.engines.shards import Opened
    from cupti_etl.queries.connection import Connection
    from cupti_etl.queries.names import QueryName


class ByEngine:
    """A trace asked by way of an engine: ``trace.engine("ray").query("gpu_busy")``.

    Args:
        trace: as it was opened.
        connection: its own, for what is asked of an answer.
        engine: its name.
    """

    def __init__(self, trace: Opened, connection: Connection, engine: str) -> None:
        self._trace, self._connection, self._engine = trace, connection, engine

    def query(self, name: QueryName | str, **params: Any) -> Result:
        """Run a query of the library; its ``notes`` say what is estimated.

        Raises:
            UsageError: as of ``Trace.query``, or the engine cannot compute it.
            TraceError: a part is damaged, or has vanished.
            EngineError: workers were killed, or there are none.
        """
        if self._engine == DUCKDB:
            answer: Result = self._trace.query(name, **params)
            return answer
        from cupti_etl.engines.distribute import ask

        query = library()[name]
        done = ask(self._trace, query, params, self._engine)
        why = partial(reasons, self._trace, query, params)
        return Result.of_rows(self._connection, done.rows, query, done.notes, why)
