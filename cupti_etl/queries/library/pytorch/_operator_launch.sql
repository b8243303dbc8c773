-- Which operator of PyTorch asked for what: each call that asked for work, with its operator.
--
-- computed: A call belongs to the operator whose number it has (external_correlation), else, in
--   processes without such numbers, to the innermost operator of its thread. What no operator asked
--   for belongs to the innermost annotation. Where a call has its own number, no operator asked for
--   it, unless that is by chance the number of the innermost one, too. Times on GPUs are sums of
--   durations.
-- limits: What was asked for outside of both is not here, nor work whose call is not known.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins a call and its work.
--   api_start_ns BIGINT [epoch ns]: When the call was entered, as ids may begin anew.
--   from_ns BIGINT [epoch ns]: The same, or when its work began, if that is said to be earlier.
--   range_id BIGINT: The operator or annotation, as in nvtx_range; NULL if neither asked for it.
--   innermost_range_id BIGINT: The innermost of both around the call, whichever asked for it; NULL
--     outside of all.
--   kernels BIGINT [executions]: Finished kernels.
--   gpu_ns BIGINT [ns]: Sum of the durations of finished activities.
--   start_ns BIGINT [epoch ns]: First start of what it asked for.
--   device_id INTEGER: CUDA ordinal of the device on which that was.
WITH RECURSIVE operators AS MATERIALIZED (
    SELECT process_id, range_id, parent_range_id, kind, external_id FROM _operator
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
    JOIN numbered USING (process_id, external_id)
    GROUP BY call.process_id, call.correlation_id
),
-- The innermost operator around an annotation.
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
    SELECT process_id, correlation_id, api_start_ns, any_value(thread_id) AS thread_id,
           count(CASE WHEN kind = 'kernel' AND end_ns IS NOT NULL THEN start_ns END) AS kernels,
           TRY_CAST(sum(greatest(start_ns, end_ns) - start_ns) AS BIGINT) AS gpu_ns,
           min(start_ns) AS start_ns, arg_min(device_id, (start_ns, device_id)) AS device_id
    FROM launch_to_gpu
    WHERE process_id IN (SELECT process_id FROM operators)
    GROUP BY process_id, correlation_id, api_start_ns
),
found AS (
    SELECT asked.*, innermost.range_id AS innermost_range_id,
           CASE WHEN told.range_id IS NOT NULL THEN told.range_id
                WHEN around.external_id = asked.correlation_id
                     OR asked.process_id NOT IN (SELECT process_id FROM told)
                THEN around.range_id
                WHEN innermost.kind = 'annotation' THEN innermost.range_id END AS range_id
    FROM asked
    ASOF LEFT JOIN _operator_turn AS turns
        ON turns.process_id = asked.process_id
        AND turns.thread_id = asked.thread_id
        AND turns.at_ns <= asked.api_start_ns
    LEFT JOIN told
        ON told.process_id = asked.process_id
        AND told.correlation_id = asked.correlation_id
    LEFT JOIN operators AS innermost ON innermost.range_id = turns.range_id
    LEFT JOIN climbing ON climbing.range_id = turns.range_id AND climbing.kind = 'operator'
    LEFT JOIN operators AS around
        ON around.range_id = coalesce(climbing.around_id, innermost.range_id)
)
SELECT process_id, correlation_id, api_start_ns, least(api_start_ns, start_ns) AS from_ns,
       range_id, innermost_range_id, kernels, gpu_ns, start_ns, device_id
FROM found
WHERE range_id IS NOT NULL OR innermost_range_id IS NOT NULL
