"""What the page knows of the trace and of the queries, from their headers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cupti_etl import __version__
from cupti_etl.api import Trace
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import begin_ns
from cupti_etl.queries.query import Query
from cupti_etl.schema.arrow import TABLES


def catalogue(trace: Trace, paths: Iterable[Path]) -> dict[str, Any]:
    """The tables of a trace, and the queries that people ask or others are made of.

    Args:
        trace: that is served.
        paths: of its parts, as they were given: what is compared is the second with the first.
    """
    (extent,) = trace.sql("SELECT max(end_ns) AS end_ns FROM _table_extent WHERE is_activity")
    begin = begin_ns(trace.sql)
    (capture,) = trace.sql("SELECT count(*) > count(end_ns) AS goes_on FROM capture")
    return {
        "version": __version__,
        "traces": [path.name for path in paths],
        # As text: a browser rounds integers above 2**53.
        "begin_ns": str(begin),
        "duration_ns": max(0, (extent["end_ns"] or begin) - begin),
        "recorded": _recorded(trace, begin),
        "is_recording": capture["goes_on"],
        "has_steady_state": trace.has_steady_state,
        "tables": [
            {
                "name": name,
                "doc": TABLES[name].doc if name in TABLES else "",
                "columns": [each.name for each in TABLES[name].columns] if name in TABLES else [],
            }
            for name in trace.tables
        ],
        "queries": [_query(query) for query in library() if not query.is_building_block],
    }


def _recorded(trace: Trace, begin: int) -> list[list[int]]:
    """When something was recorded, from the beginning on: captures at the same time are one."""
    spans: list[list[int]] = []
    for row in trace.sql(
        "SELECT start_ns, end_ns FROM capture WHERE start_ns <= end_ns ORDER BY start_ns"
    ):
        start, end = row["start_ns"] - begin, row["end_ns"] - begin
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    return spans


def _query(query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "topic": query.topic,
        "front": query.front,
        "doc": query.doc,
        "limits": query.limits,
        "label": query.label.column if query.label else "",
        "chart": vars(query.chart) if query.chart else None,
        "parameters": [vars(each) for each in query.parameters],
        "columns": [vars(each) for each in query.columns],
        "sql": query.sql,
    }
