"""Operators over NVTX ranges, and over the work that was asked for in them."""

from __future__ import annotations

from cupti_etl.queries.operators.definition import (
    UNKNOWN,
    NativeOperator,
    calls,
    known,
    names_of,
    numbered,
)

# A name without what PyTorch writes behind it, as _range_parent has it.
_KIND = """
    CASE WHEN contains(name, 'op_id') OR contains(name, ', seq = ')
         THEN regexp_replace(
             name, ', (seq = \\d+|op_id = \\d+|input_op_ids = \\[[^\\]]*\\])', '', 'g'
         ) ELSE name END"""

# Starts and ends, starts before ends of the same time.
_MARKER = f"""
    SELECT timestamp_ns, CASE WHEN event = 'end' THEN 2::BIGINT
                              WHEN domain = 'NCCL' THEN 0::BIGINT ELSE 1::BIGINT END,
           {known("process_id")}, {known("marker_id")}, {known("thread_id")}, {numbered("domain")},
           {numbered()}
    FROM marker
    WHERE event IN ('start', 'end')"""
_NAMES = names_of("span")

SPAN = NativeOperator(
    name="span",
    along="timestamp_ns",
    counted=("marker",),
    reads=("marker",),
    named="(SELECT name FROM marker UNION ALL SELECT domain FROM marker)",
    first=f"SELECT * REPLACE ({UNKNOWN} AS timestamp_ns) FROM ({_MARKER} AND timestamp_ns IS NULL)",
    inputs=(f"{_MARKER} AND timestamp_ns IS NOT NULL",),
    outputs={
        "_derived_span": "process_id:BIGINT? start_ns:BIGINT? end_ns:BIGINT? name:BIGINT?"
        " domain:BIGINT? thread_id:INTEGER? end_thread_id:INTEGER? marker_id:INTEGER? range_id"
    },
    queries={
        "_range_span": f"""
            SELECT process_id, start_ns, end_ns, names.name, domains.name AS domain, thread_id,
                   end_thread_id, marker_id, range_id
            FROM _derived_span AS span
            LEFT JOIN {_NAMES} AS names ON names.id = span.name
            LEFT JOIN {_NAMES} AS domains ON domains.id = span.domain"""
    },
)

NESTING = NativeOperator(
    name="nesting",
    along="start_ns",
    counted=("_range_span",),
    reads=("marker", "_range_span"),
    named="marker",
    before={
        "_kind": f"""
            SELECT id, min(id) OVER (PARTITION BY kind) AS kind
            FROM (SELECT id, {_KIND} AS kind FROM _derived_nesting_name)""",
    },
    inputs=(
        f"""
        SELECT start_ns, coalesce(-end_ns, {UNKNOWN}), range_id, {known("process_id")},
               {known("thread_id")}, {numbered()}, coalesce(kind, {UNKNOWN})
        FROM _range_span
        LEFT JOIN _kind ON _kind.id = {numbered()}
        WHERE start_ns IS NOT NULL""",
    ),
    outputs={
        "_derived_parent": "range_id parent_range_id:BIGINT? depth:INTEGER path alike_range_id"
        " process_id:BIGINT? start_ns end_ns:BIGINT?",
        "_derived_path": "path parent name depth",
        "_derived_turn": "process_id:BIGINT? thread_id:INTEGER? at_ns range_id:BIGINT?",
    },
    queries={
        "_range_parent": "SELECT range_id, parent_range_id, depth, alike_range_id"
        " FROM _derived_parent",
        "_range_time": "SELECT process_id, range_id, alike_range_id, start_ns, end_ns"
        " FROM _derived_parent",
        # Names are far fewer than their paths, and these may be, than ranges.
        "_range_path": """
            WITH RECURSIVE named AS MATERIALIZED (
                SELECT path, parent, depth, known.name
                FROM _derived_path
                LEFT JOIN _derived_nesting_name AS known ON known.id = _derived_path.name
            ),
            texts AS (
                SELECT path, depth, name AS text FROM named WHERE depth = 0
                UNION ALL
                SELECT named.path, named.depth, concat(texts.text, ' / ', named.name)
                FROM texts
                JOIN named ON named.parent = texts.path AND named.depth = texts.depth + 1
            )
            SELECT range_id, parent_range_id, _derived_parent.depth, text AS path
            FROM texts
            JOIN _derived_parent ON _derived_parent.path = texts.path""",
        "_range_turn": "FROM _derived_turn",
    },
)

