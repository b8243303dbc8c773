-- All times in which a GPU was idle, each split among its causes, with waiting for input apart.
--
-- computed: As _gap_cause; of the time outside CUDA, that in _input_range is input. Where no API
--   calls were recorded at all, all of a gap is unknown.
-- materialized: Made once for an opened trace, as idle_summary and step_summary read it.
-- limits: As of gap_attribution and _input_range.
-- columns:
--   gpu, start_ns, gap_ns of _gap_cause
--   input_ns BIGINT [ns]: The host waited for input.
--   host_ns BIGINT [ns]: The host was not in CUDA, and did something else.
--   launching_ns BIGINT [ns]: The host was in a launching call.
--   memory_ns BIGINT [ns]: The host was in a call that allocates, frees, copies or sets.
--   waiting_ns, other_cuda_ns, queued_ns, loading_ns, profiler_ns, unknown_ns of _gap_cause
WITH causes AS MATERIALIZED (
    -- Once: for plain DuckDB every mention of a view is all of its text.
    FROM _gap_cause
),
edges AS (
    SELECT gpu, process_id, start_ns AS gap_start_ns,
           unnest([start_ns, start_ns + gap_ns - queued_ns - unknown_ns]) AS at_ns,
           unnest([-1, 1]) AS sign
    FROM causes
    WHERE outside_ns > 0 AND process_id IN (SELECT process_id FROM _input_range)
),
inputs AS (
    SELECT edges.gpu, edges.gap_start_ns,
           TRY_CAST(sum(sign * (before_ns + least(at_ns, input.end_ns) - input.start_ns))
               AS BIGINT) AS input_ns
    FROM edges
    ASOF JOIN _input_range AS input
        ON input.process_id = edges.process_id
        AND input.start_ns <= edges.at_ns
    GROUP BY edges.gpu, edges.gap_start_ns
)
SELECT cause.gpu, cause.start_ns, gap_ns, coalesce(input_ns, 0) AS input_ns,
       outside_ns - coalesce(input_ns, 0) AS host_ns, launching_ns, memory_ns, waiting_ns,
       other_cuda_ns, queued_ns, loading_ns, profiler_ns, unknown_ns
FROM causes AS cause
LEFT JOIN inputs ON inputs.gpu = cause.gpu AND inputs.gap_start_ns = cause.start_ns
UNION ALL
-- Either all gaps have causes, or none has.
SELECT gpu, start_ns, gap_ns, 0, 0, 0, 0, 0, 0, 0, 0, 0, gap_ns
FROM _gap_edge
WHERE NOT EXISTS (SELECT 1 FROM causes)
