-- What each operator of PyTorch asked of the GPUs by itself, and its own API calls.
--
-- computed: A call belongs to the operator whose number it has (external_correlation), else, in
--   processes without such numbers, to the innermost operator of its thread. Times on GPUs are
--   sums of durations. API calls inside other calls are not counted again.
-- needs: _operator, launch_to_gpu, external_correlation, api_call
-- limits: What no operator asked for is not here, nor work whose call is not known.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   launches BIGINT [calls]: API calls that asked for work.
--   kernels BIGINT [executions]: Finished kernels.
--   gpu_ns BIGINT [ns]: Sum of the durations of finished activities.
--   start_ns BIGINT [epoch ns]: First start of what it asked for; NULL if it asked for nothing.
--   device_id INTEGER: CUDA ordinal of the device on which that was.
--   api_calls BIGINT [calls]: API calls in which it was the innermost range.
--   api_ns BIGINT [ns]: Time in these.
WITH RECURSIVE operators AS MATERIALIZED (
    SELECT process_id, thread_id, range_id, parent_range_id, kind, start_ns, end_ns, place,
           external_id
    FROM _operator
),
numbered AS (
    SELECT process_id, external_id, min(range_id) AS range_id
    FROM operators
    WHERE external_id IS NOT NULL AND kind = 'operator'
    GROUP BY process_id, external_id
),
told AS MATERIALIZED (
    SELECT call.process_id, call.correlation_id, min(numbered.range_id) AS range_id
    FROM external_correlation AS call
    JOIN numbered
        ON numbered.process_id = call.process_id
        AND numbered.external_id = call.external_id
    GROUP BY call.process_id, call.correlation_id
),
-- Which range is the innermost of a thread from some time on.
turns AS MATERIALIZED (
    SELECT process_id, thread_id, at_ns, arg_max(innermost, (begins, turn)) AS range_id
    FROM (
        SELECT process_id, thread_id, start_ns AS at_ns, range_id AS innermost, true AS begins,
               place AS turn
        FROM operators
        WHERE end_ns > start_ns
        UNION ALL
        SELECT process_id, thread_id, end_ns, coalesce(parent_range_id, -1), false, -place
        FROM operators
        WHERE end_ns > start_ns
    )
    GROUP BY process_id, thread_id, at_ns
),
-- The innermost operator around an annotation; work is never an annotation's own.
climbing AS (
    SELECT inside.range_id, around.range_id AS around_id, around.kind, around.parent_range_id
    FROM operators AS inside
    JOIN operators AS around ON around.range_id = inside.parent_range_id
    WHERE inside.kind = 'annotation'
    UNION ALL
    SELECT climbing.range_id, around.range_id, around.kind, around.parent_range_id
    FROM climbing
    JOIN operators AS around ON around.range_id = climbing.parent_range_id
    WHERE climbing.kind = 'annotation'
),
asked AS (
    SELECT process_id, correlation_id, any_value(thread_id) AS thread_id, api_start_ns,
           count(CASE WHEN kind = 'kernel' AND end_ns IS NOT NULL THEN start_ns END) AS kernels,
           sum(greatest(start_ns, end_ns) - start_ns) AS gpu_ns,
           min(start_ns) AS start_ns, arg_min(device_id, (start_ns, device_id)) AS device_id
    FROM launch_to_gpu
    WHERE process_id IN (SELECT process_id FROM operators)
    GROUP BY process_id, correlation_id, api_start_ns
),
found AS (
    SELECT told.range_id, kernels, gpu_ns, asked.start_ns, device_id
    FROM asked
    JOIN told
        ON told.process_id = asked.process_id
        AND told.correlation_id = asked.correlation_id
    UNION ALL
    SELECT coalesce(climbing.around_id, turns.range_id), kernels, gpu_ns, asked.start_ns,
           device_id
    FROM (FROM asked WHERE process_id NOT IN (SELECT process_id FROM told)) AS asked
    ASOF JOIN turns
        ON turns.process_id = asked.process_id
        AND turns.thread_id = asked.thread_id
        AND turns.at_ns <= asked.api_start_ns
    LEFT JOIN climbing ON climbing.range_id = turns.range_id AND climbing.kind = 'operator'
),
outermost AS (
    SELECT process_id, thread_id, start_ns, greatest(start_ns, end_ns) - start_ns AS api_ns
    FROM api_call
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
        AND process_id IN (SELECT process_id FROM operators)
    QUALIFY coalesce(start_ns >= max(end_ns) OVER (
        PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), true)
),
parts AS (
    SELECT found.range_id, 1 AS launches, kernels, gpu_ns, found.start_ns, device_id,
           0 AS api_calls, 0 AS api_ns
    FROM found
    JOIN operators ON operators.range_id = found.range_id
    WHERE kind = 'operator'
    UNION ALL
    SELECT turns.range_id, 0, 0, 0, NULL, NULL, 1, api_ns
    FROM outermost
    ASOF JOIN turns
        ON turns.process_id = outermost.process_id
        AND turns.thread_id = outermost.thread_id
        AND turns.at_ns <= outermost.start_ns
    WHERE turns.range_id >= 0
)
SELECT range_id, sum(launches)::BIGINT AS launches, sum(kernels)::BIGINT AS kernels,
       TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns, min(start_ns) AS start_ns,
       arg_min(device_id, start_ns) AS device_id, sum(api_calls)::BIGINT AS api_calls,
       TRY_CAST(sum(api_ns) AS BIGINT) AS api_ns
FROM parts
GROUP BY range_id
