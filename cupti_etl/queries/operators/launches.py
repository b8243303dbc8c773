"""Operators over activities and the calls that asked for them: launch_to_gpu without its rows."""

from __future__ import annotations

from cupti_etl.queries.operators.definition import NativeOperator, calls, known, numbered

_IS_GRAPH = "CASE WHEN graph_id IS NULL AND graph_node_id IS NULL THEN 0::BIGINT ELSE 1::BIGINT END"

DEPTH = NativeOperator(
    name="depth",
    along="correlation_id",
    counted=("api_call",),
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


_IDS = (
    "SELECT process_id, correlation_id FROM {}"
    " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL"
)

SHARED = NativeOperator(
    name="shared",
    reads=("api_call",),
    inputs=(_IDS.format("api_call"),),
    outputs={"_derived_shared": "process_id correlation_id"},
    queries={"_shared_correlation": "FROM _derived_shared"},
)

UNPAIRED = NativeOperator(
    name="unpaired",
    reads=("api_call", "gpu_activity"),
    inputs=(
        _IDS.format("api_call"),
        f"{_IDS.format('gpu_activity')} AND EXISTS (SELECT 1 FROM api_call)",
    ),
    outputs={"_derived_unpaired": "process_id correlation_id calls"},
    queries={"_unpaired_correlation": "FROM _derived_unpaired"},
)

OPERATORS = (DEPTH, SHARED, UNPAIRED)
