-- How long the host was in each state in each gap, until the GPU had work.
--
-- computed: Up to when the call that asked for the next activity had returned, or the first one for
--   work that began later, by _host_activity of the process of the next activity. Where the call
--   for that was not recorded, it is not known.
-- lookup: api_call, _host_activity
-- columns:
--   gpu, start_ns, gap_ns, next_kind, next_name of _gap_edge
--   process_id BIGINT: Process whose activity ended the gap.
--   split_ns BIGINT [epoch ns]: When the first of these calls had returned, in the gap; its start
--     if not known.
--   is_known BOOLEAN: Whether the call for the next activity was recorded.
--   profiler_ns BIGINT [ns]: The host was in CUPTI: what recording costs.
--   loading_ns BIGINT [ns]: Code was loaded or compiled, or a graph captured, as it is
--     without a profiler.
--   waiting_ns BIGINT [ns]: The host synchronized, or waited for a copy or a full queue.
--   memory_ns BIGINT [ns]: The host was in another call that allocates, frees, copies or sets.
--   launching_ns BIGINT [ns]: The host was in a launching call.
--   other_cuda_ns BIGINT [ns]: The host was in another CUDA call.
--   is_after_wait BOOLEAN: Whether the host waited for the GPU when the gap began, and so had not
--     launched ahead.
WITH gaps AS (
    SELECT * FROM _gap_edge
),
asked AS (
    SELECT process_id, next_correlation_id AS correlation_id FROM gaps
    UNION ALL
    SELECT process_id, first_correlation_id
    FROM gaps
    WHERE first_correlation_id < next_correlation_id
),
returned AS (
    -- Ids may begin anew: what was launched ahead was so by the last.
    SELECT process_id, correlation_id, min(greatest(start_ns, end_ns)) AS end_ns,
           max(greatest(start_ns, end_ns)) AS last_ns
    FROM api_call
    SEMI JOIN asked USING (process_id, correlation_id)
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, correlation_id
),
-- Up to split_ns the host is to blame.
split AS (
    SELECT gaps.*, returned.end_ns IS NOT NULL AS is_known,
           CASE WHEN returned.end_ns IS NULL THEN gaps.start_ns
                ELSE least(greatest(least(returned.end_ns, ahead.last_ns), gaps.start_ns),
                           gaps.end_ns) END AS split_ns
    FROM gaps
    LEFT JOIN returned
        ON returned.process_id = gaps.process_id
        AND returned.correlation_id = gaps.next_correlation_id
    LEFT JOIN returned AS ahead
        ON ahead.process_id = gaps.process_id
        AND ahead.correlation_id = gaps.first_correlation_id
),
-- How long each state had lasted when an interval began.
known AS (
    SELECT process_id, start_ns, end_ns, state,
           sum(CASE state WHEN 'profiler' THEN end_ns - start_ns END) OVER before AS profiler_ns,
           sum(CASE state WHEN 'loading' THEN end_ns - start_ns END) OVER before AS loading_ns,
           sum(CASE state WHEN 'waiting' THEN end_ns - start_ns END) OVER before AS waiting_ns,
           sum(CASE state WHEN 'memory' THEN end_ns - start_ns END) OVER before AS memory_ns,
           sum(CASE state WHEN 'launching' THEN end_ns - start_ns END) OVER before AS launching_ns,
           sum(CASE state WHEN 'other' THEN end_ns - start_ns END) OVER before AS other_ns
    FROM _host_activity
    WINDOW before AS (
        PARTITION BY process_id ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
edges AS (
    SELECT gpu, process_id, start_ns, unnest([start_ns, split_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM split
),
-- How long each had lasted by then.
reached AS (
    SELECT edges.gpu, edges.start_ns, edges.sign,
           least(edges.at_ns, known.end_ns) - known.start_ns AS into_ns,
           known.state = 'waiting' AND edges.at_ns < known.end_ns AS is_waiting,
           coalesce(profiler_ns, 0) + CASE state WHEN 'profiler' THEN into_ns ELSE 0 END
               AS profiler,
           coalesce(loading_ns, 0) + CASE state WHEN 'loading' THEN into_ns ELSE 0 END AS loading,
           coalesce(waiting_ns, 0) + CASE state WHEN 'waiting' THEN into_ns ELSE 0 END AS waiting,
           coalesce(memory_ns, 0) + CASE state WHEN 'memory' THEN into_ns ELSE 0 END AS memory,
           coalesce(launching_ns, 0) + CASE state WHEN 'launching' THEN into_ns ELSE 0 END
               AS launching,
           coalesce(other_ns, 0) + CASE state WHEN 'other' THEN into_ns ELSE 0 END AS other_cuda
    FROM edges
    ASOF LEFT JOIN known
        ON known.process_id = edges.process_id
        AND known.start_ns <= edges.at_ns
),
spent AS (
    SELECT gpu, start_ns,
           TRY_CAST(sum(sign * COLUMNS('^(profiler|loading|waiting|memory|launching|other_cuda)$'))
               AS BIGINT) AS "\0_ns",
           bool_or(is_waiting AND sign < 0) AS is_after_wait
    FROM reached
    GROUP BY gpu, start_ns
)
SELECT gpu, split.start_ns, gap_ns, next_kind, next_name, process_id, split_ns, is_known,
       profiler_ns, loading_ns, waiting_ns, memory_ns, launching_ns, other_cuda_ns,
       coalesce(is_after_wait, false) AND split_ns > split.start_ns AS is_after_wait
FROM split
JOIN spent USING (gpu, start_ns)
WHERE EXISTS (SELECT 1 FROM _any_api_call)
