"""Operators over activities and the calls that asked for them: launch_to_gpu without its rows."""

from __future__ import annotations

from cupti_etl.queries.operators.definition import UNKNOWN, NativeOperator, calls, known, numbered

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
        "_derived_depth": (
            (
                "process_id",
                "device_id",
                "context_id",
                "stream_id",
                "activities",
                "mean_depth:d",
                "max_depth",
                "empty_ns",
                "full_ns",
                "span_ns",
            ),
            "SELECT *",
        )
    },
    queries={
        "queue_depth": f"""
            SELECT process_id, nullif(device_id, {UNKNOWN})::INTEGER AS device_id,
                   nullif(context_id, {UNKNOWN})::INTEGER AS context_id,
                   nullif(stream_id, {UNKNOWN})::INTEGER AS stream_id, activities,
                   CASE WHEN span_ns > 0 THEN mean_depth END AS mean_depth, max_depth, empty_ns,
                   100.0 * empty_ns / nullif(span_ns, 0) AS empty_pct, full_ns, span_ns
            FROM _derived_depth
            ORDER BY activities DESC, process_id, device_id, context_id, stream_id"""
    },
)

_TIMES = ("api", "queue", "kernel")

LATENCY = NativeOperator(
    name="latency",
    along="correlation_id",
    counted="api_call",
    reads=("api_call", "kernel", "kernel_name", "gpu"),
    named=("api_call", "kernel"),
    inputs=(
        calls(numbered()),
        f"SELECT process_id, correlation_id, {known('start_ns')}, {known('end_ns')},"
        f" {_IS_GRAPH}, {numbered()}, {known('device_id')} FROM kernel"
        " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL",
    ),
    outputs={
        "_derived_latency": (
            (
                "api_id",
                "kernel_id",
                "launches",
                *(f"{time}_{what}_ns:d" for time in _TIMES for what in ("median", "p99")),
                "started_early",
                "shorter_than_call",
            ),
            "SELECT *",
        ),
        "_derived_short": (
            ("process_id", "device_id", "launches", "shorter", "api_ns", "kernel_ns"),
            f"SELECT * REPLACE (nullif(device_id, {UNKNOWN})::INTEGER AS device_id)",
        ),
    },
    queries={
        "launch_latency": """
            WITH names AS (
                SELECT mangled, any_value(short) AS short FROM kernel_name GROUP BY mangled
            )
            SELECT api.name AS api_name, coalesce(short, kernel.name) AS name, launches,
                   CASE WHEN NOT isnan(api_median_ns) THEN api_median_ns END AS api_median_ns,
                   CASE WHEN NOT isnan(api_p99_ns) THEN api_p99_ns END AS api_p99_ns,
                   queue_median_ns, queue_p99_ns, kernel_median_ns, kernel_p99_ns,
                   started_early, shorter_than_call
            FROM _derived_latency
            LEFT JOIN _derived_api_call_name AS api ON api.id = api_id
            LEFT JOIN _derived_kernel_name AS kernel ON kernel.id = kernel_id
            LEFT JOIN names ON names.mangled = kernel.name
            ORDER BY launches DESC, api_name, kernel.name""",
        "short_kernels": """
            SELECT coalesce(gpu.gpu, -1 - (hash(work.process_id, work.device_id) >> 33)::BIGINT)
                       AS gpu,
                   sum(launches)::BIGINT AS launches, sum(shorter)::BIGINT AS shorter_than_call,
                   100.0 * sum(shorter) / sum(launches) AS percent, sum(api_ns)::BIGINT AS api_ns,
                   sum(kernel_ns)::BIGINT AS kernel_ns
            FROM _derived_short AS work
            LEFT JOIN gpu ON gpu.process_id = work.process_id AND gpu.device_id = work.device_id
            GROUP BY 1
            ORDER BY gpu""",
    },
)

SHARED = NativeOperator(
    name="shared",
    reads=("api_call",),
    inputs=(
        "SELECT process_id, correlation_id FROM api_call"
        " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL",
    ),
    outputs={"_derived_shared": (("process_id", "correlation_id"), "SELECT *")},
    queries={"_shared_correlation": "FROM _derived_shared"},
)

OPERATORS = (DEPTH, LATENCY, SHARED)
