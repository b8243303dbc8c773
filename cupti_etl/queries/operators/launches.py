"""Operators over activities and the calls that asked for them: launch_to_gpu without its rows."""

from __future__ import annotations

from cupti_etl.queries.operators.definition import NativeOperator, calls, known, numbered

_IS_GRAPH = "CASE WHEN graph_id IS NULL AND graph_node_id IS NULL THEN 0::BIGINT ELSE 1::BIGINT END"

DEPTH = NativeOperator(
    name="depth",
    along="correlation_id",
    counted="api_call",
    reads=("api_call", "gpu_activity"),
    inputs=(
        calls(numbered()),
        "SELECT process_id, correlation_id, start_ns, greatest(start_ns, end_ns),"
        f" {known('device_id')}, {known('context_id')}, {known('stream_id')}, {_IS_GRAPH}"
        " FROM gpu_activity"
        " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL"
        " AND start_ns IS NOT NULL AND end_ns IS NOT NULL",
    ),
    outputs={
        "_derived_depth": "process_id device_id:INTEGER? context_id:INTEGER? stream_id:INTEGER?"
        " activities mean_depth:DOUBLE max_depth empty_ns full_ns span_ns"
    },
    queries={
        "queue_depth": """
            SELECT process_id, device_id, context_id, stream_id, activities,
                   CASE WHEN span_ns > 0 THEN mean_depth END AS mean_depth, max_depth, empty_ns,
                   100.0 * empty_ns / nullif(span_ns, 0) AS empty_pct, full_ns, span_ns
            FROM _derived_depth
            ORDER BY activities DESC, process_id, device_id, context_id, stream_id"""
    },
)


def _more_than_once(query: str, table: str) -> NativeOperator:
    """The correlation ids that a table has more than once."""
    return NativeOperator(
        name=query.strip("_"),
        kind="shared",
        reads=(table,),
        inputs=(
            f"SELECT process_id, correlation_id FROM {table}"
            " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL",
        ),
        outputs={f"_derived{query}": "process_id correlation_id"},
        queries={query: f"FROM _derived{query}"},
    )


SHARED = _more_than_once("_shared_correlation", "api_call")
REPEATED = _more_than_once("_repeated_correlation", "gpu_activity")

OPERATORS = (DEPTH, SHARED, REPEATED)
