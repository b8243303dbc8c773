"""Operators over NVTX ranges, and over the work that was asked for in them."""

from __future__ import annotations

from cupti_etl.queries.operators.definition import NativeOperator, calls, known, numbered

NESTING = NativeOperator(
    name="nesting",
    reads=("_range_span",),
    named=("marker",),
    before={
        "_span": f"""
            SELECT {known("process_id")}, {known("thread_id")}, start_ns, {known("end_ns")},
                   range_id, {numbered()}
            FROM _range_span
            WHERE start_ns IS NOT NULL
            ORDER BY process_id, thread_id, start_ns, end_ns DESC NULLS FIRST, range_id"""
    },
    inputs=("FROM _span",),
    outputs={
        "_derived_nesting": "process_id:BIGINT? thread_id:INTEGER? at_ns end_ns:BIGINT?"
        " range_id:BIGINT? around_id:BIGINT? depth:INTEGER path:BIGINT?",
        "_derived_path": "path parent name depth",
    },
    then={
        "_derived_path_text": """
            WITH RECURSIVE named AS MATERIALIZED (
                SELECT path, parent, depth, known.name
                FROM _derived_path
                LEFT JOIN _derived_marker_name AS known ON known.id = _derived_path.name
            ),
            texts AS (
                SELECT path, depth, name AS text FROM named WHERE depth = 0
                UNION ALL
                SELECT named.path, named.depth, concat(texts.text, ' / ', named.name)
                FROM texts
                JOIN named ON named.parent = texts.path AND named.depth = texts.depth + 1
            )
            SELECT path, text FROM texts"""
    },
    queries={
        "_range_nesting": "SELECT * EXCLUDE (depth, path) FROM _derived_nesting",
        "_range_path": """
            SELECT range_id, around_id AS parent_range_id, depth, text AS path
            FROM _derived_nesting
            JOIN _derived_path_text USING (path)""",
    },
)

_IS_IN_RANGES = "EXISTS (SELECT 1 FROM _turn)"

RANGE = NativeOperator(
    name="range",
    along="correlation_id",
    counted="api_call",
    reads=("api_call", "gpu_interval", "_range_served"),
    before={
        "_turn": f"""
            SELECT process_id, thread_id::BIGINT AS thread_id, at_ns, {known("range_id")} AS range
            FROM _range_served
            WHERE process_id IS NOT NULL AND thread_id IS NOT NULL AND at_ns IS NOT NULL
            ORDER BY process_id, thread_id, at_ns"""
    },
    first="FROM _turn",
    inputs=(
        f"{calls(known('thread_id'))} AND {_IS_IN_RANGES}",
        "SELECT process_id, correlation_id, start_ns, end_ns, gpu FROM gpu_interval"
        f" WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL AND {_IS_IN_RANGES}",
    ),
    outputs={"_derived_own": "range_id gpu activities gpu_ns start_ns end_ns"},
    queries={"_range_own": "FROM _derived_own"},
)

OPERATORS = (NESTING, RANGE)
