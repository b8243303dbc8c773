"""Operators over the activities of the GPUs, and over the calls beside them."""

from __future__ import annotations

from cupti_etl.queries.catalog import library
from cupti_etl.queries.operators.definition import (
    UNKNOWN,
    NativeOperator,
    known,
    names_of,
    numbered,
)
from cupti_etl.queries.scope import reads_instead
from cupti_etl.schema.kinds import GPU_WORK

_KINDS = "'graph', 'kernel', 'memcpy', 'memcpy_p2p', 'memset'"

BUSY = NativeOperator(
    name="busy",
    along="start_ns",
    counted=GPU_WORK,
    reads=("gpu_interval",),
    inputs=(
        "SELECT start_ns, end_ns, gpu, CASE category WHEN 'compute' THEN 0::BIGINT"
        " WHEN 'communication' THEN 1::BIGINT ELSE 2::BIGINT END FROM gpu_interval",
    ),
    outputs={
        "_derived_interval": "gpu:INTEGER set:TINYINT start_ns end_ns busy_before_ns",
        "_derived_length": "gpu set length_ns",
    },
    queries={
        "_busy_interval": "SELECT gpu::BIGINT AS gpu, CASE set WHEN 1 THEN 'compute'"
        " WHEN 3 THEN 'compute_or_communication' ELSE 'any' END AS work, set AS work_bits,"
        " start_ns, end_ns, busy_before_ns FROM _derived_interval",
        "_work_length": "SELECT gpu, concat_ws('+', CASE WHEN set & 1 > 0 THEN 'compute' END,"
        " CASE WHEN set & 2 > 0 THEN 'communication' END, CASE WHEN set & 4 > 0 THEN 'copy' END)"
        " AS work, length_ns FROM _derived_length",
    },
)

STREAMS = NativeOperator(
    name="streams",
    along="start_ns",
    counted=GPU_WORK,
    reads=("gpu_interval",),
    inputs=(
        f"SELECT start_ns, end_ns, gpu, {known('process_id')}, {known('context_id')},"
        f" {known('stream_id')}, CASE WHEN kind = 'kernel' THEN 1::BIGINT ELSE 0::BIGINT END"
        " FROM gpu_interval",
    ),
    outputs={
        "_derived_at_once": "gpu kernels streams total_ns",
        "_derived_stream": "number gpu process_id:BIGINT? context_id:INTEGER? stream_id:INTEGER?"
        " busy_ns",
        "_derived_pair": "one other overlap_ns",
    },
    queries={
        "_running_kernels": "FROM _derived_at_once",
        "_stream_pair": """
            WITH busiest AS (
                SELECT *, row_number() OVER (
                           PARTITION BY gpu ORDER BY busy_ns DESC, process_id, context_id, stream_id
                       ) - 1 AS place
                FROM _derived_stream
                QUALIFY place < 60
            )
            SELECT one.gpu, one.place, one.process_id, one.context_id, one.stream_id, one.busy_ns,
                   other.place AS other_place, other.process_id AS other_process_id,
                   other.context_id AS other_context_id, other.stream_id AS other_stream_id,
                   coalesce(pair.overlap_ns, 0) AS overlap_ns
            FROM busiest AS one
            JOIN busiest AS other ON other.gpu = one.gpu AND other.place != one.place
            LEFT JOIN _derived_pair AS pair
                ON pair.one = least(one.number, other.number)
                AND pair.other = greatest(one.number, other.number)""",
    },
)

_NAMES = names_of("edge")

