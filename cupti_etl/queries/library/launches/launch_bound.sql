-- Whether each GPU waits for its host to launch work, and what that costs.
--
-- computed: The idle time of the GPU with nothing on its queues (gap_attribution, without queued)
--   in gaps in which the host was launching, or which were shorter than 100 us and spent outside
--   CUDA, as a share of the span. The verdict is "launch bound" from 10 % on, "partly" from 3 %,
--   and below that "cannot tell" if it could be 3 % with the gaps of which the call is not known.
-- requires: gpu_activity, api_call, _gpu_span
-- materialized: Few rows, of all gaps.
-- limits: A graph or fewer, larger kernels would save at most saved_ns, and to synchronize less
--   often at most synchronized_ns of it. How many kernels ran shorter than their call,
--   short_kernels says.
-- front: Does the GPU wait for the host to launch work?
-- first: gpu, verdict, launch_bound_pct, saved_ns, synchronized_ns, idle_ns, span_ns
-- scope: steady
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   verdict VARCHAR: launch bound, partly launch bound, not launch bound, or cannot tell.
--   launch_bound_pct DOUBLE [%]: saved_ns as a share of the span of the GPU.
--   saved_ns BIGINT [ns]: Idle time that launching cost: the next two columns together.
--   launching_ns BIGINT [ns]: Idle while the host was in a launching call.
--   between_calls_ns BIGINT [ns]: Idle, outside CUDA, in gaps shorter than 100 us.
--   synchronized_ns BIGINT [ns]: Of saved_ns, what is in gaps that began while the host waited for
--     the GPU: it had not launched ahead.
--   idle_ns BIGINT [ns]: All idle time of the GPU.
--   span_ns BIGINT [ns]: From its first start to its last end.
WITH gaps AS (
    SELECT gpu, is_after_wait, launching_ns, unknown_ns,
           CASE WHEN gap_ns < 100000 THEN outside_ns ELSE 0 END AS between_calls_ns
    FROM _gap_cause
),
causes AS (
    SELECT gpu, TRY_CAST(sum(launching_ns) AS BIGINT) AS launching_ns,
           TRY_CAST(sum(between_calls_ns) AS BIGINT) AS between_calls_ns,
           TRY_CAST(sum(unknown_ns) AS BIGINT) AS unknown_ns,
           TRY_CAST(sum(launching_ns + between_calls_ns) FILTER (WHERE is_after_wait) AS BIGINT)
               AS synchronized_ns
    FROM gaps
    GROUP BY gpu
),
sums AS (
    SELECT seen.gpu, coalesce(launching_ns, 0) AS launching_ns,
           coalesce(between_calls_ns, 0) AS between_calls_ns, idle_ns, span_ns,
           coalesce(launching_ns + between_calls_ns, 0) AS saved_ns,
           coalesce(synchronized_ns, 0) AS synchronized_ns,
           coalesce(100.0 * (launching_ns + between_calls_ns) / nullif(span_ns, 0), 0) AS percent,
           coalesce(100.0 * unknown_ns / nullif(span_ns, 0), 0) AS unknown_pct
    FROM _gpu_idle AS seen
    LEFT JOIN causes ON causes.gpu = seen.gpu
    WHERE EXISTS (SELECT 1 FROM _any_api_call)
)
SELECT gpu,
       CASE WHEN percent >= 10 THEN 'launch bound' WHEN percent >= 3 THEN 'partly launch bound'
            WHEN percent + unknown_pct >= 3 THEN 'cannot tell'
            ELSE 'not launch bound' END AS verdict,
       percent AS launch_bound_pct, saved_ns, launching_ns, between_calls_ns, synchronized_ns,
       idle_ns, span_ns
FROM sums
ORDER BY gpu