TREE = NativeOperator(
    name="tree",
    along="start_ns",
    counted=("_range_span",),
    reads=("_operator_span",),
    inputs=(
        f"SELECT start_ns, -end_ns, range_id, {known('process_id')}, {known('thread_id')}"
        " FROM _operator_span",
    ),
    outputs={
        "_derived_operator_place": "range_id parent_range_id:BIGINT? place last_place"
        " is_crossed:BOOLEAN",
        "_derived_operator_turn": "process_id:BIGINT? thread_id:INTEGER? at_ns range_id:BIGINT?",
    },
    queries={
        "_operator_place": "FROM _derived_operator_place",
        "_operator_turn": "SELECT process_id, thread_id, at_ns, coalesce(range_id, -1) AS range_id"
        " FROM _derived_operator_turn",
    },
)

_IS_IN_RANGES = "EXISTS (SELECT 1 FROM _range_turn)"

RANGE = NativeOperator(
    name="range",
    along="correlation_id",
    counted=("api_call",),
    reads=("api_call", "gpu_interval", "_range_served", "_range_turn"),
    first=f"SELECT process_id, thread_id::BIGINT, at_ns, {known('range_id')} FROM _range_served"
    " WHERE process_id IS NOT NULL AND thread_id IS NOT NULL AND at_ns IS NOT NULL",
    inputs=(
        f"{calls(known('thread_id'))} AND {_IS_IN_RANGES}",
        "SELECT process_id, correlation_id, start_ns, end_ns, gpu,"
        " CASE WHEN kind = 'kernel' THEN 0::BIGINT WHEN starts_with(kind, 'memcpy') THEN 1::BIGINT"
        f" WHEN kind = 'memset' THEN 2::BIGINT ELSE 3::BIGINT END, {known('bytes')}"
        " FROM gpu_interval"
        f" WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL AND {_IS_IN_RANGES}",
    ),
    outputs={
        "_derived_own": "range_id gpu activities gpu_ns start_ns end_ns kernels kernel_ns:BIGINT?"
        " kernel_max_ns:BIGINT? copies copied_bytes:BIGINT? sets"
    },
    added="range_id, gpu, sum(activities)::BIGINT AS activities, sum(gpu_ns)::BIGINT AS gpu_ns,"
    " min(start_ns) AS start_ns, max(end_ns) AS end_ns, sum(kernels)::BIGINT AS kernels,"
    " sum(kernel_ns)::BIGINT AS kernel_ns, max(kernel_max_ns) AS kernel_max_ns,"
    " sum(copies)::BIGINT AS copies, sum(copied_bytes)::BIGINT AS copied_bytes,"
    " sum(sets)::BIGINT AS sets",
    queries={"_range_own": "FROM _derived_own"},
)

_SUMMED = "activities, gpu_ns, exclusive_activities, exclusive_gpu_ns, start_ns, end_ns"

RISING = NativeOperator(
    name="rising",
    reads=("_range_parent", "_range_asked"),
    first=f"SELECT range_id, {known('parent_range_id')}, depth::BIGINT FROM _range_parent",
    inputs=(f"SELECT range_id, gpu, {_SUMMED} FROM _range_asked",),
    outputs={"_derived_range_gpu": f"range_id gpu {_SUMMED.replace(',', '')}"},
    queries={"range_gpu": "FROM _derived_range_gpu"},
)

OPERATORS = (SPAN, NESTING, RANGE, RISING, TREE)