EDGE = NativeOperator(
    name="edge",
    along="start_ns",
    counted=GPU_WORK,
    reads=("gpu_interval", "_not_recorded"),
    named="gpu_activity",
    inputs=(
        "SELECT start_ns, end_ns, gpu, CASE kind WHEN 'graph' THEN 1::BIGINT"
        " WHEN 'kernel' THEN 2::BIGINT WHEN 'memcpy' THEN 3::BIGINT"
        " WHEN 'memcpy_p2p' THEN 4::BIGINT ELSE 5::BIGINT END,"
        f" {known('process_id')}, {known('stream_id')}, {known('correlation_id')}, {numbered()}"
        " FROM gpu_interval",
    ),
    first="SELECT gpu, start_ns, end_ns FROM _not_recorded ORDER BY gpu, start_ns",
    outputs={
        "_derived_gap": "gpu:INTEGER start_ns end_ns previous_kind:TINYINT previous_id"
        " next_kind:TINYINT next_id process_id:BIGINT? next_stream_id:INTEGER?"
        " next_correlation_id:BIGINT? first_correlation_id:BIGINT?",
        "_derived_gap_tie": "gap id",
    },
    queries={
        "_gap_edge": f"""
            WITH first AS (
                SELECT gpu, end_ns, min(name) AS name
                FROM (SELECT row_number() OVER () - 1 AS gap, gpu, end_ns FROM _derived_gap)
                JOIN _derived_gap_tie USING (gap)
                JOIN _derived_edge_name USING (id)
                GROUP BY gpu, end_ns
            )
            SELECT gap.gpu::BIGINT AS gpu, gap.start_ns, gap.end_ns,
                   gap.end_ns - gap.start_ns AS gap_ns, process_id,
                   ([{_KINDS}])[previous_kind] AS previous_kind,
                   coalesce(first.name, before.name) AS previous_name,
                   ([{_KINDS}])[next_kind] AS next_kind, after.name AS next_name,
                   next_stream_id, next_correlation_id, first_correlation_id
            FROM _derived_gap AS gap
            LEFT JOIN first ON first.gpu = gap.gpu AND first.end_ns = gap.end_ns
            LEFT JOIN {_NAMES} AS before ON before.id = previous_id
            LEFT JOIN {_NAMES} AS after ON after.id = next_id"""
    },
)

# How long the host was in each state, within gaps up to when the next work was launched.
CAUSE = NativeOperator(
    name="host",
    along="start_ns",
    counted=("api_call",),
    reads=("_gap_edge", "api_call", "_host_span", "_blocking_copy", "_stream_span"),
    # In order, as calls are: few runs are merged fast.
    before={
        "_blocking": """
            SELECT start_ns, end_ns, process_id FROM _blocking_copy WHERE is_done ORDER BY start_ns
        """,
        # Up to when the GPU had work, if that was launched before what ended the gap.
        "_gap": f"""
            WITH gaps AS (
                SELECT *, row_number() OVER () AS number,
                       CASE WHEN first_correlation_id < next_correlation_id
                            THEN first_correlation_id END AS first_id
                FROM _derived_gap
            ),
            returned AS (
                SELECT process_id, correlation_id, max(greatest(start_ns, end_ns)) AS at_ns
                FROM api_call
                SEMI JOIN (FROM gaps WHERE first_id IS NOT NULL) AS ahead
                    ON ahead.process_id = api_call.process_id
                    AND ahead.first_id = api_call.correlation_id
                WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
                GROUP BY process_id, correlation_id
            )
            SELECT gap.start_ns,
                   greatest(gap.start_ns, least(gap.end_ns, returned.at_ns)) AS end_ns,
                   gap.process_id, -number AS class,
                   {known("next_correlation_id")} AS correlation_id
            FROM gaps AS gap
            LEFT JOIN returned
                ON returned.process_id = gap.process_id
                AND returned.correlation_id = gap.first_id
            WHERE gap.process_id IS NOT NULL AND EXISTS (SELECT 1 FROM api_call)
            ORDER BY gap.start_ns""",
    },
    inputs=(
        f"""
        SELECT start_ns, greatest(start_ns, end_ns), process_id, class::BIGINT,
               {known("correlation_id")}
        FROM _host_span
        WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL AND process_id IS NOT NULL
        UNION ALL
        SELECT start_ns, end_ns, process_id, 2::BIGINT, {UNKNOWN} FROM _blocking
        UNION ALL
        FROM _gap""",
    ),
    outputs={
        "_derived_spent": "profiler_ns loading_ns waiting_ns memory_ns launching_ns other_ns"
        " split_ns is_known:BOOLEAN is_after_wait:BOOLEAN"
    },
    paired="_derived_gap",
    queries={
        "_gap_cause": reads_instead(
            library()["_gap_cause"].sql,
            {
                "_gap_spent": f"""
                    SELECT gpu::BIGINT AS gpu, start_ns, end_ns - start_ns AS gap_ns,
                           ([{_KINDS}])[next_kind] AS next_kind, after.name AS next_name,
                           process_id,
                           CASE WHEN process_id IS NULL THEN start_ns ELSE split_ns END AS split_ns,
                           coalesce(is_known, false) AS is_known,
                           coalesce(COLUMNS('^(profiler|loading|waiting|memory|launching)_ns$'), 0),
                           coalesce(other_ns, 0) AS other_cuda_ns,
                           coalesce(is_after_wait, false) AS is_after_wait
                    FROM _derived_spent
                    LEFT JOIN {_NAMES} AS after ON after.id = next_id
                    WHERE EXISTS (SELECT 1 FROM api_call)"""
            },
        )
    },
)

OPERATORS = (BUSY, STREAMS, EDGE, CAUSE)
