-- What each operator of PyTorch asked of the GPUs by itself, and its own API calls.
--
-- computed: Calls that asked for work as in _operator_launch; other calls by _operator_turn. Times
--   on GPUs are sums of durations. API calls inside other calls are not counted again.
-- requires:
--   _operator: no operators were recorded (capture with --pytorch, or import a trace of PyTorch).
-- materialized: What it takes is given back before operators are summed.
-- limits: What was asked for outside of all operators and annotations is not here, nor work whose
--   call is not known.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   launches BIGINT [calls]: API calls that asked for work.
--   kernels, gpu_ns of _operator_launch
--   start_ns BIGINT [epoch ns]: First start of what it asked for; NULL if it asked for nothing.
--   device_id INTEGER: CUDA ordinal of the device on which that was.
--   innermost_launches BIGINT [calls]: API calls that asked for work in which it was the innermost
--     range, though the work may be that of an operator around it.
--   innermost_kernels BIGINT [executions]: Finished kernels of these.
--   innermost_gpu_ns BIGINT [ns]: Sum of the durations of finished activities of these.
--   api_calls BIGINT [calls]: API calls in which it was the innermost range.
--   api_ns BIGINT [ns]: Time in these.
WITH asked AS MATERIALIZED (
    SELECT range_id, innermost_range_id, kernels, gpu_ns, start_ns, device_id
    FROM _operator_launch
    WHERE api_start_ns IS NOT NULL
),
outermost AS (
    SELECT process_id, thread_id, start_ns, greatest(start_ns, end_ns) - start_ns AS api_ns
    FROM api_call
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
        AND process_id IN (SELECT process_id FROM _operator)
    QUALIFY coalesce(start_ns >= max(end_ns) OVER (
        PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), true)
),
of_operators AS (
    SELECT range_id, count(*) AS launches, sum(kernels)::BIGINT AS kernels,
           TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns, min(start_ns) AS start_ns,
           arg_min(device_id, start_ns) AS device_id
    FROM asked
    WHERE range_id IS NOT NULL
    GROUP BY range_id
),
in_innermost AS (
    SELECT innermost_range_id AS range_id, count(*) AS innermost_launches,
           sum(kernels)::BIGINT AS innermost_kernels,
           TRY_CAST(sum(gpu_ns) AS BIGINT) AS innermost_gpu_ns
    FROM asked
    WHERE innermost_range_id IS NOT NULL
    GROUP BY innermost_range_id
),
calls AS (
    SELECT turns.range_id, count(*) AS api_calls, TRY_CAST(sum(api_ns) AS BIGINT) AS api_ns
    FROM outermost
    ASOF JOIN _operator_turn AS turns
        ON turns.process_id = outermost.process_id
        AND turns.thread_id = outermost.thread_id
        AND turns.at_ns <= outermost.start_ns
    WHERE turns.range_id >= 0
    GROUP BY turns.range_id
)
FROM of_operators
FULL JOIN in_innermost USING (range_id)
FULL JOIN calls USING (range_id)
